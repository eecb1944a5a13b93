"""Counters everywhere but in the loop."""
import torch
from torch import nn

seen = 0
best = None
worst_batches = {}


def note(loss, rows):
    global seen, best
    seen += len(rows)
    if best is None or loss < best:
        best = loss
    worst_batches[round(loss, 2)] = rows[:3].tolist()


def train_step(model, optimizer, x, rows):
    loss = nn.functional.mse_loss(model(x[rows]), x[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    note(loss.item(), rows)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(44)
    x = torch.randn(250, 8)
    model = nn.Sequential(nn.Linear(8, 4), nn.Linear(4, 8))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    patience, stopped_at = 0, None

    def end_of_epoch(epoch):
        nonlocal patience, stopped_at
        patience = patience + 1 if epoch % 2 else 0
        if patience:
            stopped_at = epoch, seen

    for epoch in range(5):
        for rows in torch.randperm(250).split(25):
            train_step(model, optimizer, x, rows)
        end_of_epoch(epoch)
        print(f"epoch {epoch}: seen {seen}")
        print(f"  best {best:.7f}, patience {patience} {stopped_at}, {len(worst_batches)} kept")
    print(f"{seen} {best:.7f} {stopped_at} {max(worst_batches)} {worst_batches[max(worst_batches)]}")


main()
