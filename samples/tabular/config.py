import argparse
import dataclasses
from dataclasses import dataclass


@dataclass
class Config:
    epochs: int = 60
    batch_size: int = 8
    hidden: int = 96
    depth: int = 3
    dropout: float = 0.2
    lr: float = 2e-3
    weight_decay: float = 1e-2
    warmup_epochs: int = 3
    ema_decay: float = 0.98
    grad_clip: float = 1.0
    patience: int = 12
    seed: int = 7

    @classmethod
    def from_args(cls, argv=None):
        parser = argparse.ArgumentParser(prog="tabular.train")
        for field in dataclasses.fields(cls):
            name = "--" + field.name.replace("_", "-")
            parser.add_argument(name, type=type(field.default), default=field.default)
        return cls(**vars(parser.parse_args(argv)))
