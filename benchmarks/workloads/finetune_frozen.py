"""Fine-tune a transformer on sentence pairs: the body is frozen, only the classifier's head is trained."""
import argparse
import math

import torch
import torch.nn.functional as F
from marks import bench_mark
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Encoder(nn.Module):
    """Stands for a pretrained body: token and position embeddings, then transformer layers."""

    def __init__(self, vocabulary, width, layers, heads, length):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(length, width)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(width, heads, 4 * width, 0.1, batch_first=True, norm_first=True)
            for _ in range(layers))

    def forward(self, ids):
        x = self.tokens(ids) + self.positions(torch.arange(ids.shape[1]))
        for layer in self.layers:
            x = layer(x)
        return x


class PairClassifier(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.encoder = Encoder(args.vocabulary, args.width, args.layers, args.heads, args.length)
        self.norm = nn.LayerNorm(args.width)
        self.dense = nn.Linear(args.width, 320)
        self.dropout = nn.Dropout(0.1)
        self.out = nn.Linear(320, 2)

    def forward(self, ids):
        x = self.norm(self.encoder(ids)).mean(1)
        return self.out(self.dropout(torch.tanh(self.dense(x))))


def sentence_pairs(count, args, generator):
    """Two halves of one length; they belong together if the second repeats tokens of the first."""
    half = args.length // 2
    first = torch.randint(2, args.vocabulary, (count, half), generator=generator)
    second = torch.randint(2, args.vocabulary, (count, half), generator=generator)
    labels = torch.randint(0, 2, (count,), generator=generator)
    repeated = torch.where(torch.rand(count, half, generator=generator) < 0.7, first, second)
    second = torch.where(labels[:, None] == 1, repeated, second)
    return TensorDataset(torch.cat([first, second], 1), labels)


def linear_schedule(optimizer, warmup, total):
    """Warm up, then fall linearly to zero."""
    def factor(step):
        return step / max(1, warmup) if step < warmup else max(0.0, (total - step) / max(1, total - warmup))
    return torch.optim.lr_scheduler.LambdaLR(optimizer, factor)


def train(model, loader, optimizer, scheduler):
    model.train()
    total = 0.0
    for step, (ids, labels) in enumerate(loader):  # [step loop]
        optimizer.zero_grad()
        loss = F.cross_entropy(model(ids), labels)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        # [inner probe]
        optimizer.step()
        scheduler.step()
        total += loss.item()
    return total / len(loader)


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    correct = sum((model(ids).argmax(1) == labels).sum().item() for ids, labels in loader)
    return correct / len(loader.dataset)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--vocabulary", type=int, default=14000)
    parser.add_argument("--width", type=int, default=384)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--heads", type=int, default=6)
    parser.add_argument("--length", type=int, default=24)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()

    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    train_loader = DataLoader(sentence_pairs(672, args, generator), args.batch_size, shuffle=True)
    test_loader = DataLoader(sentence_pairs(144, args, generator), 32)

    model = PairClassifier(args)
    model.encoder.requires_grad_(False)
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=args.lr, weight_decay=0.01)
    steps = args.epochs * len(train_loader)
    scheduler = linear_schedule(optimizer, math.ceil(steps * 0.06), steps)

    best = 0.0
    bench_mark("loop-start")
    # [loop begin]
    for epoch in range(args.epochs):  # [epoch loop]
        # [epoch begin]
        loss = train(model, train_loader, optimizer, scheduler)
        accuracy = evaluate(model, test_loader)
        best = max(best, accuracy)
        print(f"epoch {epoch}: loss {loss:.6f} accuracy {accuracy:.4f} best {best:.4f}")
        # [outer probe]
        # [epoch end]
    # [loop end]
    bench_mark("loop-end")
    print(f"best accuracy {best:.4f}")


if __name__ == "__main__":
    main()
