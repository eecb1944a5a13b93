"""Three seeds, mean and spread."""
import random

import torch
from torch import nn


def train_epoch(model, optimizer, x, y):
    for rows in torch.randperm(len(x)).split(32):
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


torch.set_num_threads(1)
results = {}
for seed in (3, 1, 4, 1):
    if seed in results:
        seed += 10
    random.seed(seed)
    torch.manual_seed(seed)
    x = torch.randn(256, 6) * random.uniform(0.5, 1.5)
    y = x.abs().sum(1, keepdim=True)
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for epoch in range(5):
        loss = train_epoch(model, optimizer, x, y)
        if epoch == 2 and loss < 2.4:
            optimizer.param_groups[0]["lr"] *= 0.5
    results[seed] = loss
    print(f"seed {seed}: {loss:.6f}")
mean = sum(results.values()) / len(results)
print(f"{list(results)} mean {mean:.6f}")
