"""Cleans up after itself, and asks later what is left."""
import torch
from torch import nn


def main():
    torch.set_num_threads(1)
    torch.manual_seed(49)
    x = torch.randn(200, 6)
    model = nn.Linear(6, 6)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scratch = {"start": 1}
    for epoch in range(6):
        if epoch % 3 == 0:
            spike = epoch * 10
        elif epoch % 3 == 1:
            del spike
        if epoch == 99:
            never = 1
        for rows in torch.randperm(200).split(25):
            loss = nn.functional.mse_loss(model(x[rows]), x[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        value = loss.item()
        del loss, rows
        if epoch == 1:
            del scratch["start"], optimizer.param_groups[0]["foreach"]
            optimizer.param_groups[0]["foreach"] = None
        try:
            state = f"spike {spike}"
        except UnboundLocalError:
            state = "no spike"
        print(f"epoch {epoch}: {value:.6f} {state}")
        print(f"  {sorted(scratch)} weight {model.weight.detach().norm().item():.7f}")
    for name in ("loss", "rows", "spike", "never", "value", "epoch"):
        print(name, name in locals(), end="; ")
    print()
    try:
        print(spike)
    except UnboundLocalError:
        print("spike is unbound")


main()
