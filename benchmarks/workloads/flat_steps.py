"""Train a tiny network in one flat loop of many steps, without epochs."""
import argparse

import torch
import torch.nn.functional as F
from marks import bench_mark
from torch import nn


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=10)
    args = parser.parse_args()

    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    truth = torch.randn(16, 1)
    model = nn.Sequential(nn.Linear(16, 128), nn.Tanh(), nn.Linear(128, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    average = 1.0
    bench_mark("loop-start")
    # [loop begin]
    for step in range(args.steps):  # [epoch loop]
        # [epoch begin]
        x = torch.randn(64, 16)
        y = torch.tanh(x @ truth)
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        # [inner probe]
        optimizer.step()
        average = 0.999 * average + 0.001 * loss.item()
        if step % 1000 == 0:
            print(f"step {step}: loss {loss.item():.6f} average {average:.6f}")
        # [epoch end]
    # [loop end]
    bench_mark("loop-end")
    print(f"average loss {average:.6f}")
    # [outer probe]


if __name__ == "__main__":
    main()
