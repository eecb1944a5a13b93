"""Trains until the loss is low enough, in rounds of uneven length."""
import torch
from torch import nn


def fit(model, optimizer, x, y, budget):
    rounds, steps, loss = 0, 0, None
    while True:
        length = 5 + 3 * (rounds % 3)
        while length:
            rows = torch.randint(0, len(x), (32,))
            loss = nn.functional.mse_loss(model(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            steps += 1
            length -= 1
            if steps == budget:
                break
        rounds += 1
        print(f"round {rounds}: {steps} steps, loss {loss.item():.6f}")
        print(f"  weight {model[0].weight.detach().norm().item():.7f}, {length} left")
        if steps >= budget:
            break
    return rounds, steps, loss.item()


torch.set_num_threads(1)
torch.manual_seed(47)
x = torch.randn(300, 8)
model = nn.Sequential(nn.Linear(8, 24), nn.Tanh(), nn.Linear(24, 1))
result = fit(model, torch.optim.Adam(model.parameters(), lr=0.01), x, x.sin().sum(1, keepdim=True), 50)
print("%d rounds, %d steps, %.6f" % result)
