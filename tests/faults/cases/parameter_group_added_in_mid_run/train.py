"""The first layer is frozen, then joins the optimizer with a rate of its own."""
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(11)
x = torch.randn(300, 6)
y = (x.abs().sum(1) > 4.5).long()
model = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 2))
model[0].requires_grad_(False)
optimizer = torch.optim.Adam(model[2].parameters(), lr=0.02)

for epoch in range(5):
    if epoch == 2:
        model[0].requires_grad_(True)
        optimizer.add_param_group({"params": list(model[0].parameters()), "lr": 0.005})
    for rows in torch.randperm(300).split(30):
        loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.6f}")
with torch.no_grad():
    for group in optimizer.param_groups:
        for p in group["params"]:
            p.mul_(0.5)
print(f"halved through the optimizer: {model(x).detach().abs().sum().item():.5f}")
