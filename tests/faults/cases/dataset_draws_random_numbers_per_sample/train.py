"""Denoising with noise drawn per sample, in the dataset."""
import random

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.set_num_threads(1)
torch.manual_seed(1)
random.seed(2)
np.random.seed(3)


class Noisy(Dataset):
    def __init__(self, count):
        self.clean = torch.randn(count, 8)

    def __len__(self):
        return len(self.clean)

    def __getitem__(self, i):
        x = self.clean[i] + 0.1 * torch.randn(8)
        if random.random() < 0.3:
            x = x.flip(0)
        return x * float(np.random.uniform(0.9, 1.1)), self.clean[i]


loader = DataLoader(Noisy(512), batch_size=64, shuffle=True)
model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Dropout(0.1), nn.Linear(32, 8))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

for epoch in range(6):
    total = 0.0
    for x, clean in loader:
        loss = nn.functional.mse_loss(model(x), clean)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch}: {total / len(loader):.6f}")
print(f"left: {random.random():.6f} {np.random.rand():.6f} {torch.rand(()).item():.6f}")
