"""Dropout and shuffling use the global generator; the probe looks at validation data."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
torch.manual_seed(15)
x = torch.randn(320, 10)
train_loader = DataLoader(TensorDataset(x, x.abs().sum(1, keepdim=True)), batch_size=32, shuffle=True)
val = torch.randn(64, 10)
val_loader = DataLoader(TensorDataset(val, val.abs().sum(1, keepdim=True)), batch_size=16)
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

for epoch in range(5):
    for inputs, targets in train_loader:
        loss = nn.functional.mse_loss(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.6f}")
print(f"next draw {torch.rand(()).item():.7f}")
