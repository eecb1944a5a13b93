"""AdamW with amsgrad; its state is created at the first step."""
import torch
from torch import nn


def train_epoch(model, optimizer, x, y):
    for step, rows in enumerate(torch.randperm(len(x)).split(50)):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        if step < 2:
            print(f"  step {step}: gradient norm {norm.item():.8f}")
    return loss.item()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(10)
    x = torch.randn(400, 10)
    y = x.prod(1, keepdim=True).tanh()
    model = nn.Sequential(nn.Linear(10, 40), nn.SiLU(), nn.Linear(40, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.02, weight_decay=0.1, amsgrad=True)
    for epoch in range(6):
        last = train_epoch(model, optimizer, x, y)
        print(f"epoch {epoch}: loss {last:.7f}")


if __name__ == "__main__":
    main()
