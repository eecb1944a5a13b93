"""State that hangs on functions."""
import torch
from torch import nn


def counted(function):
    calls = {"n": 0}

    def inner(*args, _seen=[], **kwargs):
        calls["n"] += 1
        _seen.append(calls["n"] % 7)
        inner.total = inner.total + sum(_seen[-2:])
        return function(*args, **kwargs)

    inner.total = 0
    return inner


def momentum(name, value, memory={}):
    memory[name] = 0.9 * memory.get(name, 0.0) + 0.1 * value
    return memory[name]


@counted
def step(model, x, y, rate):
    loss = nn.functional.mse_loss(model(x), y)
    model.zero_grad()
    loss.backward()
    with torch.no_grad():
        for name, p in model.named_parameters():
            momentum(name, p.grad.norm().item())
            p.sub_(rate * p.grad)
    step_rate.last = rate
    return loss.item()


def step_rate(epoch, start=[0.2]):
    start[0] *= 0.95
    return start[0] / (1 + epoch)


torch.set_num_threads(1)
torch.manual_seed(43)
x = torch.randn(256, 8)
y = x[:, :1] - x[:, 1:2]
model = nn.Linear(8, 1)
for epoch in range(5):
    for rows in torch.randperm(256).split(32):
        loss = step(model, x[rows], y[rows], step_rate(epoch))
    print(f"epoch {epoch}: {loss:.6f}")
print(step.total, f"{step_rate(0):.8f} {momentum('bias', 0.0):.8f}")
