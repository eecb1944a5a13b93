"""One worker that lives as long as the run; the probe looks at one late epoch."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Noise(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, i):
        return torch.randn(6) + i / 64


def main():
    torch.set_num_threads(1)
    torch.manual_seed(93)
    loader = DataLoader(Noise(), batch_size=16, num_workers=1, persistent_workers=True)
    model = nn.Linear(6, 6)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(5):
        for x in loader:
            loss = nn.functional.mse_loss(model(x), x)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if epoch == 3 and x[0, 0] > -9:
                model.late = epoch
        print(f"epoch {epoch}: {loss.item():.6f}")


if __name__ == "__main__":
    main()
