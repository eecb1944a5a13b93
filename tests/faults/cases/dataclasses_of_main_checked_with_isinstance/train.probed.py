"""Records of the run as dataclasses; the loop looks at their types."""
import enum
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import nn


class Phase(enum.Enum):
    WARM = 1
    FULL = 2


class Point(NamedTuple):
    epoch: int
    loss: float


@dataclass(frozen=True)
class Good:
    point: Point
    phase: Phase


@dataclass
class Bad:
    point: Point
    reasons: list[str] = field(default_factory=list)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(26)
    x = torch.randn(256, 8)
    y = x.sign().sum(1, keepdim=True)
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    records = {}
    for epoch in range(5):
        for rows in torch.randperm(256).split(32):
            loss = nn.functional.mse_loss(model(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        previous = records.get(epoch - 1)
        point = Point(epoch, loss.item())
        if previous is None or previous.point.loss > point.loss:
            records[epoch] = Good(point, Phase.WARM if epoch < 2 else Phase.FULL)
        else:
            records[epoch] = Bad(point, [f"not below {previous.point.loss:.6f}"])
        full = sum(isinstance(r, Good) and r.phase is Phase.FULL for r in records.values())
        bad = [r for r in records.values() if isinstance(r, Bad)]
        if bad:
            bad[0].reasons.append("seen again")
        print(f"epoch {epoch}: {type(records[epoch]).__name__}, {full} good at full rate, {len(bad)} bad")
        print(f"  {records[max(0, epoch - 1)]}")
    print([r.reasons for r in records.values() if isinstance(r, Bad)],
          all(type(r.point) is Point for r in records.values()))


if __name__ == "__main__":
    main()
