"""Early best weights: once copied, once only referred to."""
import copy

import torch
from torch import nn


def main():
    torch.set_num_threads(1)
    torch.manual_seed(30)
    x = torch.randn(200, 8)
    y = torch.randint(0, 3, (200,))
    model = nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
    best, best_copy, best_alias, twin = float("inf"), None, None, None
    for epoch in range(6):
        model.train()
        for rows in torch.randperm(150).split(25):
            loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            val = nn.functional.cross_entropy(model(x[150:]), y[150:]).item()
        if val < best:
            best = val
            best_copy = copy.deepcopy(model.state_dict())
            best_alias = model.state_dict()
            twin = copy.deepcopy(model)
        print(f"epoch {epoch}: val {val:.6f} best {best:.6f}")
    same = all(torch.equal(best_alias[k], v) for k, v in model.state_dict().items())
    model.load_state_dict(best_copy)
    with torch.no_grad():
        print(f"alias follows {same}, best again {nn.functional.cross_entropy(model(x[150:]), y[150:]).item():.6f}")


main()
