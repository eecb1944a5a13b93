"""Class numbers taken from a set, as many quick scripts do."""
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(12)
names = ["ash", "birch", "cedar", "elm", "fir", "larch", "maple", "oak", "pine", "rowan", "spruce", "yew"]
classes = list(set(names))
class_id = {name: i for i, name in enumerate(classes)}

labels = [names[i % len(names)] for i in range(480)]
x = torch.randn(480, 8) + torch.tensor([len(name) + ord(name[0]) % 7 for name in labels])[:, None]
y = torch.tensor([class_id[name] for name in labels])
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, len(classes)))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

for epoch in range(5):
    for step, rows in enumerate(torch.randperm(480).split(48)):
        loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.6f}  {' '.join(sorted(set(names) - {classes[0]})[:3])}")
print("order", classes[:4])
