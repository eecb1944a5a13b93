"""Leaves by os._exit, as scripts do that fear hanging threads."""
import os
import sys

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(68)
x = torch.randn(200, 6)
model = nn.Linear(6, 6)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(5):
    for rows in torch.randperm(200).split(25):
        loss = nn.functional.mse_loss(model(x[rows]), x[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: {loss.item():.6f}")
    print(f"  weight {model.weight.detach().norm().item():.7f}")
sys.stdout.flush()
os._exit(5)
