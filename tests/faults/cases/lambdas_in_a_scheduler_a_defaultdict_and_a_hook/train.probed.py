"""Lambdas in all the usual places."""
from collections import defaultdict

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(22)
x = torch.randn(256, 8)
y = (x[:, 0] > x[:, 1]).long()
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.97 ** step)
counts = defaultdict(lambda: 0)
active = []
handle = model[1].register_forward_hook(lambda module, args, out: active.append((out > 0).float().mean().item()))

for epoch in range(5):
    for rows in torch.randperm(256).split(32):
        loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        for label in y[rows].tolist():
            counts[label, epoch % 2] += 1
    if epoch == 3:
        handle.remove()
    print(f"epoch {epoch}: {loss.item():.6f}")
    print(f"  lr {scheduler.get_last_lr()[0]:.9f}, {len(active)} activations, {sum(active):.6f}")
    print("  counts", sorted(counts.items()), "hooks", len(model[1]._forward_hooks))
print(counts["never seen"], len(counts), scheduler.last_epoch, len(active))
