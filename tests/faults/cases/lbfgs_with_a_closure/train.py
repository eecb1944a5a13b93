"""Full-batch LBFGS; the state holds Python lists that grow."""
import torch
from torch import nn


def main():
    torch.set_num_threads(1)
    torch.manual_seed(72)
    x = torch.randn(120, 4)
    y = x.prod(1, keepdim=True)
    model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.LBFGS(
        model.parameters(), lr=0.3, max_iter=9, history_size=5, tolerance_grad=0.0, tolerance_change=0.0
    )  # as many calls on every machine
    calls = 0
    for epoch in range(4):
        for _ in range(2):
            rows = torch.randperm(120)[:100]

            def closure():
                nonlocal calls
                calls += 1
                optimizer.zero_grad()
                loss = nn.functional.mse_loss(model(x[rows]), y[rows])
                loss.backward()
                return loss

            loss = optimizer.step(closure)
        print(f"epoch {epoch}: {loss.item():.8f} after {calls} calls")
    state = optimizer.state[next(iter(optimizer.state))]
    print(state["n_iter"], state["func_evals"], len(state["old_dirs"]))


main()
