"""A bar on standard error and a line every fifty steps."""
import torch
from torch import nn
from tqdm import tqdm


def main():
    torch.set_num_threads(1)
    torch.manual_seed(62)
    model = nn.Linear(8, 8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(3):
        bar = tqdm(range(200), desc=f"epoch {epoch}")
        for step in bar:
            x = torch.randn(16, 8)
            loss = nn.functional.mse_loss(model(x), x.roll(1, 1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            bar.set_postfix(loss=f"{loss.item():.4f}")
            if step % 50 == 49:
                print(f"step {step}: {loss.item():.6f}")
                print(f"  weight {model.weight.detach().norm().item():.7f}")
        tqdm.write(f"epoch {epoch} done after {bar.n} steps")


main()
