"""Prints more and more briefly."""
import warnings

import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(91)
x = torch.randn(200, 6)
model = nn.Linear(6, 6)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for epoch in range(5):
    for rows in torch.randperm(200).split(25):
        loss = nn.functional.mse_loss(model(x[rows]), x[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch == 2:
        torch.set_printoptions(precision=2)
        np.set_printoptions(precision=3)
        warnings.simplefilter("error")
    print(f"epoch {epoch}: {loss.item():.6f}")
    print(" ", model.weight.detach()[0, :3], model.bias.detach().numpy()[:2])
try:
    warnings.warn("is this an error?")
    print("a warning")
except UserWarning as warning:
    print("raised", warning, model.bias.detach()[:2])
