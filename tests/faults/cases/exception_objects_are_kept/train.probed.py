"""Keeps the exceptions themselves, as a retry loop does."""
import traceback

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(46)
x = torch.randn(160, 6)
model = nn.Linear(6, 6)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
errors = []


def step(rows, number):
    if number % 13 == 12:
        raise KeyError(number)
    loss = nn.functional.mse_loss(model(x[rows]), x[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


number = 0
for epoch in range(5):
    for rows in torch.randperm(160).split(20):
        number += 1
        try:
            step(rows, number)
        except KeyError as error:
            errors.append(error)
    print(f"epoch {epoch}: {len(errors)} errors")
    print(f"  {[e.args for e in errors]} weight {model.weight.detach().norm().item():.7f}")
print([type(e).__name__ for e in errors], [f.name for f in traceback.extract_tb(errors[0].__traceback__)])
