"""Train a small convolutional net on scikit-learn's handwritten digits."""
import argparse

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.conv1 = nn.Conv2d(1, width, 3, padding=1)
        self.conv2 = nn.Conv2d(width, 2 * width, 3, padding=1)
        self.norm = nn.BatchNorm2d(2 * width)
        self.dropout = nn.Dropout(0.3)
        self.fc1 = nn.Linear(2 * width * 4, 128)
        self.fc2 = nn.Linear(128, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.norm(self.conv2(x))), 2)
        x = F.relu(self.fc1(x.flatten(1)))
        return self.fc2(self.dropout(x))


def load(batch_size):
    images, labels = load_digits(return_X_y=True)
    x = torch.tensor(images, dtype=torch.float32).view(-1, 1, 8, 8) / 16
    y = torch.tensor(labels)
    x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=0.2, random_state=0, stratify=y)
    train_loader = DataLoader(TensorDataset(x_train, y_train), batch_size=batch_size, shuffle=True)
    test_loader = DataLoader(TensorDataset(x_test, y_test), batch_size=256)
    return train_loader, test_loader


def shift(x):
    """Move every image of the batch by up to one pixel; what leaves on one side is padded with nothing."""
    dy, dx = torch.randint(0, 3, (2,)).tolist()
    return F.pad(x, (1, 1, 1, 1))[:, :, dy:dy + 8, dx:dx + 8]


def train(args, model, loader, optimizer, epoch):
    model.train()
    for batch, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(shift(x)), y)
        loss.backward()
        optimizer.step()
        if batch % args.log_interval == 0:
            done = batch * args.batch_size
            print(f"Train Epoch: {epoch} [{done:4d}/{len(loader.dataset)}]\tLoss: {loss.item():.6f}")


def test(model, loader):
    model.eval()
    loss, correct = 0.0, 0
    with torch.no_grad():
        for x, y in loader:
            output = model(x)
            loss += F.cross_entropy(output, y, reduction="sum").item()
            correct += (output.argmax(1) == y).sum().item()
    loss /= len(loader.dataset)
    print(f"Test set: Average loss: {loss:.4f}, Accuracy: {correct}/{len(loader.dataset)}")
    return correct / len(loader.dataset)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--gamma", type=float, default=0.7, help="factor on the learning rate")
    parser.add_argument("--step-size", type=int, default=4, help="... every so many epochs")
    parser.add_argument("--log-interval", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    train_loader, test_loader = load(args.batch_size)

    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = StepLR(optimizer, step_size=args.step_size, gamma=args.gamma)

    best = 0.0
    for epoch in range(1, args.epochs + 1):
        train(args, model, train_loader, optimizer, epoch)
        accuracy = test(model, test_loader)
        best = max(best, accuracy)
        scheduler.step()
    print(f"Best accuracy {best:.4f}")


if __name__ == "__main__":
    main()
