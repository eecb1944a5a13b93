"""Carries two small overlapping views of a big tensor that is made anew every epoch."""
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(28)
model = nn.Linear(16, 16)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
last = other = None


def collect(model, optimizer):
    parts = []
    for _ in range(8):
        batch = torch.randn(64, 16)
        loss = nn.functional.mse_loss(model(batch), batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        parts.append(batch)
    return torch.cat(parts).flatten().repeat(256)  # 8 MB


for epoch in range(6):
    if last is not None:
        last.add_(1.0)
    shown = 0.0 if other is None else other.sum().item()
    big = collect(model, optimizer)
    last, other = big[:10], big[5:15]
    last[7] = epoch
    print(f"epoch {epoch}: before {shown:.5f}, now {last.sum().item():.5f} {other[2].item():.0f}")
    print(f"  weight {model.weight.detach().norm().item():.7f}, offset {other.storage_offset()}")
    del big
last.zero_()
print("shared", other[:5].tolist(), f"{other[5:].sum().item():.5f}")
