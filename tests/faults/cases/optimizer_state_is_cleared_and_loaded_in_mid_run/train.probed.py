"""Warm restarts of the optimizer."""
import copy

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(95)
x = torch.randn(200, 6)
model = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 6))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
group = optimizer.param_groups[0]
saved = None

for epoch in range(5):
    if epoch == 1:
        saved = copy.deepcopy(optimizer.state_dict())
        del optimizer.state[model[0].bias]
    elif epoch == 2:
        optimizer.load_state_dict(saved)
    elif epoch == 4:
        optimizer.state.clear()
    group["lr"] *= 0.9  # after load_state_dict this is no longer the optimizer's group
    for step, rows in enumerate(torch.randperm(200).split(25)):
        loss = nn.functional.mse_loss(model(x[rows]), x[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step < 2:
            moment = optimizer.state[model[0].bias]
            print(f"  moment {moment['exp_avg'].norm().item():.8f} at {moment['step'].item():.0f} "
                  f"rates {group['lr']:.6f} {optimizer.param_groups[0]['lr']:.6f}")
    print(f"epoch {epoch}: {loss.item():.6f}")
print(len(optimizer.state), group is optimizer.param_groups[0], len(saved["state"]))
