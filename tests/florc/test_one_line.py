"""Added statements that share a line with recorded ones are told from them by where they stand on it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.florc.running import florc, lay, python

REFUSED = 69
PROGRAM = """\
import random
random.seed(3)
def told(value):
    print("told", value)
    return value
tot = 0
for epoch in range(4):
    for i in range(3):
        random.random()
        if i == 2: tot += 1
        if i % 2 == 0: print("step", i)
    print("epoch", epoch, tot)
    told(tot)
    tot += 1
print("all", tot, random.random())
"""
EPOCH, STEP, TOLD, ALL = 'print("epoch", epoch, tot)', 'print("step", i)', "told(tot)", "print(\"all\""
ADDED = {
    "behind one that prints": (EPOCH, EPOCH + '; print("q", tot)', ["q 1", "q 3", "q 5", "q 7"]),
    "before it": (EPOCH, 'print("q", tot); ' + EPOCH, ["q 1", "q 3", "q 5", "q 7"]),
    "behind an if on the same line": (STEP, 'print("q"); ' + STEP, ["q"] * 8),
    "behind one that calls what prints": (TOLD, TOLD + '; print("q")', ["q"] * 4),
    "one that calls what prints": (TOLD, TOLD + "; told(-1)", ["told -1"] * 4),
    "behind a step of the training": ("    tot += 1\n", '    tot += 1; print("r", random.random() < 2)\n',
                                      ["r True"] * 4),
    "on the last line": (ALL, 'print("q", "ü"); ' + ALL, ["q ü"]),
    "over several lines": (EPOCH, EPOCH + '; print("q",\n        tot)', ["q 1", "q 3", "q 5", "q 7"]),
}


@pytest.mark.program
@pytest.mark.skipif(sys.version_info < (3, 11), reason="code has no columns")
@pytest.mark.parametrize(("old", "new", "added"), ADDED.values(), ids=ADDED)
def test_added_ones_alone_are_new(old: str, new: str, added: list[str], tmp_path: Path) -> None:
    edited = PROGRAM.replace(old, new)
    assert edited != PROGRAM
    lay(tmp_path, {"train.py": PROGRAM, "plain.py": edited})
    recorded = florc(tmp_path, "record", "--overhead", "1", "train.py").out
    lay(tmp_path, {"train.py": edited})
    truth = python(tmp_path, "plain.py").out
    if "random.random() < 2" in new:  # what an added line draws is put back
        truth = truth.replace(truth.splitlines()[-1], recorded.splitlines()[-1])
    assert florc(tmp_path, "replay", "train.py").out == truth
    assert florc(tmp_path, "replay", "--new", "train.py").out.splitlines() == added


@pytest.mark.program
def test_an_edited_one_beside_one_that_prints_is_refused(tmp_path: Path) -> None:
    both = PROGRAM.replace(EPOCH, EPOCH + '; print("x", tot)')
    lay(tmp_path, {"train.py": both})
    florc(tmp_path, "record", "train.py")
    lay(tmp_path, {"train.py": both.replace('"x", tot', '"x", tot, epoch')})
    done = florc(tmp_path, "replay", "train.py")
    assert done.code == REFUSED and "train.py:12: an added or edited statement shares its line" in done.err
