"""Two inner loops build graphs, the epoch's last lines use them."""
import torch
from torch import nn


def main():
    torch.set_num_threads(1)
    torch.manual_seed(77)
    cell = nn.GRUCell(4, 8)
    head = nn.Linear(8, 2)
    optimizer = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=0.02)
    hidden = torch.zeros(16, 8)
    baseline = 0.0
    for epoch in range(5):
        logs, penalty = [], 0.0
        hidden = hidden.detach()
        for t in range(12):
            hidden = cell(torch.randn(16, 4), hidden)
            choice = torch.distributions.Categorical(logits=head(hidden))
            action = choice.sample()
            logs.append((choice.log_prob(action), (action == t % 2).float()))
        for t in range(6):
            penalty = penalty + cell(torch.randn(16, 4), hidden).pow(2).mean()
        reward = sum(r.mean().item() for _, r in logs)
        baseline = 0.8 * baseline + 0.2 * reward
        loss = sum(-(p * (r - baseline / 12)).mean() for p, r in logs) + 0.01 * penalty
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(cell.parameters(), 1.0)
        print(f"  gradient {norm.item():.7f}, penalty {penalty.item():.7f} {penalty.grad_fn.name()}")
        optimizer.step()
        print(f"epoch {epoch}: reward {reward:.4f} loss {loss.item():.6f}")
    print(f"{baseline:.7f} {hidden.norm().item():.7f} {loss.requires_grad} {type(loss.grad_fn).__name__}")


main()
