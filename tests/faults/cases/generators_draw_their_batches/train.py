"""A flat loop fed by generators that draw random numbers, count, and are told things."""
import random

import numpy as np
import torch

torch.manual_seed(0)
np.random.seed(1)
random.seed(2)
data = np.linspace(0.0, 1.0, 500, dtype=np.float32)


def windows(width):
    """Draws anew for every batch; what it drew stays in its variables."""
    drawn = 0
    while True:
        at = np.random.randint(0, len(data) - width, size=8)
        first = random.randrange(100)
        drawn += len(at)
        yield torch.from_numpy(np.stack([data[i:i + width] for i in at])), first, drawn


def noisy(batches):
    """Takes from another; how much noise, it is told."""
    scale = 0.1
    for x, first, drawn in batches:
        noise = torch.randn_like(x) * scale
        told = yield x + noise, first, drawn
        if told is not None:
            scale = told


def orders(names):
    """Runs over a list that is shuffled for every turn."""
    while True:
        shuffled = random.sample(names, len(names))
        yield from shuffled


model = torch.nn.Linear(16, 1)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
batches = noisy(windows(16))
names = orders(["a", "b", "c", "d", "e"])
step = 0
(x, first, drawn), name = next(batches), next(names)
while step < 40:
    loss = (model(x) - x.mean(1, keepdim=True)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 9:
        print(step, loss.item(), first, drawn, name)
        x, first, drawn = batches.send(0.1 / (step + 1))
    else:
        x, first, drawn = next(batches)
    name = next(names)
    step += 1
print("end", next(names), drawn, random.random(), torch.rand(1).item())
