"""An autoencoder, then a classifier on its code."""
import torch
from torch import nn


def main():
    torch.set_num_threads(1)
    torch.manual_seed(54)
    x = torch.randn(240, 12)
    y = (x[:, :6].sum(1) > 0).long()
    encoder = nn.Sequential(nn.Linear(12, 6), nn.Tanh())
    decoder = nn.Linear(6, 12)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    for epoch in range(4):
        for rows in torch.randperm(240).split(30):
            loss = nn.functional.mse_loss(decoder(encoder(x[rows])), x[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"pretrain {epoch}: {loss.item():.6f}")

    head = nn.Linear(6, 2)
    optimizer = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=0.01)
    for epoch in range(5):
        for step, rows in enumerate(torch.randperm(240).split(60)):
            loss = nn.functional.cross_entropy(head(encoder(x[rows])), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"finetune {epoch}: {loss.item():.6f}")
    with torch.no_grad():
        print(f"accuracy {(head(encoder(x)).argmax(1) == y).float().mean().item():.4f}, "
              f"reconstruction {nn.functional.mse_loss(decoder(encoder(x)), x).item():.6f}")


main()
