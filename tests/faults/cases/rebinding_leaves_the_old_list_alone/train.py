"""Histories that share and stop sharing."""
from collections import OrderedDict, deque

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(41)
x = torch.randn(160, 6)
model = nn.Linear(6, 6)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

history, previous = [], []
recent = deque(maxlen=3)
views = {"recent": recent, "all": history}
ring = ["ring"]
ring.append(ring)
order = OrderedDict((name, 0.0) for name in "abcd")
first = None

for epoch in range(6):
    previous = history
    for rows in torch.randperm(160).split(40):
        loss = nn.functional.mse_loss(model(x[rows]), x[rows].flip(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history = history + [loss.item()]
        recent.append(history)
    if epoch == 1:
        first = history
    ring.append(epoch)
    order["abcd"[epoch % 4]] = loss.item()
    order.move_to_end("abcd"[epoch % 3])
    print(f"epoch {epoch}: {loss.item():.6f}")
first.append("tail")
print(len(first), len(history), views["all"], views["recent"] is recent, ring[1][1] is ring, len(ring), "".join(order))
