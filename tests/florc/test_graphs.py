"""Tensors that something is later backpropagated into: checkpoints with such ones are not used."""

from __future__ import annotations

import json

import pytest

from tests.florc.running import florc, lay, python

pytestmark = pytest.mark.program

GATHERED = """\
import torch
torch.manual_seed(0)
model = torch.nn.Linear(6, 6)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
losses = []
for step in range(24):
    losses.append(model(torch.randn(3, 6)).pow(2).mean())
    if step % 4 == 3:
        optimizer.zero_grad()
        sum(losses).backward()
        optimizer.step()
        losses.clear()
    if step == 17:
        print("step", step)
print("end")
"""


def test_a_replay_begins_where_nothing_waits_to_be_differentiated(tmp_path):
    """Of four steps' losses one gradient comes: only each fourth state has none of them in it."""
    home = lay(tmp_path, {"train.py": GATHERED})
    assert florc(home, "record", "-q", "--overhead", "1", "train.py").code == 0
    probe = '        print("step", step)\n'
    edited = GATHERED.replace(probe, probe + "        print(model.weight.norm().item(), len(losses))\n")
    (home / "train.py").write_text(edited)
    truth = python(home, "train.py")
    done = florc(home, "replay", "--summary", "summary.json", "train.py")
    assert (done.code, done.out) == (0, truth.out), done.err
    summary = json.loads((home / "summary.json").read_text())
    assert summary["started_again"] == ""
    assert summary["main_loops"][0]["executed"] == [16, 17]
