"""Whole programs whose optimizers' moments a replay need not put back: it prints what plain Python prints.

Each program is recorded once; each edit of it is run by plain Python and replayed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.florc.running import florc, lay, python

pytestmark = pytest.mark.program

TWO = """\
import torch
torch.manual_seed(0)

class Trainer:
    def __init__(self):
        self.gen, self.disc = torch.nn.Linear(30, 40), torch.nn.Linear(40, 30)
        self.adam = torch.optim.Adam(self.gen.parameters(), 0.01)
        self.sgd = torch.optim.SGD(self.disc.parameters(), 0.01, momentum=0.9)

    def train(self):
        for _ in range(20):
            x = torch.randn(8, 30)
            loss = (self.disc(self.gen(x)) - x).pow(2).mean()
            self.adam.zero_grad(); self.sgd.zero_grad()
            loss.backward()
            self.adam.step(); self.sgd.step()
        return loss.item()

def sums(opt):
    return [v.double().sum().item() for s in opt.state.values() for v in s.values() if torch.is_tensor(v)]

trainer = Trainer()
for epoch in range(5):
    loss = trainer.train()
    print("epoch", epoch, loss)
print("end")
"""
EPOCH, END, STEP = (
    '    print("epoch", epoch, loss)\n',
    'print("end")\n',
    "            loss.backward()\n",
)
# name: (before, after, options, whether moments are to stay unread)
EDITS: dict[str, tuple[str, str, tuple[str, ...], bool]] = {
    "weights": (EPOCH, EPOCH + "    print(trainer.gen.weight.norm().item(), trainer.disc.bias)\n", (), True),
    "moments each epoch": (EPOCH, EPOCH + "    print(sums(trainer.adam), sums(trainer.sgd))\n", (), False),
    "moments of one epoch": (EPOCH, EPOCH + "    if epoch == 2: print(sums(trainer.adam))\n", (), False),
    "moments after the loop": (END, "print(sums(trainer.adam), sums(trainer.sgd))\n" + END, (), False),
    "moments of a copy": (
        EPOCH,
        EPOCH + "    import copy\n    print(sums(copy.deepcopy(trainer.sgd)))\n",
        (),
        False,
    ),
    "state_dict": (EPOCH, EPOCH + "    print(trainer.adam.state_dict()['state'][0])\n", (), False),
    "an alias kept by a probe": (
        EPOCH,
        EPOCH + "    if epoch == 1: m = trainer.adam.state[trainer.gen.weight]['exp_avg']\n"
        "    if epoch >= 1: print(m.sum().item())\n",
        (),
        False,
    ),
    "by __dict__": (EPOCH, EPOCH + "    print(list(vars(trainer.adam)['state'].values())[0])\n", (), False),
    "inside one epoch": (STEP, STEP + "            print('loss', loss.item())\n", ("--at", "3"), False),
}

KEPT = TWO.replace(EPOCH, EPOCH + "    FIRST\n") + "print(LAST)\n"
FIRSTS = {
    "clones of the moments": (
        "snap = [v.clone() for s in trainer.adam.state.values() for v in s.values()]",
        "[v.sum().item() for v in snap]",
    ),
    "an alias across the epochs": (
        "m = trainer.adam.state[trainer.gen.weight]['exp_avg']; print(m.sum().item())",
        "m.sum().item()",
    ),
    "a view in an attribute": (
        "trainer.seen = trainer.sgd.state[trainer.disc.weight]['momentum_buffer'][0]",
        "trainer.seen.sum().item()",
    ),
}


def _replay(folder: Path, *options: str) -> tuple[str, dict[str, Any]]:
    """What a replay prints, and its summary; it must be exact."""
    done = florc(folder, "replay", "--summary", "summary.json", *options, "train.py")
    assert done.code == 0, done.err
    return done.out, json.loads((folder / "summary.json").read_text())


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = lay(tmp_path_factory.mktemp("owed"), {"train.py": TWO})
    assert florc(folder, "record", "--overhead", "1", "train.py").code == 0
    return folder


@pytest.mark.parametrize("name", EDITS)
def test_what_nobody_reads_is_not_read_and_what_somebody_reads_is_right(recorded: Path, name: str) -> None:
    before, after, options, unread = EDITS[name]
    lay(recorded, {"train.py": TWO.replace(before, after)})
    truth = python(recorded, "train.py").out
    out, summary = _replay(recorded, *options)
    assert out == truth or (options and out and out in truth)
    counts = summary["bytes"]
    if unread:
        assert counts["owed"] > 0 and counts["paid"] == 0
    else:
        assert counts["owed"] == 0 or counts["paid"] > 0


@pytest.mark.parametrize("name", FIRSTS)
def test_what_the_program_itself_keeps_of_the_moments_is_right(tmp_path: Path, name: str) -> None:
    first, last = FIRSTS[name]
    text = KEPT.replace("FIRST", first).replace("LAST", last)
    lay(tmp_path, {"train.py": text})
    assert florc(tmp_path, "record", "--overhead", "1", "train.py").code == 0
    lay(tmp_path, {"train.py": text.replace(EPOCH, EPOCH + "    print(trainer.gen.weight.norm())\n")})
    out, summary = _replay(tmp_path)
    assert out == python(tmp_path, "train.py").out
    assert summary["blocks"]["skipped"] > 0
