"""Counters and schedules taken from itertools."""
import itertools

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(25)
x = torch.randn(160, 6)
model = nn.Linear(6, 6)
rates = itertools.cycle([0.1, 0.05, 0.01])
ticket = itertools.count(100, 3)
warm = itertools.islice(itertools.repeat(0.5), 20)
numbered = enumerate(iter("abcdefghijklmnopqrstuvwxyz" * 4))

for epoch in range(5):
    for rows in torch.randperm(160).split(20):
        rate = next(rates) * next(warm, 1.0)
        number, letter = next(numbered)
        loss = nn.functional.mse_loss(model(x[rows]), x[rows])
        model.zero_grad()
        loss.backward()
        with torch.no_grad():
            for p in model.parameters():
                p.sub_(rate * p.grad)
        last_ticket = next(ticket)
    print(f"epoch {epoch}: {loss.item():.6f} {letter}{number}")
print(next(rates), next(ticket), next(numbered), next(warm, None))
