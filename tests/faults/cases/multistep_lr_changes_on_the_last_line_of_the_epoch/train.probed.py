"""A learning rate that drops at epochs 2, 3 and 5."""
import torch
from torch import nn


def main():
    torch.set_num_threads(1)
    torch.manual_seed(6)
    x = torch.randn(256, 12)
    y = (x[:, 0] * x[:, 1] > 0).long()
    model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[2, 3, 5], gamma=0.3)

    for epoch in range(7):
        for step, rows in enumerate(torch.randperm(256).split(64)):
            loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(f"  step {step}: lr {optimizer.param_groups[0]['lr']:.6f}  loss {loss.item():.6f}")
        print(f"epoch {epoch}: loss {loss.item():.6f}")
        scheduler.step()


main()
