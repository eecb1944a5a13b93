"""A buffer holds the number of the epoch, so that a test can find each epoch's bytes in the store."""
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(71)
x = torch.randn(200, 16)
model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 16))
model.register_buffer("stamp", torch.zeros(4096))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(6):
    for rows in torch.randperm(200).split(50):
        loss = nn.functional.mse_loss(model(x[rows]), x[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"  stamp {model.stamp.mean().item():.1f} loss {loss.item():.7f}")
    model.stamp.fill_(1000.5 + epoch)
    print(f"epoch {epoch}: {loss.item():.6f}")
