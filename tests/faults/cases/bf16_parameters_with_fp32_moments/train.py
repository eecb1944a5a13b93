"""Pure bf16 training; the optimizer keeps its moments and a master copy in fp32."""
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(9)


class Adam32(torch.optim.Optimizer):
    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                if not state:
                    state["step"] = 0
                    state["master"] = p.float()
                    state["first"] = torch.zeros_like(p, dtype=torch.float32)
                    state["second"] = torch.zeros_like(p, dtype=torch.float32)
                state["step"] += 1
                g = p.grad.float()
                state["first"].mul_(0.9).add_(g, alpha=0.1)
                state["second"].mul_(0.99).addcmul_(g, g, value=0.01)
                scale = (1 - 0.99 ** state["step"]) ** 0.5 / (1 - 0.9 ** state["step"])
                state["master"].addcdiv_(state["first"], state["second"].sqrt() + 1e-8, value=-group["lr"] * scale)
                p.copy_(state["master"])


x = torch.randn(256, 16, dtype=torch.bfloat16)
y = x.float().sin().sum(1, keepdim=True).bfloat16()
model = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 1)).bfloat16()
optimizer = Adam32(model.parameters(), lr=0.003)

for epoch in range(5):
    for rows in torch.randperm(256).split(32):
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.6f}")
kept = optimizer.state[model[0].weight]
print(kept["master"].dtype, f"{kept['master'].double().sum().item():.12f}", kept["step"], model[0].weight.dtype)
