"""Update 50 MB of state a thousand times, 5 ms each: the hardest ratio of state to computing."""
import argparse
import time

import torch
from marks import bench_mark


class Field:
    """Cells that decay and are fed; every one changes in every iteration."""

    def __init__(self, cells):
        self.cells = torch.linspace(0.0, 1.0, cells)
        self.feeding = torch.randn(1024)
        self.mean = 0.0

    def step(self, rate):
        self.cells.mul_(1.0 - rate).add_(rate * self.feeding[torch.randint(0, 1024, ())].item())
        self.mean = 0.9 * self.mean + 0.1 * self.cells[::4096].mean().item()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=1000)
    parser.add_argument("--cells", type=int, default=12_500_000)
    parser.add_argument("--pause", type=float, default=0.0, help="seconds after each iteration")
    parser.add_argument("--seed", type=int, default=9)
    args = parser.parse_args()

    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    model = Field(args.cells)
    bench_mark("loop-start")
    # [loop begin]
    for epoch in range(args.epochs):  # [epoch loop]
        # [epoch begin]
        model.step(1e-3)
        if epoch % 50 == 0:
            print(f"iteration {epoch}: mean {model.mean:.6f}")
        if args.pause:
            time.sleep(args.pause)
        # [epoch end]
    # [loop end]
    bench_mark("loop-end")
    print(f"mean {model.mean:.6f}")
    # [outer probe]


if __name__ == "__main__":
    main()
