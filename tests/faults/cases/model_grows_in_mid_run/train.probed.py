"""Grows by a layer at epochs 1 and 3."""
import torch
from torch import nn


class Grower(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(6, 10)])
        self.head = nn.Linear(10, 1)
        self.register_buffer("scale", torch.ones(1), persistent=False)

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x)) * self.scale
        return self.head(x)

    def grow(self):
        self.layers.append(nn.Linear(10, 10))
        old = self.head
        self.head = nn.Linear(10, 1)
        self.head.bias = old.bias
        self.scale = self.scale * 1.1
        self.note = f"{len(self.layers)} layers"


def train_epoch(model, optimizer, x, y):
    for rows in torch.randperm(len(x)).split(40):
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(75)
    x = torch.randn(240, 6)
    y = x.abs().sum(1, keepdim=True)
    model = Grower()
    bias = model.head.bias
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for epoch in range(5):
        if epoch in (1, 3):
            model.grow()
            optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        loss = train_epoch(model, optimizer, x, y)
        print(f"epoch {epoch}: {loss:.6f} {getattr(model, 'note', 'as built')}")
        print(f"  bias {bias.item():.7f} same {model.head.bias is bias} params {sum(p.numel() for p in model.parameters())} "
              f"last {optimizer.param_groups[0]['params'][-1] is model.head.bias} scale {model.scale.item():.4f}")
    with torch.no_grad():
        bias.fill_(5.0)
        print(f"{model(x).mean().item():.6f} {len(optimizer.state)}")


main()
