"""A small training program of several modules, as people lay them out; and libraries that it may log to.

The libraries are stand-ins of the same shape: they lie outside of the project, and write a file each.
"""

from __future__ import annotations

FILES = {
    "train.py": """\
import atexit
import logging
import os
import sys
import threading
import warnings

import torch
from torch.utils.data import DataLoader
from tqdm import tqdm

sys.path.append(os.environ["STUBS"])
import parts
from data import Points
from nets import Net

log = logging.getLogger("train")


def train_epoch(model, loader, criterion, optimizer, callbacks):
    model.train()
    for step, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        for callback in callbacks:
            callback.on_step(step, loss.item())
    return loss


def evaluate(model, criterion, data):
    model.eval()
    with torch.no_grad():
        return criterion(model(data.x), data.y).item()


def main():
    logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(name)s:%(lineno)d %(message)s")
    torch.manual_seed(5)
    data = Points(96)
    loader = DataLoader(data, batch_size=24, sampler=parts.Shuffled(data), collate_fn=parts.stacked,
                        num_workers=int(sys.argv[1]))
    model, criterion = Net(), parts.Loss()
    model.out.register_forward_hook(parts.on_forward)
    model.out.register_full_backward_hook(parts.on_backward)
    optimizer = parts.Descent(model.parameters(), lr=0.05)
    scheduler = parts.Halving(optimizer)
    callbacks = [parts.Best()]
    atexit.register(parts.at_end)
    for epoch in range(3):
        loss = train_epoch(model, loader, criterion, optimizer, callbacks)
        scheduler.step()
        beside = threading.Thread(target=parts.beside, args=(epoch,))
        beside.start()
        beside.join()
        score = evaluate(model, criterion, data)
        log.info("epoch %d loss %.6f", epoch, loss.item())
        if score < 0.5 * callbacks[0].best:
            print("better than ever")
        print(f"epoch {epoch} score {score:.6f}")
    print("best", callbacks[0].best)


if __name__ == "__main__":
    main()
""",
    "nets.py": """\
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(4, 16)
        self.out = nn.Linear(16, 1)

    def forward(self, x):
        h = self.hidden(x).relu()
        return self.out(h)

    @property
    def size(self):
        return sum(p.numel() for p in self.parameters())
""",
    "data.py": """\
import torch
from torch.utils.data import Dataset


class Points(Dataset):
    def __init__(self, count):
        self.x = torch.randn(count, 4)
        self.y = self.x.abs().sum(1, keepdim=True)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i]
""",
    "parts.py": """\
import torch
from torch import nn


class Loss(nn.Module):
    def forward(self, output, target):
        return nn.functional.mse_loss(output, target)


class Descent(torch.optim.SGD):
    def step(self, closure=None):
        scale = self.param_groups[0]["lr"]
        return super().step(closure)


class Best:
    def __init__(self):
        self.best = float("inf")

    @property
    def percent(self):
        return 100 * self.best

    def on_step(self, step, loss):
        if loss < self.best:
            self.best = loss


class Halving(torch.optim.lr_scheduler.LRScheduler):
    def get_lr(self):
        factor = 0.5 ** self.last_epoch
        return [rate * factor for rate in self.base_lrs]


class Shuffled(torch.utils.data.Sampler):
    def __init__(self, data):
        self.count = len(data)

    def __len__(self):
        return self.count

    def __iter__(self):
        order = torch.randperm(self.count).tolist()
        for index in order:
            yield index


def stacked(rows):
    xs, ys = zip(*rows)
    return torch.stack(xs), torch.stack(ys)


def beside(epoch):
    name = f"beside {epoch}"
    return name


def at_end():
    name = "at end"
    return name


def on_forward(module, inputs, output):
    size = output.shape[0]


def on_backward(module, grad_input, grad_output):
    size = grad_output[0].shape[0]
""",
}

STUBS = {
    "board.py": """\
class SummaryWriter:
    def __init__(self, folder="."):
        self.file = open(folder + "/board.txt", "w")

    def add_scalar(self, tag, value, step=None):
        self.file.write(f"{tag} {value} {step}\\n")
        self.file.flush()

    def close(self):
        self.file.close()
""",
    "wandb.py": """\
def log(values, step=None):
    with open("wandb.txt", "a") as file:
        file.write(f"{values} {step}\\n")
""",
    "mlflow.py": """\
def log_metric(name, value, step=None):
    with open("mlflow.txt", "a") as file:
        file.write(f"{name} {value} {step}\\n")
""",
}
