"""Looks at activations in some epochs only."""
import torch
from torch import nn

collected = []


class Recorder:
    def __init__(self, name):
        self.name, self.calls = name, 0

    def __call__(self, module, args, output):
        self.calls += 1
        collected.append((self.name, output.detach().abs().mean().item()))


def scale_gradient(grad):
    return grad * 0.5


torch.set_num_threads(1)
torch.manual_seed(74)
x = torch.randn(200, 6)
model = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 6))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
recorders, handles = {}, {}

for epoch in range(5):
    if epoch in (1, 2):
        recorders[epoch] = Recorder(f"r{epoch}")
        handles[epoch] = model[epoch].register_forward_hook(recorders[epoch])
    if epoch == 1:
        handles["grad"] = model[0].weight.register_hook(scale_gradient)
    if epoch == 3:
        handles.pop(1).remove()
        handles.pop("grad").remove()
    for rows in torch.randperm(200).split(25):
        loss = nn.functional.mse_loss(model(x[rows]), x[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: {loss.item():.6f}")
    print("  calls", {r.name: r.calls for r in recorders.values()}, len(collected), sorted(map(str, handles)))
    print("  hooks", [len(m._forward_hooks) for m in model], f"{sum(v for _, v in collected):.7f}")
model(x)
print(len(collected), recorders[2].calls, [name for name, _ in collected[-2:]])
