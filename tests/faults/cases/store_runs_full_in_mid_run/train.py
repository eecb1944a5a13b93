"""A model of 500 kB, and a disk that takes none of it."""
import sys

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(70)
x = torch.randn(200, 64)
model = nn.Sequential(nn.Linear(64, 960), nn.ReLU(), nn.Linear(960, 64))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(5):
    for rows in torch.randperm(200).split(25):
        loss = nn.functional.mse_loss(model(x[rows]), x[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: {loss.item():.6f}")
sys.exit(4)
