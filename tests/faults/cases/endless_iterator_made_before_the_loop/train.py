"""Each epoch takes 7 batches of an iterator that runs through 5 and starts again."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
torch.manual_seed(23)
x = torch.randn(160, 6)
loader = DataLoader(TensorDataset(torch.arange(160), x), batch_size=32, shuffle=True)
model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 6))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

it = iter(loader)
turns = 0
for epoch in range(6):
    for step in range(7):
        try:
            ids, batch = next(it)
        except StopIteration:
            turns += 1
            it = iter(loader)
            ids, batch = next(it)
        loss = nn.functional.mse_loss(model(batch), batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: {loss.item():.6f} after {turns} turns")
print("next ids", next(it)[0][:3].tolist())
