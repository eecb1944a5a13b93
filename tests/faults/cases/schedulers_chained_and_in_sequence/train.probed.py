"""Warm-up, then decay, times a cycle for the second optimizer."""
import torch
from torch import nn
from torch.optim import lr_scheduler


def main():
    torch.set_num_threads(1)
    torch.manual_seed(97)
    x = torch.randn(200, 6)
    model, head = nn.Linear(6, 12), nn.Linear(12, 6)
    first = torch.optim.SGD(model.parameters(), lr=0.1)
    second = torch.optim.SGD(head.parameters(), lr=0.1, momentum=0.9)
    warm = lr_scheduler.LinearLR(first, start_factor=0.1, total_iters=6)
    decay = lr_scheduler.ExponentialLR(first, gamma=0.97)
    plan = lr_scheduler.SequentialLR(first, [warm, decay], milestones=[10])
    cycle = lr_scheduler.OneCycleLR(second, max_lr=0.2, total_steps=40)
    for epoch in range(5):
        for step, rows in enumerate(torch.randperm(200).split(25)):
            loss = nn.functional.mse_loss(head(model(x[rows])), x[rows])
            first.zero_grad()
            second.zero_grad()
            loss.backward()
            first.step()
            second.step()
            plan.step()
            if step < 7 or epoch < 4:
                cycle.step()
            if step % 2:
                print(f"  {first.param_groups[0]['lr']:.8f} {second.param_groups[0]['lr']:.8f} "
                      f"{second.param_groups[0]['momentum']:.6f} {loss.item():.7f}")
        print(f"epoch {epoch}: {loss.item():.6f}")
    print(plan.last_epoch, decay.last_epoch, cycle.last_epoch)


main()
