"""Train a recurrent translator with attention; teacher forcing by chance, gradient clipping."""
import argparse
import random

import torch
import torch.nn.functional as F
from marks import bench_mark
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

START = 1


class Encoder(nn.Module):
    def __init__(self, words, width):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.dropout = nn.Dropout(0.1)
        self.rnn = nn.GRU(width, width, batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(2 * width, width)

    def forward(self, ids):
        outputs, hidden = self.rnn(self.dropout(self.embedding(ids)))
        return outputs, torch.tanh(self.bridge(torch.cat([hidden[0], hidden[1]], 1)))


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(2 * width, width)
        self.score = nn.Linear(width, 1)

    def forward(self, hidden, outputs, keys):
        weights = self.score(torch.tanh(self.query(hidden)[:, None] + keys)).squeeze(2).softmax(1)
        return torch.bmm(weights[:, None], outputs).squeeze(1)


class Decoder(nn.Module):
    def __init__(self, words, width):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.attention = Attention(width)
        self.cell = nn.GRUCell(3 * width, width)
        self.dropout = nn.Dropout(0.1)
        self.out = nn.Linear(width, words)

    def forward(self, token, hidden, outputs, keys):
        context = self.attention(hidden, outputs, keys)
        hidden = self.cell(torch.cat([self.dropout(self.embedding(token)), context], 1), hidden)
        return self.out(hidden), hidden


class Translator(nn.Module):
    def __init__(self, words, width):
        super().__init__()
        self.encoder = Encoder(words, width)
        self.decoder = Decoder(words, width)

    def forward(self, source, target, forcing):
        outputs, hidden = self.encoder(source)
        keys = self.decoder.attention.key(outputs)
        token = torch.full((len(source),), START)
        logits = []
        for position in range(target.shape[1]):
            scores, hidden = self.decoder(token, hidden, outputs, keys)
            logits.append(scores)
            token = target[:, position] if random.random() < forcing else scores.argmax(1)
        return torch.stack(logits, 1)


def phrases(count, words, length, generator):
    """The other language: word by word by a fixed dictionary, in reverse order."""
    dictionary = torch.randperm(words - 2, generator=torch.Generator().manual_seed(8)) + 2
    source = 2 + torch.randint(0, words - 2, (count, length), generator=generator) % 400
    return TensorDataset(source, dictionary[source - 2].flip(1))


def train(model, loader, optimizer, forcing):
    model.train()
    total = 0.0
    for step, (source, target) in enumerate(loader):  # [step loop]
        logits = model(source, target, forcing)
        loss = F.cross_entropy(logits.flatten(0, 1), target.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        # [inner probe]
        optimizer.step()
        total += loss.item()
    return total / len(loader)


def evaluate(model, loader):
    model.eval()
    total, right, count = 0.0, 0, 0
    with torch.no_grad():
        for source, target in loader:
            logits = model(source, target, 0.0)
            total += F.cross_entropy(logits.flatten(0, 1), target.flatten()).item()
            right += (logits.argmax(2) == target).sum().item()
            count += target.numel()
    return total / len(loader), right / count


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--words", type=int, default=4000)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--length", type=int, default=10)
    parser.add_argument("--seed", type=int, default=8)
    args = parser.parse_args()

    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    random.seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    train_loader = DataLoader(phrases(624, args.words, args.length, generator), args.batch_size, shuffle=True)
    test_loader = DataLoader(phrases(192, args.words, args.length, generator), 32)

    model = Translator(args.words, args.width)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=0, threshold=0.05)

    best, forcing = float("inf"), 1.0
    bench_mark("loop-start")
    # [loop begin]
    for epoch in range(args.epochs):  # [epoch loop]
        # [epoch begin]
        loss = train(model, train_loader, optimizer, forcing)
        test_loss, accuracy = evaluate(model, test_loader)
        scheduler.step(test_loss)
        best = min(best, test_loss)
        forcing *= 0.95
        print(f"epoch {epoch}: loss {loss:.6f} test {test_loss:.6f} words {accuracy:.4f} best {best:.6f}")
        # [outer probe]
        # [epoch end]
    # [loop end]
    bench_mark("loop-end")
    print(f"best test loss {best:.6f}")


if __name__ == "__main__":
    main()
