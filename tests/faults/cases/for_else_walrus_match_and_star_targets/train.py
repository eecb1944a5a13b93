"""Every kind of statement at least once."""
import torch
from torch import nn


def decide(history):
    match history:
        case [*_, before, last] if last > before:
            return ("up", last - before)
        case [*_, last]:
            return ("down", last)
        case []:
            return ("nothing", 0.0)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(83)
    x = torch.randn(200, 6)
    model = nn.Linear(6, 6)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    history, epoch, streak = [], -1, 0
    while (epoch := epoch + 1) < 5:
        match decide(history):
            case ("up", difference):
                streak = 0
            case (word, value) if word != "nothing":
                streak += 1; history[-1] = value
        first, *middle, last = [rows for rows in torch.randperm(200).split(25)]
        for rows in (first, *middle, last):
            with torch.enable_grad() as nothing, torch.autograd.set_grad_enabled(True):
                loss = nn.functional.mse_loss(model(x[rows]), x[rows])
            optimizer.zero_grad(); loss.backward(); optimizer.step()
            if loss.item() > 10: break
        else:
            history.append(loss.item())
        [streaks := epoch for _ in range(2)]
        for p in model.parameters(): p.data.mul_(0.999)
        print(f"epoch {epoch}: {loss.item():.6f} {streak} {streaks}")
    else:
        print("no break")
    print(f"{value:.6f} {len(history)} {streak} {epoch} {streaks} {'difference' in locals()}")


main()
