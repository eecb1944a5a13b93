"""An endless stream of batches, with state in the generator's own frame."""
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(24)


def stream(x, size):
    rounds, gen = 0, torch.Generator().manual_seed(1)
    while True:
        for rows in torch.randperm(len(x), generator=gen).split(size):
            yield rounds, x[rows] * (1 + 0.01 * rounds)
        rounds += 1


x = torch.randn(200, 6)
batches = stream(x, 30)
model = nn.Linear(6, 6)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

for epoch in range(5):
    for _ in range(9):
        rounds, batch = next(batches)
        loss = nn.functional.mse_loss(model(batch), batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"  round {rounds}  {batch.sum().item():.6f}  {loss.item():.7f}")
    print(f"epoch {epoch}: {loss.item():.6f} in round {rounds}")
print("last round", next(batches)[0])
