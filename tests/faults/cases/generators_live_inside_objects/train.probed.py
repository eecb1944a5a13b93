"""Augmentation by objects that keep their generators to themselves."""
import random

import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(5)


class Jitter:
    __slots__ = ("gen", "legacy")

    def __init__(self, seed):
        self.gen = torch.Generator().manual_seed(seed)
        self.legacy = np.random.RandomState(seed)

    def __call__(self, x):
        scale = float(self.legacy.uniform(0.9, 1.1))
        return x * scale + 0.05 * torch.randn(x.shape, generator=self.gen)


class Pipeline:
    def __init__(self):
        self.bits = np.random.PCG64(11)
        self.order = np.random.Generator(self.bits)
        self.gain = np.random.Generator(self.bits)  # the same stream
        self.flip = random.Random(3)
        self.steps = {"jitter": Jitter(9)}
        self.seeds = np.random.SeedSequence(21)

    def batches(self, x, size):
        order = self.order.permutation(len(x))
        for start in range(0, len(x), size):
            batch = x[torch.from_numpy(order[start:start + size])]
            if self.flip.random() < 0.5:
                batch = batch.flip(1)
            yield self.steps["jitter"](batch) * float(self.gain.normal(1.0, 0.05))


pipeline = Pipeline()
data = torch.randn(640, 10)
model = nn.Sequential(nn.Linear(10, 24), nn.ReLU(), nn.Linear(24, 10))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

for epoch in range(6):
    child = np.random.default_rng(pipeline.seeds.spawn(1)[0])
    total = 0.0
    for batch in pipeline.batches(data, 64):
        mask = torch.from_numpy(child.random(batch.shape) > 0.1).float()
        loss = nn.functional.mse_loss(model(batch * mask), batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch}: {total:.6f}")
    print(f"  weight norm {model[0].weight.detach().norm().item():.7f}")

print("order", pipeline.order.integers(1000), "gain", pipeline.gain.integers(1000))
print("flip", pipeline.flip.randrange(1000), "spawned", pipeline.seeds.n_children_spawned)
print("torch", torch.randint(1000, (1,), generator=pipeline.steps["jitter"].gen).item(),
      "legacy", pipeline.steps["jitter"].legacy.randint(1000))
