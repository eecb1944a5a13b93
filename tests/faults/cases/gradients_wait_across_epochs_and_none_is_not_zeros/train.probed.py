"""Gradient accumulation that does not fit the epoch; one layer has no gradient until epoch 2."""
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(8)


def show(parameter):
    return "none" if parameter.grad is None else f"{parameter.grad.norm().item():.7f}"


x, y = torch.randn(200, 8), torch.randn(200, 1)
body, late = nn.Linear(8, 16), nn.Linear(8, 16)
head = nn.Linear(16, 1)
parameters = [*body.parameters(), *late.parameters(), *head.parameters()]
optimizer = torch.optim.SGD(parameters, lr=0.05, momentum=0.5)

micro = 0
for epoch in range(6):
    print("  body", show(body.weight), "late", show(late.weight), "head", show(head.weight))
    for rows in torch.randperm(200).split(20):
        hidden = body(x[rows])
        if epoch >= 2:
            hidden = hidden + late(x[rows])
        loss = nn.functional.mse_loss(head(torch.tanh(hidden)), y[rows])
        (loss / 4).backward()
        micro += 1
        if micro % 4 == 0:
            optimizer.step()
            # zeros at every other update, None at the others
            optimizer.zero_grad(set_to_none=micro % 8 == 0)
    print(f"epoch {epoch}: {micro} micro-steps, loss {loss.item():.6f}")
    print("  left", show(body.weight), "late", show(late.weight), "head", show(head.weight))
print("pending", show(body.weight), show(late.weight), show(head.bias))
