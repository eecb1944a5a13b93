"""A disk that cannot keep up: checkpoints are left out, nobody waits, and what was kept is right."""

from __future__ import annotations

from florc.runtime import journal, key
from florc.runtime.figures import Figures
from florc.runtime.runs import load

from .bench import Bench

PROGRAM = """\
import numpy as np

rng = np.random.default_rng(0)
weights = rng.normal(size=(300, 300))
for epoch in range(40):
    for step in range(20):
        weights = np.tanh(weights @ rng.normal(size=(300, 300)) / 17)
    print(epoch, repr(float(weights.sum())))
"""
LATE = 0.5  # seconds that the bytes of a checkpoint take to the disk: as long as several epochs


def test_a_slow_disk_costs_checkpoints_and_no_wrong_line(tmp_path, monkeypatch):
    bench = Bench(tmp_path).lay()
    script = bench.home / "train.py"
    script.write_text(PROGRAM)
    done = bench.record(options=("--overhead", "0.9"), world={"late": LATE})
    assert (done.code, done.err) == (0, "")
    monkeypatch.setenv(key.VARIABLE, str(tmp_path / "key"))
    run = load(bench.store, bench.run.name)
    read = journal.read(bench.run, run.seal)
    (figures,) = (Figures.of(event[4]) for event in read.events if event[0] == "E")
    behind = sum(loop.behind for loop in figures.loops.values())
    assert behind > 0 and figures.checkpoints > 0, figures
    later = [event for event in read.events if event[0] == "C"]
    assert later and all(read.events[event[1]][0] in ("I", "X") for event in later)
    script.write_text(PROGRAM + "    print(float(weights.min()))\n")
    truth = bench.do("train.py")
    replay = bench.do("-m", "florc", "replay", "-q", "train.py")
    assert (replay.code, replay.out) == (0, truth.out), replay.err
