"""A cached schedule, and its statistics."""
import functools

import torch
from torch import nn


@functools.lru_cache(maxsize=16)
def rate(step):
    return 0.1 / (1 + step % 12)


torch.set_num_threads(1)
torch.manual_seed(81)
x = torch.randn(200, 6)
model = nn.Linear(6, 6)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
step = 0
for epoch in range(5):
    for rows in torch.randperm(200).split(25):
        optimizer.param_groups[0]["lr"] = rate(step % 10)
        loss = nn.functional.mse_loss(model(x[rows]), x[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
    print(f"epoch {epoch}: {loss.item():.6f}")
    print(f"  weight {model.weight.detach().norm().item():.7f}")
print(rate.cache_info())
