"""Says what it does in every way there is."""
import contextlib
import io
import logging
import sys
import warnings

import torch
from torch import nn

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(levelname)s %(name)s:%(lineno)d %(message)s")
log = logging.getLogger("train")


def train_epoch(model, optimizer, x, y):
    for step, rows in enumerate(torch.randperm(len(x)).split(40)):
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        sys.stdout.write(".")
        if step % 3 == 2:
            print(step, end=" ", flush=True)
        if loss.item() > 1.5:
            warnings.warn(f"high loss at {step}")
    sys.stdout.writelines(["\n", "done\n"])
    log.info("loss %.6f", loss.item())
    return loss.item()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(61)
    log.info("start")
    x = torch.randn(240, 8)
    y = x.abs().sum(1, keepdim=True) / 4
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for epoch in range(5):
        loss = train_epoch(model, optimizer, x, y)
        quiet = io.StringIO()
        with contextlib.redirect_stdout(quiet):
            print(f"not to be seen {loss:.3f}")
        print("to stderr", epoch, file=sys.stderr)
        log.warning("epoch %d %s", epoch, quiet.getvalue().split()[-1])
    print("end", end="")


main()
