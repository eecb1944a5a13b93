"""A search: each trial may put two more on the list."""
import heapq

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(98)
x = torch.randn(160, 6)
y = x.abs().sum(1, keepdim=True)
trials = [(0.3, 4), (0.1, 8), (0.05, 16)]
ranking = []

for trial in trials:
    rate, width = trial
    model = nn.Sequential(nn.Linear(6, width), nn.ReLU(), nn.Linear(width, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=rate / 10)
    for rows in torch.randperm(160).split(20):
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    heapq.heappush(ranking, (loss.item(), len(trials), trial))
    if len(trials) < 7 and ranking[0][2] is trial:
        trials.append((rate * 0.7, width + 2))
        trials.append((rate * 1.3, width))
    if len(ranking) > 3:
        heapq.heapreplace(ranking, (loss.item(), 0, trial))
    print(f"trial {rate:.4f} {width}: {loss.item():.6f}")
    print(f"  {len(trials)} trials, best {ranking[0][0]:.6f} {ranking[0][2] in trials}, norm {model[0].weight.norm().item():.7f}")
print(len(trials), [r[2] for r in sorted(ranking)][:2])
