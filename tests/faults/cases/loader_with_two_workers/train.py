"""Augmentation in the workers of a loader."""
import random

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, get_worker_info


class Augmented(Dataset):
    def __init__(self, x):
        self.x = x

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        noisy = self.x[i] + 0.1 * torch.randn(6)
        return noisy * random.choice((1.0, -1.0)), get_worker_info().id


def main():
    torch.set_num_threads(1)
    torch.manual_seed(55)
    loader = DataLoader(Augmented(torch.randn(256, 6)), batch_size=32, shuffle=True, num_workers=2)
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 6))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for epoch in range(5):
        for x, worker in loader:
            loss = nn.functional.mse_loss(model(x), x)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: {loss.item():.6f}")


if __name__ == "__main__":
    main()
