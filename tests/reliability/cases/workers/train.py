"""Training on a loader with workers, one of which may be killed. Usage: train.py HOW"""
import os
import signal
import sys
import time

import torch
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(11)


class Numbers(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        return torch.tensor([float(index), float(index % 7)]), torch.tensor([float(index % 3)])


model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9)
loader = DataLoader(Numbers(), batch_size=8, shuffle=True, num_workers=2)
lost = 0
for epoch in range(6):
    total, whole = 0.0, False
    try:
        batches = iter(loader)
        for number in range(len(loader)):
            inputs, targets = next(batches)
            loss = ((model(inputs) - targets) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
            whole = number == len(loader) - 1
            if epoch == 3 and number == 2 and sys.argv[1] == "kill":
                os.kill(batches._workers[0].pid, signal.SIGKILL)
                time.sleep(60)  # torch raises from its handler of SIGCHLD: in here, however busy the machine
    except (RuntimeError, OSError, EOFError):
        print("a worker was lost", flush=True)
        lost += 1
    print(f"epoch {epoch} whole {whole}", flush=True)
print(f"end, lost {lost}")
