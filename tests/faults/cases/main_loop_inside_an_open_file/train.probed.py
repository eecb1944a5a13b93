"""Writes a row for each epoch to a file that stays open."""
import csv

import torch
from torch import nn


def main():
    torch.set_num_threads(1)
    torch.manual_seed(66)
    x = torch.randn(200, 6)
    model = nn.Linear(6, 6)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    best = float("inf")
    with open("metrics.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["epoch", "loss"])
        for epoch in range(5):
            for rows in torch.randperm(200).split(25):
                loss = nn.functional.mse_loss(model(x[rows]), x[rows])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            writer.writerow([epoch, f"{loss.item():.6f}"])
            if loss.item() < best:
                best = loss.item()
                torch.save(model.state_dict(), "best.pt")
            print(f"epoch {epoch}: {loss.item():.6f}, at byte {file.tell()}")
            print(f"  best {best:.7f} weight {model.weight.detach().norm().item():.7f}")
    with open("metrics.csv") as file:
        print(file.read().replace("\n", ";"))
    print(f"{torch.load('best.pt')['weight'].norm().item():.7f}")


main()
