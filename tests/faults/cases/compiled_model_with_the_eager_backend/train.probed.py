"""A compiled model and the plain one it wraps, both in use."""
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(13)
x = torch.randn(256, 8)
y = (x ** 2).sum(1, keepdim=True)
plain = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.BatchNorm1d(32), nn.Linear(32, 1))
model = torch.compile(plain, backend="eager")
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

for epoch in range(4):
    for rows in torch.randperm(256).split(32):
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.6f}  tracked {plain[2].num_batches_tracked.item()}")
    keys = list(model.state_dict())
    print(f"  {keys[0]} {plain[0].weight.detach().sum().item():.7f} mean {plain[2].running_mean.sum().item():.7f}")
plain.eval()
with torch.no_grad():
    print(f"plain {plain(x).sum().item():.5f}  same weights {model.get_parameter('0.weight') is plain[0].weight}"
          if hasattr(model, "get_parameter") and "0.weight" in dict(model.named_parameters())
          else f"plain {plain(x).sum().item():.5f}")
