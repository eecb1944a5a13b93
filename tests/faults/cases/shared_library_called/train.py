"""A shared library of C: what Python knows of it are addresses, and those of one process crash another."""
import ctypes

import torch

library = ctypes.CDLL(None)
absolute = library.abs
counts = (ctypes.c_long * 3)()


class Meter:
    def __init__(self):
        self.linked = ctypes.CDLL(None)
        self.worst = ctypes.c_long(0)

    def add(self, value):
        self.worst.value = max(self.worst.value, self.linked.labs(value))


torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
meter = Meter()
for epoch in range(5):
    for step in range(6):
        x = torch.randn(8, 4)
        loss = (model(x) - x.sum(1, keepdim=True)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        meter.add(-int(100 * loss.item()))
        counts[step % 3] += absolute(-epoch)
    print(epoch, round(loss.item(), 5), meter.worst.value, list(counts), library.abs(-epoch))
print("end", torch.rand(1).item())
