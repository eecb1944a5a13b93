"""Clock readings of the main thread go through the session, with who took them."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from florc.runtime.clocks import NAMES, Clocks, reader

Readings = list[tuple[str, Any, str]]


@pytest.fixture
def seen() -> Iterator[Readings]:
    """Stand-ins that answer -1, and what they were asked for: clock, real value, by which file."""
    noted: Readings = []

    def read(name: str, value: Any, frame: Any) -> Any:
        if frame.f_code.co_filename != "/p/train.py":
            return value
        noted.append((name, value, reader(frame, {"/p/train.py": "train.py"})))
        return -1

    clocks = Clocks(read)
    clocks.install()
    try:
        yield noted
    finally:
        clocks.remove()


def run(expression: str, path: str = "/p/train.py", module: str = "__main__") -> Any:
    """Evaluate as a line of some file."""
    return eval(compile(expression, path, "eval"), {"time": time, "__name__": module, "who": who})


def who(files: dict[str, str]) -> str:
    """Who calls, as a reader of the clock."""
    return reader(sys._getframe(1), files)


@pytest.mark.parametrize("name", NAMES)
def test_a_reading_goes_through_the_session(seen, name):
    assert run(f"time.{name}()") == -1
    ((noted, value, file),) = seen
    assert (noted, file) == (name, "train.py")
    assert isinstance(value, int if name.endswith("_ns") else float)


@pytest.mark.parametrize(
    ("path", "module", "wanted"),
    [
        ("/p/train.py", "__main__", "train.py"),
        ("/lib/tqdm/std.py", "tqdm.std", "tqdm.std"),
        ("/lib/florc/policy.py", "florc.runtime.policy", ""),
    ],
)
def test_a_reader_is_named_by_its_file_or_its_module(path, module, wanted):
    assert run("who({'/p/train.py': 'train.py'})", path, module) == wanted


def test_a_module_whose_name_merely_begins_alike_is_not_florc():
    assert run("who({})", "/lib/florc_plus.py", "florc_plus") == "florc_plus"


def test_a_reading_by_another_thread_is_real(seen):
    got: list[Any] = []
    thread = threading.Thread(target=lambda: got.append(run("time.time()")))
    thread.start()
    thread.join()
    assert got[0] > 0
    assert not seen


def test_a_reading_in_a_comprehension_or_a_lambda_counts(seen):
    assert run("[time.time() for _ in 'ab']") == [-1, -1]
    assert run("(lambda: time.time())()") == -1


def test_a_stand_in_passes_for_the_real_function(seen):
    assert (time.time.__name__, time.time.__module__) == ("time", "time")
    assert time.time.__doc__ is not None
    with pytest.raises(TypeError):
        time.time(1)  # type: ignore[call-arg]


def test_nothing_is_left_behind():
    before = {name: getattr(time, name) for name in NAMES}
    clocks = Clocks(lambda name, value, frame: value)
    clocks.install()
    assert all(getattr(time, name) is not real for name, real in before.items())
    clocks.remove()
    assert {name: getattr(time, name) for name in NAMES} == before
