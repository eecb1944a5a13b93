"""A loader that a generator goes through again and again: the epochs end within the steps."""
import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
inputs = torch.randn(96, 8)


def cycle(loader):
    while True:
        for batch in loader:
            yield batch


batches = cycle(DataLoader(TensorDataset(inputs, inputs.sum(1, keepdim=True)), batch_size=16, shuffle=True))
model = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(25):
    optimizer.zero_grad()
    total = 0.0
    for micro in range(4):
        x, y = next(batches)
        loss = (model(x) - y).pow(2).mean() / 4
        loss.backward()
        total += loss.item()
    optimizer.step()
    print("| probe", step, total, model[0].weight.norm().item())
    if step % 5 == 0:
        print(step, total)
print("end", next(batches)[0].sum().item(), torch.rand(1).item())
