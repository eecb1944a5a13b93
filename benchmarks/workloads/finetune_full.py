"""Fine-tune every layer of a small transformer to judge whether a sentence is well formed."""
import argparse

import torch
import torch.nn.functional as F
from marks import bench_mark
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Judge(nn.Module):
    def __init__(self, vocabulary, width, layers, heads, length):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width, padding_idx=0)
        self.positions = nn.Parameter(torch.randn(length, width) * 0.02)
        layer = nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=0.1, batch_first=True,
                                           activation="gelu")
        self.body = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.pooler = nn.Linear(width, width)
        self.dropout = nn.Dropout(0.1)
        self.out = nn.Linear(width, 2)

    def forward(self, ids):
        x = self.body(self.tokens(ids) + self.positions[:ids.shape[1]], src_key_padding_mask=ids == 0)
        return self.out(self.dropout(torch.tanh(self.pooler(x[:, 0]))))


def sentences(count, vocabulary, length, generator):
    """Well formed: tokens of even and of odd number take turns; else some are swapped."""
    half = vocabulary // 2
    ids = 2 * torch.randint(1, half, (count, length), generator=generator)
    ids[:, 1::2] += 1
    labels = torch.randint(0, 2, (count,), generator=generator)
    swapped = torch.where(torch.rand(count, length, generator=generator) < 0.3, ids ^ 1, ids)
    ids = torch.where(labels[:, None] == 1, ids, swapped)
    ends = torch.randint(length // 2, length + 1, (count,), generator=generator)
    ids[torch.arange(length) >= ends[:, None]] = 0
    return TensorDataset(ids, labels)


def train(model, loader, optimizer):
    model.train()
    total = 0.0
    for step, (ids, labels) in enumerate(loader):  # [step loop]
        loss = F.cross_entropy(model(ids), labels)
        optimizer.zero_grad()
        loss.backward()
        # [inner probe]
        optimizer.step()
        total += loss.item()
    return total / len(loader)


def evaluate(model, loader):
    """Return accuracy and Matthews' correlation."""
    model.eval()
    counts = torch.zeros(2, 2)
    with torch.no_grad():
        for ids, labels in loader:
            for said, true in zip(model(ids).argmax(1), labels):
                counts[said, true] += 1
    (tn, fn), (fp, tp) = counts.tolist()
    bottom = ((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)) ** 0.5
    return (tp + tn) / counts.sum().item(), (tp * tn - fp * fn) / bottom if bottom else 0.0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--lr", type=float, default=4e-4)
    parser.add_argument("--vocabulary", type=int, default=4000)
    parser.add_argument("--width", type=int, default=192)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--length", type=int, default=20)
    parser.add_argument("--seed", type=int, default=2)
    args = parser.parse_args()

    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    train_set = sentences(1056, args.vocabulary, args.length, generator)
    test_set = sentences(288, args.vocabulary, args.length, generator)
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True)
    test_loader = DataLoader(test_set, batch_size=48)

    model = Judge(args.vocabulary, args.width, args.layers, 4, args.length)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs)

    best, history = 0.0, []
    bench_mark("loop-start")
    # [loop begin]
    for epoch in range(args.epochs):  # [epoch loop]
        # [epoch begin]
        loss = train(model, train_loader, optimizer)
        accuracy, matthews = evaluate(model, test_loader)
        scheduler.step()
        best = max(best, matthews)
        history.append(loss)
        print(f"epoch {epoch}: loss {loss:.6f} accuracy {accuracy:.4f} "
              f"matthews {matthews:.4f} best {best:.4f}")
        # [outer probe]
        # [epoch end]
    # [loop end]
    bench_mark("loop-end")
    print(f"best {best:.4f}, lowest loss {min(history):.6f}")


if __name__ == "__main__":
    main()
