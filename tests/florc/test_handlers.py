"""Handlers that run at the program's end, registered in loops that a replay skips."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.florc.running import florc, lay, python

WORK = """\
import atexit
def work(i):
    h = i
    for _ in range(3000):
        h = (h * 31 + 7) % 1009
    return h

"""
LIBRARY = "import atexit\ndef begin(*what):\n    atexit.register(*what)\n"

# what the loop does besides, and whether a replay that skipped it has to start again
LOOPS = {
    "a library's, quiet": ("epoch or library.begin(len, 'abc')", False),
    "a library's that writes": ("epoch or library.begin(print, 'the library ends')", True),
    "the program's own": ("epoch or atexit.register(print, 'bye')", True),
    "a function of the program's": ("epoch or atexit.register(work, 3)", True),
    "the program's own, taken back": ("atexit.register(work, 3); atexit.unregister(work)", False),
}


@pytest.mark.program
@pytest.mark.parametrize(("also", "again"), LOOPS.values(), ids=LOOPS)
def test_what_it_registers_is_there_at_the_end(also: str, again: bool, tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    lay(site, {"library.py": LIBRARY})
    program = f"import sys\nsys.path.append({str(site)!r})\nimport library\n{WORK}for epoch in range(3):\n"
    program += f"    for i in range(3):\n        work(i)\n    {also}\nprint('after')\n"
    lay(tmp_path, {"train.py": program})
    florc(tmp_path, "record", "--overhead", "1", "train.py")
    lay(tmp_path, {"train.py": program + "print('probe', epoch)\n"})
    replayed = florc(tmp_path, "replay", "--summary", "s.json", "train.py")
    assert (replayed.code, replayed.out) == (0, python(tmp_path, "train.py").out), replayed.err
    assert bool(json.loads((tmp_path / "s.json").read_text())["started_again"]) is again
