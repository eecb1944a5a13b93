"""Half precision on the CPU with a loss scale that doubles every third step and halves at an overflow."""
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(7)
x = torch.randn(320, 16)
y = x @ torch.randn(16, 3)
model = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
scaler = torch.amp.GradScaler("cpu", init_scale=1024, growth_interval=3)

for epoch in range(6):
    for rows in torch.randperm(320).split(32):
        with torch.autocast("cpu", dtype=torch.float16):
            loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    print(f"epoch {epoch}: loss {loss.item():.6f}")
print(f"scale at the end {scaler.get_scale():.0f}")
