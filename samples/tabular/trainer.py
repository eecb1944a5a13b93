import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR

from .model import EMA


class Trainer:
    """Fit a model; everything that happens besides the steps is a callback's business."""

    def __init__(self, model, config, callbacks):
        self.model, self.config, self.callbacks = model, config, callbacks
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=config.lr, weight_decay=config.weight_decay)
        warmup = LinearLR(self.optimizer, 0.1, total_iters=config.warmup_epochs)
        cosine = CosineAnnealingLR(self.optimizer, max(1, config.epochs - config.warmup_epochs))
        self.scheduler = SequentialLR(self.optimizer, [warmup, cosine], milestones=[config.warmup_epochs])
        self.ema = EMA(model, config.ema_decay)
        self.epoch = 0
        self.global_step = 0

    def training_step(self, batch):
        x, y = batch
        loss = F.cross_entropy(self.model(x), y, label_smoothing=0.05)
        self.optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.config.grad_clip)
        self.optimizer.step()
        self.ema.update(self.model)
        self.global_step += 1
        return loss.item(), norm.item()

    def train_epoch(self, loader):
        self.model.train()
        total = clipped = 0.0
        for batch in loader:
            loss, norm = self.training_step(batch)
            total += loss
            clipped += norm > self.config.grad_clip
        return total / len(loader), clipped / len(loader)

    @torch.no_grad()
    def evaluate(self, loader):
        loss, correct, seen = 0.0, 0, 0
        for x, y in loader:
            logits = self.ema.shadow(x)
            loss += F.cross_entropy(logits, y, reduction="sum").item()
            correct += (logits.argmax(1) == y).sum().item()
            seen += len(y)
        return loss / seen, correct / seen

    def fit(self, train_loader, val_loader):
        stop = False
        while not stop and self.epoch < self.config.epochs:
            train_loss, clipped = self.train_epoch(train_loader)
            val_loss, accuracy = self.evaluate(val_loader)
            metrics = {"train_loss": train_loss, "val_loss": val_loss, "accuracy": accuracy,
                       "clipped": clipped}
            self.scheduler.step()
            for callback in self.callbacks:
                stop = bool(callback.on_epoch_end(self, metrics)) or stop
            self.epoch += 1
        return self.global_step
