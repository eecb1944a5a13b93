"""Train a stack of 1-d convolutions on spectrograms to spell what is said (CTC)."""
import argparse

import torch
import torch.nn.functional as F
from marks import bench_mark
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

BLANK = 0


class SubBlock(nn.Sequential):
    def __init__(self, inputs, outputs, kernel, stride, dropout):
        super().__init__(nn.Conv1d(inputs, outputs, kernel, stride, kernel // 2, bias=False),
                         nn.BatchNorm1d(outputs), nn.ReLU(), nn.Dropout(dropout))


class Block(nn.Module):
    """Sub-blocks with a shortcut around them."""

    def __init__(self, inputs, outputs, kernel, repeat, dropout):
        super().__init__()
        self.parts = nn.Sequential(*(SubBlock(inputs if not i else outputs, outputs, kernel, 1, dropout)
                                     for i in range(repeat)))
        self.short = nn.Sequential(nn.Conv1d(inputs, outputs, 1, bias=False), nn.BatchNorm1d(outputs))

    def forward(self, x):
        return F.relu(self.parts(x) + self.short(x))


class Speller(nn.Module):
    def __init__(self, bands, letters):
        super().__init__()
        self.body = nn.Sequential(
            SubBlock(bands, 128, 11, 2, 0.1), Block(128, 128, 11, 3, 0.1), Block(128, 160, 13, 3, 0.1),
            Block(160, 192, 15, 2, 0.2), SubBlock(192, 224, 1, 1, 0.2))
        self.out = nn.Conv1d(224, letters + 1, 1)

    def forward(self, x):
        return self.out(self.body(x)).permute(2, 0, 1).log_softmax(2)


def utterances(count, bands, frames, letters, length, generator):
    """Each letter sounds in its bands for some frames, under noise."""
    voices = torch.randn(letters + 1, bands, generator=torch.Generator().manual_seed(7))
    words = torch.randint(1, letters + 1, (count, length), generator=generator)
    sound = voices[words].repeat_interleave(frames // length, 1).transpose(1, 2)
    return TensorDataset(sound + 0.5 * torch.randn(sound.shape, generator=generator), words)


def hide_bands(x):
    """Silence one strip of bands and one of frames, as augmentation does."""
    x = x.clone()
    band, frame = torch.randint(0, x.shape[1] - 4, (1,)).item(), torch.randint(0, x.shape[2] - 8, (1,)).item()
    x[:, band:band + 4] = 0
    x[:, :, frame:frame + 8] = 0
    return x


def ctc(log_probs, words):
    sizes = torch.full((words.shape[0],), log_probs.shape[0])
    lengths = torch.full((words.shape[0],), words.shape[1])
    return F.ctc_loss(log_probs, words, sizes, lengths, blank=BLANK, zero_infinity=True)


def train(model, loader, optimizer, scheduler):
    model.train()
    total = 0.0
    for step, (sound, words) in enumerate(loader):  # [step loop]
        loss = ctc(model(hide_bands(sound)), words)
        optimizer.zero_grad()
        loss.backward()
        # [inner probe]
        optimizer.step()
        scheduler.step()
        total += loss.item()
    return total / len(loader)


def spell(log_probs):
    """Greedy decoding: the likeliest letter of each frame, repeats and blanks taken out."""
    spelled = []
    for best in log_probs.argmax(2).T.tolist():
        letters = [now for now, before in zip(best, [None, *best]) if now != before and now != BLANK]
        spelled.append(letters)
    return spelled


def evaluate(model, loader):
    model.eval()
    right, total = 0, 0.0
    with torch.no_grad():
        for sound, words in loader:
            log_probs = model(sound)
            total += ctc(log_probs, words).item()
            right += sum(said == word for said, word in zip(spell(log_probs), words.tolist()))
    return total / len(loader), right / len(loader.dataset)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--bands", type=int, default=40)
    parser.add_argument("--frames", type=int, default=120)
    parser.add_argument("--seed", type=int, default=6)
    args = parser.parse_args()

    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    train_set = utterances(288, args.bands, args.frames, 26, 12, generator)
    test_set = utterances(96, args.bands, args.frames, 26, 12, generator)
    train_loader = DataLoader(train_set, args.batch_size, shuffle=True)
    test_loader = DataLoader(test_set, 32)

    model = Speller(args.bands, 26)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.95, 0.98), weight_decay=1e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs * len(train_loader))

    best = float("inf")
    bench_mark("loop-start")
    # [loop begin]
    for epoch in range(args.epochs):  # [epoch loop]
        # [epoch begin]
        loss = train(model, train_loader, optimizer, scheduler)
        test_loss, words = evaluate(model, test_loader)
        best = min(best, test_loss)
        print(f"epoch {epoch}: loss {loss:.6f} test {test_loss:.6f} words {words:.4f} best {best:.6f}")
        # [outer probe]
        # [epoch end]
    # [loop end]
    bench_mark("loop-end")
    print(f"best test loss {best:.6f}")


if __name__ == "__main__":
    main()
