"""Train a squeeze-and-expand network on scikit-learn's handwritten digits."""
import argparse

import torch
import torch.nn.functional as F
from marks import bench_mark
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Fire(nn.Module):
    """Squeeze to few channels, expand with 1x1 and 3x3 filters side by side."""

    def __init__(self, inputs, squeeze, expand):
        super().__init__()
        self.squeeze = nn.Conv2d(inputs, squeeze, 1)
        self.expand1 = nn.Conv2d(squeeze, expand, 1)
        self.expand3 = nn.Conv2d(squeeze, expand, 3, padding=1)

    def forward(self, x):
        x = F.relu(self.squeeze(x))
        return torch.cat([F.relu(self.expand1(x)), F.relu(self.expand3(x))], 1)


class SqueezeNet(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 64, 3, padding=1), nn.ReLU(),
            Fire(64, 16, 64), Fire(128, 16, 64), nn.MaxPool2d(2),
            Fire(128, 32, 128), Fire(256, 32, 128), nn.MaxPool2d(2),
            Fire(256, 48, 192), Fire(384, 64, 256))
        self.dropout = nn.Dropout(0.3)
        self.out = nn.Conv2d(512, classes, 1)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_uniform_(module.weight, nonlinearity="relu")
                nn.init.zeros_(module.bias)

    def forward(self, x):
        return self.out(self.dropout(self.features(x))).mean((2, 3))


def load(batch_size):
    images, labels = load_digits(return_X_y=True)
    x = torch.tensor(images, dtype=torch.float32).view(-1, 1, 8, 8) / 16
    x = F.interpolate(x, size=(14, 14))
    y = torch.tensor(labels)
    train_loader = DataLoader(TensorDataset(x[:1472], y[:1472]), batch_size=batch_size, shuffle=True)
    test_loader = DataLoader(TensorDataset(x[1472:1772], y[1472:1772]), batch_size=100)
    return train_loader, test_loader


def train(model, loader, optimizer, epoch, log_interval):
    model.train()
    for batch, (x, y) in enumerate(loader):  # [step loop]
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        # [inner probe]
        optimizer.step()
        if batch % log_interval == 0:
            print(f"train {epoch} [{batch:3d}/{len(loader)}] loss {loss.item():.6f}")


def test(model, loader):
    model.eval()
    loss, correct = 0.0, 0
    with torch.no_grad():
        for x, y in loader:
            output = model(x)
            loss += F.cross_entropy(output, y, reduction="sum").item()
            correct += (output.argmax(1) == y).sum().item()
    return loss / len(loader.dataset), correct / len(loader.dataset)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=2e-4)
    parser.add_argument("--log-interval", type=int, default=10)
    parser.add_argument("--seed", type=int, default=4)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    train_loader, test_loader = load(args.batch_size)

    model = SqueezeNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=4, gamma=0.7)

    best = 0.0
    bench_mark("loop-start")
    # [loop begin]
    for epoch in range(1, args.epochs + 1):  # [epoch loop]
        # [epoch begin]
        train(model, train_loader, optimizer, epoch, args.log_interval)
        loss, accuracy = test(model, test_loader)
        scheduler.step()
        if accuracy > best:
            best = accuracy
        print(f"test {epoch}: loss {loss:.6f} accuracy {accuracy:.4f} best {best:.4f}")
        # [outer probe]
        # [epoch end]
    # [loop end]
    bench_mark("loop-end")
    print(f"best accuracy {best:.4f}")


if __name__ == "__main__":
    main()
