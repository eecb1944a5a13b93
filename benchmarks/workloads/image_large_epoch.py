"""Train a squeeze-and-expand network for a few long epochs over many images made on the fly."""
import argparse

import torch
from marks import bench_mark
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Fire(nn.Module):
    def __init__(self, inputs, squeeze, expand):
        super().__init__()
        self.squeeze = nn.Sequential(nn.Conv2d(inputs, squeeze, 1), nn.BatchNorm2d(squeeze), nn.ReLU())
        self.left = nn.Conv2d(squeeze, expand, 1)
        self.right = nn.Conv2d(squeeze, expand, 3, padding=1)

    def forward(self, x):
        x = self.squeeze(x)
        return torch.relu(torch.cat([self.left(x), self.right(x)], 1))


class Net(nn.Module):
    def __init__(self, classes=100):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 48, 3, 2, 1), nn.ReLU(),
            Fire(48, 16, 64), Fire(128, 16, 64), nn.MaxPool2d(2),
            Fire(128, 32, 128), Fire(256, 32, 128), nn.MaxPool2d(2),
            Fire(256, 48, 192), Fire(384, 64, 256))
        self.out = nn.Sequential(nn.Dropout(0.5), nn.Conv2d(512, classes, 1))

    def forward(self, x):
        return self.out(self.body(x)).mean((2, 3))


class Images(Dataset):
    """Images that exist only when asked for: waves whose direction and colour tell the class."""

    def __init__(self, count, classes, size, seed):
        self.count, self.classes, self.seed = count, classes, seed
        axis = torch.linspace(0, 6.28, size)
        self.grid = torch.stack(torch.meshgrid(axis, axis, indexing="ij"))

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + index)
        label = index % self.classes
        angle, color = label % 10, label // 10
        weights = torch.tensor([1.0 + angle, 10.0 - angle]) / 3
        wave = torch.sin((self.grid * weights[:, None, None]).sum(0))
        tint = torch.tensor([color / 10, 1 - color / 10, 0.5])
        noise = torch.randn(3, *wave.shape, generator=generator)
        return wave * tint[:, None, None] + 0.3 * noise, label


def train(epoch, model, loader, criterion, optimizer, log_interval):
    model.train()
    running = 0.0
    for i, (images, labels) in enumerate(loader):  # [step loop]
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        # [inner probe]
        optimizer.step()
        running += loss.item()
        if i % log_interval == log_interval - 1:
            print(f"[{epoch}, {i + 1:4d}] loss {running / log_interval:.6f}")
            running = 0.0


def validate(model, loader):
    model.eval()
    first, fifth, count = 0, 0, 0
    with torch.no_grad():
        for images, labels in loader:
            top = model(images).topk(5, 1).indices.eq(labels[:, None])
            first += top[:, 0].sum().item()
            fifth += top.any(1).sum().item()
            count += len(labels)
    return first / count, fifth / count


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=0.02)
    parser.add_argument("--images", type=int, default=6528)
    parser.add_argument("--size", type=int, default=32)
    parser.add_argument("--log-interval", type=int, default=10)
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()

    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    train_loader = DataLoader(Images(args.images, 100, args.size, 1), args.batch_size, shuffle=True)
    test_loader = DataLoader(Images(600, 100, args.size, 2), 50)

    model = Net()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=2e-4)
    scheduler = torch.optim.lr_scheduler.PolynomialLR(optimizer, args.epochs, power=1.0)

    best = 0.0
    bench_mark("loop-start")
    # [loop begin]
    for epoch in range(args.epochs):  # [epoch loop]
        # [epoch begin]
        train(epoch, model, train_loader, criterion, optimizer, args.log_interval)
        top1, top5 = validate(model, test_loader)
        scheduler.step()
        is_best = top1 > best
        best = max(top1, best)
        print(f"epoch {epoch}: top1 {top1:.4f} top5 {top5:.4f} best {best:.4f}{' *' if is_best else ''}")
        # [outer probe]
        # [epoch end]
    # [loop end]
    bench_mark("loop-end")
    print(f"best top1 {best:.4f}")


if __name__ == "__main__":
    main()
