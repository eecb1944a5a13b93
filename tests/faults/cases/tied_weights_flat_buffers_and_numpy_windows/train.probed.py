"""One storage, many names."""
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(29)


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(30, 12)
        self.mix = nn.Linear(12, 12)
        self.out = nn.Linear(12, 30, bias=False)
        self.out.weight = self.embed.weight

    def forward(self, ids):
        return self.out(torch.tanh(self.mix(self.embed(ids))))


model = Tied()
flat = torch.cat([p.detach().flatten() for p in model.parameters()])
start = 0
for p in model.parameters():
    p.data = flat[start:start + p.numel()].view_as(p)
    start += p.numel()
window = flat.numpy()
row = model.embed.weight.detach()[3]
ids = torch.randint(0, 30, (400,))
optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)

for epoch in range(5):
    for batch in torch.randperm(399).split(57):
        loss = nn.functional.cross_entropy(model(ids[batch]), ids[batch + 1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    window *= 0.99  # weight decay through NumPy
    print(f"epoch {epoch}: {loss.item():.6f}")
    print(f"  flat {flat.sum().item():.6f} window {float(window[-1]):.7f} row {row.norm().item():.7f} "
          f"tied {model.out.weight is model.embed.weight}")
flat.mul_(2.0)
print(f"{model.embed.weight.detach().norm().item():.6f} {row.norm().item():.6f} {float(abs(window).sum()):.4f} "
      f"{optimizer.param_groups[0]['params'][0] is model.out.weight}")
