"""A name that an added line binds in one function, and that the program has in others."""
import torch

torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
seen = []


def train():
    total, seen = 0.0, []
    for step in range(6):
        x = torch.randn(8, 4)
        loss = (model(x) - x.sum(1, keepdim=True)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        seen.append(total)
    return total, seen


def evaluate():
    with torch.no_grad():
        return model(torch.ones(1, 4)).item()


for epoch in range(5):
    result = train()
    value = evaluate()
    print(epoch)
print("end", torch.rand(1).item())
