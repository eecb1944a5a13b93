"""A sampler that shuffles for the next epoch as soon as one is used up."""
import random

import torch
from torch import nn
from torch.utils.data import DataLoader, Sampler, TensorDataset

torch.set_num_threads(1)
torch.manual_seed(4)


class AheadSampler(Sampler):
    def __init__(self, count, seed):
        self.rng = random.Random(seed)
        self.order = list(range(count))
        self.rng.shuffle(self.order)

    def __len__(self):
        return len(self.order)

    def __iter__(self):
        yield from self.order
        self.rng.shuffle(self.order)  # in place, for the next epoch


x = torch.randn(320, 6)
data = TensorDataset(torch.arange(320), x, x.sum(1, keepdim=True))
sampler = AheadSampler(len(data), seed=7)
loader = DataLoader(data, batch_size=32, sampler=sampler)
model = nn.Linear(6, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)

for epoch in range(5):
    seen = []
    for ids, inputs, targets in loader:
        loss = nn.functional.mse_loss(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen.extend(ids[:2].tolist())
        if len(seen) == 4:
            print("  second batch starts with", ids[:6].tolist())
    print(f"epoch {epoch}: loss {loss.item():.6f}  ids {seen[:8]}")
print("next would be", sampler.order[:5])
