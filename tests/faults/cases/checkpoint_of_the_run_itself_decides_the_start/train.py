"""Resumes from its own checkpoint, if there is one."""
import os

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(63)
x = torch.randn(200, 6)
model = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 6))
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
start = 0
if os.path.exists("ckpt.pt"):
    saved = torch.load("ckpt.pt")
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    start = saved["epoch"] + 1
    print("resumed at", start)
else:
    print("a new run")

for epoch in range(start, 5):
    for rows in torch.randperm(200).split(25):
        loss = nn.functional.mse_loss(model(x[rows]), x[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: {loss.item():.6f}")
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, "ckpt.tmp")
    os.replace("ckpt.tmp", "ckpt.pt")
print("last saved epoch", torch.load("ckpt.pt")["epoch"], os.path.exists("ckpt.tmp"))
