"""Killed at the start of epoch 4, as by the out-of-memory killer."""
import os
import signal

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(69)
x = torch.randn(200, 6)
model = nn.Linear(6, 6)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(6):
    if epoch == 4:
        os.kill(os.getpid(), signal.SIGKILL)
    for rows in torch.randperm(200).split(25):
        loss = nn.functional.mse_loss(model(x[rows]), x[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: {loss.item():.6f}")
    print(f"  weight {model.weight.detach().norm().item():.7f}")
