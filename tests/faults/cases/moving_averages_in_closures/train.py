"""State in cells of closures."""
import functools

import torch
from torch import nn


def make_ema(model, decay):
    shadow = [p.detach().clone() for p in model.parameters()]
    updates = 0

    @torch.no_grad()
    def update():
        nonlocal updates
        updates += 1
        d = min(decay, (1 + updates) / (10 + updates))
        for s, p in zip(shadow, model.parameters()):
            s.mul_(d).add_(p, alpha=1 - d)

    def distance():
        return updates, sum((s - p.detach()).norm().item() for s, p in zip(shadow, model.parameters()))

    return update, distance


def make_clipper(limit):
    norms = []

    def clip(parameters, factor):
        nonlocal limit
        norms.append(nn.utils.clip_grad_norm_(parameters, limit * factor).item())
        limit = 0.9 * limit + 0.1 * sum(norms[-5:]) / len(norms[-5:])
        return limit

    return clip


def main():
    torch.set_num_threads(1)
    torch.manual_seed(42)
    x = torch.randn(256, 8)
    y = x.abs().max(1, keepdim=True).values
    model = nn.Sequential(nn.Linear(8, 24), nn.ReLU(), nn.Linear(24, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    update, distance = make_ema(model, 0.95)
    clip = functools.partial(make_clipper(1.0), factor=0.9)
    losses = []
    callbacks = [update, losses.append]
    for epoch in range(6):
        for rows in torch.randperm(256).split(32):
            loss = nn.functional.mse_loss(model(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            limit = clip(list(model.parameters()))
            optimizer.step()
            callbacks[0]()
            callbacks[1](loss.item())
        print(f"epoch {epoch}: {loss.item():.6f}")
    print("%d %.8f" % distance(), f"{clip(list(model.parameters())):.8f}", len(losses))


main()
