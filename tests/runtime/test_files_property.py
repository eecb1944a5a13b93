"""Any sequence of file operations, any part of it skipped: the replay tells the same, or reports."""
from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.runtime.files_bench import Bench

# few names, so that operations meet; x and d are there before the run
NAMES = ["x", "y", "d", "d/x", "d/y", "e", "e/x", "f/x", "x/y"]
OPERATIONS = ["write", "append", "update", "exclusive", "read", "exists", "size", "list", "mkdir", "makedirs",
              "remove", "rmdir", "rename", "isdir", "walk"]

steps = st.lists(st.tuples(st.sampled_from(OPERATIONS), st.sampled_from(NAMES), st.sampled_from(NAMES)),
                 min_size=1, max_size=14)


def write(name: str, mode: str, text: str) -> int:
    with open(name, mode) as file:
        file.write(text)
        return file.tell()


def read(name: str) -> str:
    with open(name) as file:
        return file.read()


def do(number: int, operation: str, name: str, other: str) -> Any:
    """Do one operation; what a program could see of it."""
    modes = {"write": "w", "append": "a", "update": "r+", "exclusive": "x"}
    try:
        if operation in modes:
            return write(name, modes[operation], f"{number}{operation};")
        return {"read": read, "exists": os.path.exists, "size": os.path.getsize, "isdir": os.path.isdir,
                "list": lambda path: sorted(os.listdir(path)), "mkdir": os.mkdir, "remove": os.remove,
                "makedirs": lambda path: os.makedirs(path, exist_ok=True), "rmdir": os.rmdir,
                "rename": lambda path: os.rename(path, other),
                "walk": lambda _: sorted((top, sorted(folders), sorted(files))
                                         for top, folders, files in os.walk("."))}[operation](name)
    except OSError as failure:
        return type(failure).__name__


def prepared(root: Path) -> Bench:
    bench = Bench(root)
    (bench.home / "x").write_text("old x")
    (bench.home / "d").mkdir()
    (bench.home / "d" / "y").write_text("old d/y")
    return bench


@settings(max_examples=60, deadline=None, database=None)
@given(steps)
def test_a_complete_replay_tells_what_the_record_told(plan):
    def program(bench):
        for number, step in enumerate(plan):
            bench.tell(do(number, *step))

    with tempfile.TemporaryDirectory() as folder:
        bench = prepared(Path(folder))
        told = list(bench.record(program))
        assert bench.replay(program) == told
        assert bench.reports == []


@settings(max_examples=60, deadline=None, database=None)
@given(steps, st.integers(0, 13), st.integers(1, 5))
@example([("mkdir", "y", "x"), ("rename", "d", "y")], 0, 1)  # y is empty then, though not on the disk by now
def test_a_replay_that_skips_tells_the_same_or_reports(plan, start, length):
    skipped = range(start, start + length)

    def program(bench):
        for number, step in enumerate(plan):
            if number in skipped and not bench.enter(str(number)):
                continue
            bench.tell((number, do(number, *step)))
            bench.leave(str(number))

    with tempfile.TemporaryDirectory() as folder:
        bench = prepared(Path(folder))
        told = [value for value in bench.record(program) if value[0] not in skipped]
        again = bench.replay(program, *(str(number) for number in skipped if number < len(plan)))
        if not bench.reports:
            assert again == told
