"""Pretrain a masked language model: tied embeddings, warm-up, fresh masks in every batch."""
import argparse
import math

import torch
import torch.nn.functional as F
from marks import bench_mark
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

MASK = 1


class MaskedLM(nn.Module):
    def __init__(self, vocabulary, width, layers, heads, length):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(length, width)
        self.norm = nn.LayerNorm(width)
        self.dropout = nn.Dropout(0.1)
        layer = nn.TransformerEncoderLayer(width, heads, 4 * width, 0.1, F.gelu, batch_first=True)
        self.body = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.dense = nn.Linear(width, width)
        self.head = nn.Linear(width, vocabulary)
        self.head.weight = self.tokens.weight
        nn.init.normal_(self.tokens.weight, std=0.02)

    def forward(self, ids, at):
        x = self.tokens(ids) + self.positions.weight[:ids.shape[1]]
        x = self.body(self.dropout(self.norm(x)))
        return self.head(F.gelu(self.dense(x[at])))


def text(count, vocabulary, length, generator):
    """Token chains: each is likely to be followed by its successor."""
    starts = torch.randint(2, vocabulary, (count, 1), generator=generator)
    jumps = torch.rand(count, length, generator=generator) < 0.2
    far = torch.randint(0, 50, (count, length), generator=generator)
    steps = torch.where(jumps, far, torch.ones_like(far))
    return 2 + (starts + steps.cumsum(1)) % (vocabulary - 2)


def mask(ids, vocabulary, share=0.15):
    """Return ids with a share of them hidden, where they are, and what they were."""
    at = torch.rand(ids.shape) < share
    at[:, 0] = True
    kind = torch.rand(ids.shape)
    other = torch.where(kind < 0.9, torch.randint_like(ids, 2, vocabulary), ids)
    hidden = torch.where(kind < 0.8, MASK, other)
    return torch.where(at, hidden, ids), at, ids[at]


def train(model, loader, optimizer, scheduler, args):
    model.train()
    total = 0.0
    for step, (ids,) in enumerate(loader):  # [step loop]
        hidden, at, wanted = mask(ids, args.vocabulary)
        loss = F.cross_entropy(model(hidden, at), wanted)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        # [inner probe]
        optimizer.step()
        scheduler.step()
        total += loss.item()
    return total / len(loader)


@torch.no_grad()
def evaluate(model, loader):
    """Perplexity with every seventh token hidden."""
    model.eval()
    total = 0.0
    for (ids,) in loader:
        at = torch.zeros_like(ids, dtype=torch.bool)
        at[:, ::7] = True
        total += F.cross_entropy(model(ids.masked_fill(at, MASK), at), ids[at]).item()
    return math.exp(min(total / len(loader), 20.0))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--lr", type=float, default=3e-4)
    parser.add_argument("--vocabulary", type=int, default=8000)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--length", type=int, default=32)
    parser.add_argument("--seed", type=int, default=5)
    args = parser.parse_args()

    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    train_set = TensorDataset(text(336, args.vocabulary, args.length, generator))
    test_set = TensorDataset(text(72, args.vocabulary, args.length, generator))
    train_loader = DataLoader(train_set, args.batch_size, shuffle=True, drop_last=True)
    test_loader = DataLoader(test_set, args.batch_size)

    model = MaskedLM(args.vocabulary, args.width, args.layers, 4, args.length)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.98), weight_decay=0.01)
    steps = args.epochs * len(train_loader)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, args.lr, total_steps=steps + 1, pct_start=0.1)

    best = float("inf")
    bench_mark("loop-start")
    # [loop begin]
    for epoch in range(args.epochs):  # [epoch loop]
        # [epoch begin]
        loss = train(model, train_loader, optimizer, scheduler, args)
        perplexity = evaluate(model, test_loader)
        best = min(best, perplexity)
        print(f"epoch {epoch}: loss {loss:.6f} perplexity {perplexity:.4f} best {best:.4f}")
        # [outer probe]
        # [epoch end]
    # [loop end]
    bench_mark("loop-end")
    print(f"best perplexity {best:.4f}")


if __name__ == "__main__":
    main()
