"""Exceptions that a program keeps: what runs again on a replay raises the same."""

from __future__ import annotations

import pytest

from tests.florc.running import florc, lay, python

pytestmark = pytest.mark.program

# opening a file goes through florc's own functions, which are others on replay
KEPT = """\
import traceback
last = None
for epoch in range(4):
    for step in range(3):
        try:
            open(f"missing-{epoch}-{step}")
        except OSError as error:
            last = error
    print("epoch", epoch, last)
"""
STEP, EPOCH = "            last = error\n", '    print("epoch", epoch, last)\n'


@pytest.mark.parametrize(
    ("place", "line"),
    [
        (STEP, "            print(step, type(last.__context__))\n"),
        (EPOCH, "    print(len(traceback.extract_tb(last.__traceback__)) > 0, last.filename)\n"),
    ],
    ids=["inside", "outside"],
)
def test_an_error_of_opening_a_file_is_the_same_again(tmp_path, place, line):
    home = lay(tmp_path, {"train.py": KEPT})
    assert florc(home, "record", "-q", "--overhead", "1", "train.py").code == 0
    (home / "train.py").write_text(KEPT.replace(place, place + line))
    truth = python(home, "train.py")
    done = florc(home, "replay", "train.py")
    assert (done.code, done.out) == (0, truth.out), done.err
