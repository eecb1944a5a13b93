"""Changes the settings of the process as it goes."""
import os

import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(79)
x = torch.randn(200, 6)
model = nn.Linear(6, 6)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
os.environ["PHASE"] = "start"
old_errors = np.seterr(divide="ignore")

for epoch in range(5):
    for rows in torch.randperm(200).split(25):
        loss = nn.functional.mse_loss(model(x[rows]), x[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch == 1:
        torch.set_default_dtype(torch.float64)
        os.environ["PHASE"] = "double"
        np.seterr(divide="raise")
        torch.use_deterministic_algorithms(True)
    if epoch == 2:
        del os.environ["PHASE"]
        os.environ["LATER"] = str(epoch)
    if epoch == 3:
        torch.set_grad_enabled(False)
        with torch.enable_grad():
            model(x).sum().backward()
    elif epoch == 4:
        torch.set_grad_enabled(False)
    try:
        np.float64(1.0) / np.float64(0.0)
        division = "quiet"
    except FloatingPointError:
        division = "raises"
    print(f"epoch {epoch}: {loss.item():.6f} {torch.rand(1).dtype} {division}")
    print(" ", os.environ.get("PHASE"), os.environ.get("LATER"), torch.are_deterministic_algorithms_enabled(),
          model.weight.detach()[0, :2], np.geterr()["divide"], torch.is_grad_enabled())
    torch.set_grad_enabled(epoch != 4)
print(torch.zeros(2), os.environ.get("PHASE"), torch.are_deterministic_algorithms_enabled(), model(x).requires_grad)
