"""Meters and histories of unusual types."""
import weakref

import torch
from torch import nn


class Meter(dict):
    count = 0

    def add(self, name, value):
        self.count += 1
        self[name] = self.get(name, 0.0) + value


class History(list):
    def __init__(self, limit):
        super().__init__()
        self.limit, self.dropped = limit, 0

    def append(self, item):
        super().append(item)
        while len(self) > self.limit:
            del self[0]
            self.dropped += 1


class Range:
    __slots__ = ("low", "high", "__weakref__")

    def __init__(self):
        self.low, self.high = float("inf"), -float("inf")

    def see(self, value):
        self.low, self.high = min(self.low, value), max(self.high, value)


class Rate:
    def __init__(self, optimizer):
        self.__dict__["writes"] = 0
        self.__dict__["optimizer"] = optimizer

    @property
    def value(self):
        return self.optimizer.param_groups[0]["lr"]

    @value.setter
    def value(self, new):
        self.optimizer.param_groups[0]["lr"] = new

    def __setattr__(self, name, new):
        self.__dict__["writes"] += 1
        object.__setattr__(self, name, new)


torch.set_num_threads(1)
torch.manual_seed(78)
x = torch.randn(200, 6)
model = nn.Linear(6, 6)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
meter, history, seen, rate = Meter(), History(10), Range(), Rate(optimizer)
moved = {p: 0.0 for p in model.parameters()}
by_id = {id(p): 0 for p in model.parameters()}
weak = weakref.WeakKeyDictionary({seen: 0, meter.__class__: 1})

for epoch in range(5):
    for rows in torch.randperm(200).split(25):
        loss = nn.functional.mse_loss(model(x[rows]), x[rows])
        optimizer.zero_grad()
        loss.backward()
        for p in model.parameters():
            moved[p] += p.grad.norm().item() * rate.value
            by_id[id(p)] += 1
        optimizer.step()
        meter.add(f"loss{epoch % 2}", loss.item())
        history.append(loss.item())
        seen.see(loss.item())
        weak[seen] += 1
    rate.value *= 0.9
    print(f"epoch {epoch}: {loss.item():.6f}")
print(f"{meter.count} {Meter.count} {len(history)} {seen.high:.7f} {sum(moved.values()):.7f} {list(by_id.values())} {rate.value:.6f}")
