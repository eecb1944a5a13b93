import logging

log = logging.getLogger("tabular")


class Callback:
    def on_epoch_end(self, trainer, metrics):
        """Return True to stop training."""


class History(Callback):
    def __init__(self):
        self.rows = []

    def on_epoch_end(self, trainer, metrics):
        self.rows.append(dict(metrics, epoch=trainer.epoch))

    def best(self, name):
        return min(self.rows, key=lambda row: row[name])


class Progress(Callback):
    def __init__(self, every=1):
        self.every = every

    def on_epoch_end(self, trainer, metrics):
        if trainer.epoch % self.every == 0:
            shown = "  ".join(f"{name} {value:.5f}" for name, value in metrics.items())
            log.info("epoch %2d  %s", trainer.epoch, shown)


class EarlyStopping(Callback):
    def __init__(self, monitor, patience):
        self.monitor, self.patience = monitor, patience
        self.best, self.waited = float("inf"), 0

    def on_epoch_end(self, trainer, metrics):
        if metrics[self.monitor] < self.best - 1e-4:
            self.best, self.waited = metrics[self.monitor], 0
            return False
        self.waited += 1
        if self.waited >= self.patience:
            log.info("no progress in %s for %d epochs", self.monitor, self.waited)
            return True
        return False
