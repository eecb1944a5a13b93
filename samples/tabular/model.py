import copy

import torch
from torch import nn


class Residual(nn.Module):
    def __init__(self, width, dropout):
        super().__init__()
        self.body = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.SiLU(),
                                  nn.Dropout(dropout), nn.Linear(width, width))

    def forward(self, x):
        return x + self.body(x)


class TabularNet(nn.Module):
    def __init__(self, features, classes, config):
        super().__init__()
        self.stem = nn.Linear(features, config.hidden)
        self.blocks = nn.ModuleList(Residual(config.hidden, config.dropout) for _ in range(config.depth))
        self.head = nn.Linear(config.hidden, classes)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


class EMA:
    """A copy of the model whose weights trail behind: what is evaluated."""

    def __init__(self, model, decay):
        self.shadow = copy.deepcopy(model).eval().requires_grad_(False)
        self.decay, self.updates = decay, 0

    @torch.no_grad()
    def update(self, model):
        self.updates += 1
        decay = min(self.decay, (1 + self.updates) / (10 + self.updates))
        for mine, theirs in zip(self.shadow.parameters(), model.parameters()):
            mine.lerp_(theirs, 1 - decay)
