"""One epoch is all there is; the learning rate is set by hand."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
torch.manual_seed(94)
x = torch.randn(640, 6)
loader = DataLoader(TensorDataset(x, x.abs().sum(1, keepdim=True)), batch_size=16, shuffle=True)
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
average = None
for step, (inputs, targets) in enumerate(loader):
    for group in optimizer.param_groups:
        group["lr"] = 0.01 * (1 - step / len(loader))
    loss = nn.functional.mse_loss(model(inputs), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    average = loss.item() if average is None else 0.9 * average + 0.1 * loss.item()
    if step in (12, 30):
        model.milestone = step
    print(f"step {step}: {average:.6f}")
print(f"{torch.rand(()).item():.7f}")
