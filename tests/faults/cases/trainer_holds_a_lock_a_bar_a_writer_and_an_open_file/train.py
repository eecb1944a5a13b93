"""A trainer that owns everything: model, lock, progress bar, writer thread, open log file."""
import queue
import sys
import threading

import torch
from torch import nn


class Bar:
    def __init__(self, total, out=sys.stderr):
        self.total, self.done, self.out = total, 0, out

    def update(self):
        self.done += 1
        self.out.write(f"\r{self.done}/{self.total}")


class Writer:
    """As a SummaryWriter: a queue, and a thread that writes."""

    def __init__(self, path):
        self.queue = queue.Queue()
        self.file = open(path, "w")
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    def work(self):
        while (item := self.queue.get()) is not None:
            self.file.write("%s %.6f\n" % item)
        self.file.close()

    def add_scalar(self, tag, value):
        self.queue.put((tag, value))

    def close(self):
        self.queue.put(None)
        self.thread.join()


class Trainer:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(8, 24), nn.ReLU(), nn.Linear(24, 1))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.01)
        self.lock = threading.RLock()
        self.bar = Bar(50)
        self.writer = Writer("scalars.txt")
        self.log = open("train.log", "w")
        self.steps = 0
        self.best = None

    def train_epoch(self, x, y):
        total = 0.0
        for rows in torch.randperm(len(x)).split(32):
            with self.lock:
                loss = nn.functional.mse_loss(self.model(x[rows]), y[rows])
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                self.steps += 1
            self.bar.update()
            self.writer.add_scalar("loss", loss.item())
            total += loss.item()
        return total / 10

    def fit(self, x, y, epochs):
        for epoch in range(epochs):
            loss = self.train_epoch(x, y)
            self.log.write(f"{epoch} {loss:.6f}\n")
            if self.best is None or loss < self.best[1]:
                self.best = (epoch, loss)
            print(f"epoch {epoch}: {loss:.6f}")
        self.writer.close()
        self.log.close()


torch.set_num_threads(1)
torch.manual_seed(21)
data = torch.randn(320, 8)
trainer = Trainer()
trainer.fit(data, data.norm(dim=1, keepdim=True), 5)
print(trainer.steps, trainer.bar.done, open("train.log").read().count("\n"), trainer.lock.acquire(blocking=False))
