"""Train a residual network on small colour images; momentum, milestones, flips and shifts."""
import argparse

import torch
import torch.nn.functional as F
from marks import bench_mark
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.short = nn.Sequential()
        if stride != 1 or inputs != outputs:
            self.short = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False),
                                       nn.BatchNorm2d(outputs))

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(out)) + self.short(x))


class ResNet(nn.Module):
    def __init__(self, widths=(32, 64, 128, 256), blocks=2, classes=20):
        super().__init__()
        self.conv = nn.Conv2d(3, widths[0], 3, 1, 1, bias=False)
        self.bn = nn.BatchNorm2d(widths[0])
        layers, inputs = [], widths[0]
        for stage, width in enumerate(widths):
            for block in range(blocks):
                layers.append(Block(inputs, width, 2 if stage and not block else 1))
                inputs = width
        self.layers = nn.Sequential(*layers)
        self.out = nn.Linear(inputs, classes)

    def forward(self, x):
        x = self.layers(F.relu(self.bn(self.conv(x))))
        return self.out(x.mean((2, 3)))


class Patterns(Dataset):
    """Noisy pictures of a class's pattern, flipped and shifted at random when training."""

    def __init__(self, count, classes, size, generator, augment):
        patterns = torch.randn(classes, 3, size, size, generator=torch.Generator().manual_seed(99))
        self.labels = torch.randint(0, classes, (count,), generator=generator)
        self.images = patterns[self.labels] + 1.5 * torch.randn(count, 3, size, size, generator=generator)
        self.augment = augment

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        image = self.images[index]
        if self.augment:
            if torch.rand(()) < 0.5:
                image = image.flip(2)
            dy, dx = torch.randint(-1, 2, (2,)).tolist()
            image = image.roll((dy, dx), (1, 2))
        return image, self.labels[index]


def train(model, loader, criterion, optimizer):
    model.train()
    right, total = 0, 0.0
    for batch, (images, labels) in enumerate(loader):  # [step loop]
        outputs = model(images)
        loss = criterion(outputs, labels)
        optimizer.zero_grad()
        loss.backward()
        # [inner probe]
        optimizer.step()
        right += outputs.argmax(1).eq(labels).sum().item()
        total += loss.item() * len(labels)
    return total / len(loader.dataset), right / len(loader.dataset)


def evaluate(model, loader, criterion):
    model.eval()
    seen, right, total = 0, 0, 0.0
    with torch.no_grad():
        for images, labels in loader:
            outputs = model(images)
            total += criterion(outputs, labels).item() * len(labels)
            right += outputs.argmax(1).eq(labels).sum().item()
            seen += len(labels)
    return total / seen, right / seen


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--size", type=int, default=16)
    parser.add_argument("--seed", type=int, default=3)
    args = parser.parse_args()

    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    train_loader = DataLoader(Patterns(1296, 20, args.size, generator, True), args.batch_size, shuffle=True)
    test_loader = DataLoader(Patterns(288, 20, args.size, generator, False), 48)

    model = ResNet()
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=5e-4)
    milestones = [args.epochs // 2, args.epochs * 3 // 4]
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones, gamma=0.2)

    best = 0.0
    bench_mark("loop-start")
    # [loop begin]
    for epoch in range(args.epochs):  # [epoch loop]
        # [epoch begin]
        train_loss, train_accuracy = train(model, train_loader, criterion, optimizer)
        test_loss, test_accuracy = evaluate(model, test_loader, criterion)
        scheduler.step()
        best = max(best, test_accuracy)
        print(f"epoch {epoch}: train {train_loss:.6f} {train_accuracy:.4f} "
              f"test {test_loss:.6f} {test_accuracy:.4f} best {best:.4f}")
        # [outer probe]
        # [epoch end]
    # [loop end]
    bench_mark("loop-end")
    print(f"best accuracy {best:.4f}")


if __name__ == "__main__":
    main()
