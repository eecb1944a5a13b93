"""The end event tells what a recording kept, and what came of each place where it might have kept more."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from florc.runtime import journal, runs
from florc.runtime.figures import Chances, Figures
from florc.runtime.recording import Recorder, RecordLoop
from florc.runtime.script import parse
from florc.runtime.store import BlobReader, BlobWriter
from tests.florc.running import florc, lay
from tests.runtime.sealed import SEAL

PROGRAM = """\
import threading

kept, rows = [], []


def keep(value):
    kept.append(value)


for epoch in range(4):
    rows.append({new})
    for step in range(3):
        keep(step)
print(len(kept))
"""
MAIN, BLOCK = "train.py::for#0", "train.py::for#0/for#0"


def recorded(folder: Path, program: str, *words: str) -> Figures:
    lay(folder, {"train.py": program})
    assert florc(folder, "record", "--name", "one", *words, "train.py").code == 0
    run = runs.load(folder / ".florc", "one")
    script = parse(journal.read(run.folder, run.seal).events)
    assert script.figures is not None
    taken = {one.block: 0 for one in script.at.values()}
    for one in script.at.values():
        taken[one.block] += len(one.checkpoints)
    assert {block: chances.taken for block, chances in script.figures.loops.items()} == taken
    return script.figures


def test_what_was_taken_and_what_the_policy_refused(tmp_path):
    program = PROGRAM.format(new="epoch")
    found = recorded(tmp_path / "all", program, "--overhead", "1")
    assert found.loops == {MAIN: Chances(taken=4), BLOCK: Chances(taken=4)}
    assert found.logical >= found.written > 0 and found.spent > 0
    assert found.stalls.keys() == {MAIN, BLOCK} and all(min(two) > 0 for two in found.stalls.values())
    found = recorded(tmp_path / "none", program, "--overhead", "0")
    assert found.loops == {MAIN: Chances(refused=4), BLOCK: Chances(refused=4)}
    assert (found.logical, found.checkpoints) == (0, 0)


def test_what_could_not_be_seen_whole(tmp_path):
    found = recorded(tmp_path, PROGRAM.format(new="threading.Lock()"), "--overhead", "1")
    assert found.loops[MAIN] == Chances(blind=4)


def test_written_bytes_are_those_of_the_payloads(tmp_path):
    found = recorded(tmp_path, PROGRAM.format(new="epoch"), "--overhead", "1")
    reader = BlobReader(runs.load(tmp_path / ".florc", "one").folder, None)
    assert 0 < found.written == sum(reader.size(key) for key in reader.keys())  # noqa: SIM118 (no mapping)
    reader.close()


def test_a_checkpoint_that_would_have_to_wait_for_the_disk_is_counted(tmp_path, monkeypatch):
    recorder = Recorder(tmp_path, SEAL, 0.5, pytest.fail)
    loop = RecordLoop(recorder, MAIN, (), sys._getframe(), 0)
    loop.base = object()  # type: ignore[assignment] # nobody looks at it
    monkeypatch.setattr(BlobWriter, "has_room", False)
    assert recorder._take(loop, MAIN, {}) is None
    assert recorder.figures().loops == {MAIN: Chances(behind=1)}


def test_figures_are_plain_values_and_come_back():
    figures = Figures(10, 7, 0.25, {MAIN: Chances(1, 2, 3, 4)}, {MAIN: (0.5, 0.125)})
    packed = figures.packed()
    assert packed["loops"] == {MAIN: {"taken": 1, "refused": 2, "behind": 3, "blind": 4}}
    assert Figures.of({**packed, "of tomorrow": 1}) == figures
    del packed["stalls"]  # as earlier versions wrote them
    assert Figures.of(packed).stalls == {}
