import numpy as np
import torch
from sklearn.datasets import load_wine
from torch.utils.data import DataLoader, Dataset, WeightedRandomSampler


class Table(Dataset):
    """Standardized rows; in training some entries are jittered, with NumPy's global generator."""

    def __init__(self, x, y, jitter=0.0):
        self.x, self.y, self.jitter = x.astype("float32"), y, jitter

    def __len__(self):
        return len(self.y)

    def __getitem__(self, index):
        row = self.x[index]
        if self.jitter:
            moved = np.random.rand(len(row)) < 0.3
            noise = moved * self.jitter * np.random.randn(len(row))
            row = row + noise.astype("float32")
        return torch.from_numpy(row), int(self.y[index])


def build(config):
    x, y = load_wine(return_X_y=True)
    order = np.random.default_rng(config.seed).permutation(len(y))
    cut = int(0.75 * len(y))
    first, second = order[:cut], order[cut:]
    mean, std = x[first].mean(0), x[first].std(0)
    x = (x - mean) / std
    counts = np.bincount(y[first])
    sampler = WeightedRandomSampler(1.0 / counts[y[first]], num_samples=2 * cut)
    train = DataLoader(Table(x[first], y[first], jitter=0.2), batch_size=config.batch_size, sampler=sampler)
    val = DataLoader(Table(x[second], y[second]), batch_size=64)
    return train, val, x.shape[1], len(counts)
