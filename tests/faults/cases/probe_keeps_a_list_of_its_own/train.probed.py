"""The last batch's loss is never looked at by the program."""
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(82)
x = torch.randn(200, 6)
model = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 6))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
norms = []
total = 0.0
for epoch in range(5):
    for rows in torch.randperm(200).split(25):
        loss = nn.functional.mse_loss(model(x[rows]), x[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    norms.append(model[0].weight.detach().norm().item())
    print(f"epoch {epoch}: total {total:.7f} last {loss.item():.7f}")
print(f"largest {max(norms):.7f} of {len(norms)}")
print("done")
