"""State that a program keeps in a library's modules and classes is found, told, kept and put back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.florc.running import florc, lay, python

PROGRAM = """\
import decimal, fractions, colorsys, configparser
colorsys.seen = 0
colorsys.log = {"n": 0}
def work(i):
    colorsys.seen += i
    colorsys.log["n"] += 1
    fractions.Fraction.calls = getattr(fractions.Fraction, "calls", 0) + 1
    return i * 2
total = 0
for epoch in range(6):
    for i in range(10):
        total += work(i)
    print(epoch, total)
"""
PROBE = 'print(colorsys.seen, colorsys.log, fractions.Fraction.calls)\n'


def run(
    folder: Path, *options: str, program: str = PROGRAM, probed: str = PROGRAM + PROBE
) -> tuple[Any, Any]:
    """Record, add the probe, replay; both commands as they ended."""
    lay(folder, {"train.py": program})
    recorded = florc(folder, "record", "--overhead", "1", *options, "train.py")
    (folder / "train.py").write_text(probed)
    return recorded, florc(folder, "replay", "--summary", "s.json", "train.py")


@pytest.mark.parametrize("mode", ["auto", "full"])
def test_it_is_found_told_once_kept_and_put_back(tmp_path, mode):
    recorded, replayed = run(tmp_path, "--audit", mode)
    assert recorded.err.count("colorsys.seen") == 1
    assert "fractions.Fraction.calls" in recorded.err
    assert "train.py::for#0/for#0" in recorded.err
    assert (replayed.code, replayed.out) == (0, python(tmp_path, "train.py").out)
    summary = json.loads((tmp_path / "s.json").read_text())
    # what was executed is the first, in which it was found
    assert summary["blocks"] == {"skipped": 5, "executed": 1, "left_early": 0}


def test_a_change_found_late_makes_the_earlier_checkpoints_useless(tmp_path):
    late = PROGRAM.replace("    colorsys.seen += i\n", "    colorsys.seen += i * (epoch >= 3)\n")
    late = late.replace('    colorsys.log["n"] += 1\n', "").replace(
        '    fractions.Fraction.calls = getattr(fractions.Fraction, "calls", 0) + 1\n', ""
    )
    _, replayed = run(tmp_path, "--audit", "full", program=late, probed=late + "print(colorsys.seen)\n")
    assert (replayed.code, replayed.out) == (0, python(tmp_path, "train.py").out)
    blocks = json.loads((tmp_path / "s.json").read_text())["blocks"]
    assert blocks == {"skipped": 2, "executed": 4, "left_early": 0}


def test_without_the_audit_it_is_not_seen(tmp_path):
    _, replayed = run(tmp_path, "--audit", "off")
    assert replayed.out != python(tmp_path, "train.py").out  # what the audit is there for


def test_an_ordinary_program_is_told_nothing(tmp_path):
    pytest.importorskip("torch")
    program = (
        "import torch, json, logging, random, numpy as np\nfrom torch import nn\n"
        "from torch.utils.data import DataLoader, TensorDataset\n"
        "logging.basicConfig(level=logging.INFO)\n"
        "loader = DataLoader(TensorDataset(torch.randn(32, 4), torch.randn(32, 1)), 8, shuffle=True)\n"
        "net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))\n"
        "for epoch in range(3):\n    opt = torch.optim.AdamW(net.parameters())\n"
        "    sched = torch.optim.lr_scheduler.StepLR(opt, 1)\n"
        "    for x, y in loader:\n        opt.zero_grad()\n        loss = (net(x) - y).pow(2).mean()\n"
        "        loss.backward()\n        nn.utils.clip_grad_norm_(net.parameters(), 1.0)\n"
        "        opt.step()\n    sched.step()\n    torch.save(net.state_dict(), 'm.pt')\n"
        "    net.load_state_dict(torch.load('m.pt'))\n    logging.info('epoch %d', epoch)\n"
        "    print(json.dumps({'loss': float(loss)}))\n"
    )
    lay(tmp_path, {"train.py": program})
    done = florc(tmp_path, "record", "--audit", "full", "train.py")
    assert done.code == 0
    assert "florc:" not in done.err


def test_a_class_that_no_name_leads_to_costs_the_checkpoints_and_no_value(tmp_path):
    hidden = (
        "import colorsys\ncolorsys.made = type('Made', (), {'__module__': 'colorsys', 'count': 0})()\n"
        "def work(i):\n    type(colorsys.made).count += 1\n    return i\n"
        "for epoch in range(4):\n    for i in range(5):\n        x = work(i)\n    print(epoch)\n"
    )
    recorded, replayed = run(
        tmp_path, program=hidden, probed=hidden + "print(type(colorsys.made).count)\n"
    )
    assert recorded.err.count("colorsys.Made.count changed") == 1
    assert "it cannot be kept" in recorded.err
    assert (replayed.code, replayed.out) == (0, "0\n1\n2\n3\n20\n")
