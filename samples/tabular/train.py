import logging
import sys

import numpy as np
import torch

from . import data
from .callbacks import EarlyStopping, History, Progress
from .config import Config
from .model import TabularNet
from .trainer import Trainer

log = logging.getLogger("tabular")


def main(argv=None):
    config = Config.from_args(argv)
    logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(levelname)s %(message)s")
    np.random.seed(config.seed)
    torch.manual_seed(config.seed)
    torch.set_num_threads(1)

    train_loader, val_loader, features, classes = data.build(config)
    model = TabularNet(features, classes, config)
    parameters = sum(p.numel() for p in model.parameters())
    log.info("%d parameters, %d batches an epoch", parameters, len(train_loader))

    history = History()
    trainer = Trainer(model, config, [history, Progress(every=2), EarlyStopping("val_loss", config.patience)])
    steps = trainer.fit(train_loader, val_loader)

    best = history.best("val_loss")
    log.info("%d steps; best epoch %d: val loss %.5f, accuracy %.4f", steps, best["epoch"], best["val_loss"],
             best["accuracy"])


if __name__ == "__main__":
    main()
