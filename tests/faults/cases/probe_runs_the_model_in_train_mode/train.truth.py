"""BatchNorm statistics decide the validation loss."""
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(16)
x = torch.randn(320, 10) * 3 + 1
y = x.cos().sum(1, keepdim=True)
model = nn.Sequential(nn.Linear(10, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

for epoch in range(5):
    model.train()
    for rows in torch.randperm(320).split(32):
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    kept = [b.clone() for b in model.buffers()]
    before = torch.get_rng_state()
    model.train()
    with torch.no_grad():
        print(f"  in train mode {model(x + torch.rand(10)).sum().item():.6f}")
    torch.set_rng_state(before)
    for buffer, old in zip(model.buffers(), kept):
        buffer.copy_(old)
    model.eval()
    with torch.no_grad():
        print(f"epoch {epoch}: val {nn.functional.mse_loss(model(x), y).item():.6f} {model.training}")
print(f"{model[1].num_batches_tracked.item()} batches, next draw {torch.rand(()).item():.7f}")
