"""The loops around a call, by what their variables hold."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from florc.runtime.context import Sources, context
from florc.runtime.guards import OpenLoop

# a program whose calls of note() are to be placed, and the columns of each call
TABLE = [
    ("note()", [[]]),
    ("for epoch in range(2):\n note()", [[["epoch", 0]], [["epoch", 1]]]),
    ("for epoch in [3]:\n for step in [7]:\n  note()", [[["epoch", 3], ["step", 7]]]),
    ("for epoch in [3]:\n for step in [7]:\n  pass\n note()", [[["epoch", 3]]]),
    ("for i, (x, name) in enumerate([([], 'a')]):\n note()", [[["i", 0], ["name", "a"]]]),
    ("for i in [1]:\n def f():\n  note()\n f()", [[["i", 1]]]),
    ("def f():\n for i in [2]:\n  note()\nfor i in [1]:\n f()", [[["i", 1], ["i.2", 2]]]),
    ("def f():\n for i in [5]:\n  pass\n note()\nfor j in [1]:\n f()", [[["j", 1]]]),
    ("while True:\n for i in [1]:\n  note()\n break", [[["i", 1]]]),
    ("for x in [[]]:\n for i in [1]:\n  note()", [[["i", 1]]]),
    ("for name in ['x' * 99]:\n note()", [[]]),
    ("for a.b in [1]:\n note()", [[]]),
    ("for i in [4]:\n class C:\n  for j in [5]:\n   note()", [[["i", 4], ["j", 5]]]),
    ("def f():\n for i in [1]:\n  kept = locals()\n  note()\n  assert kept['i'] == 1\nf()", [[]]),
]


def placed(source: str, loop: OpenLoop | None = None) -> list[Any]:
    """The columns of each call of note()."""
    sources, found = Sources(), []
    sources.add("train.py", source.encode())
    names = {"note": lambda: found.append(context(sys._getframe(1), sources, loop)), "a": type("A", (), {})}
    exec(compile(source, "train.py", "exec"), names)
    return found


@pytest.mark.parametrize(("source", "wanted"), TABLE)
def test_a_call_is_placed_by_the_variables_of_the_loops_around_it(source, wanted):
    assert placed(source) == wanted


@pytest.mark.parametrize(("source", "wanted"), [
    ("while True:\n opened()\n note()\n break", [["train.py::while#0", 5]]),
    ("for x in [[]]:\n opened()\n for i in [1]:\n  note()", [["train.py::while#0", 5], ["i", 1]]),
    ("for epoch in [3]:\n opened()\n note()", [["epoch", 3]]),
])  # fmt: skip
def test_a_main_loop_without_a_plain_variable_is_told_by_id_and_iteration(source, wanted):
    sources, found = Sources(), []
    sources.add("train.py", source.encode())
    loop = OpenLoop("train.py::while#0", (), None, 0)
    loop.iteration = 5

    def opened() -> None:
        loop.frame = sys._getframe(1)

    def note() -> None:
        found.append(context(sys._getframe(1), sources, loop))

    exec(compile(source, "train.py", "exec"), {"note": note, "opened": opened})
    assert found == [wanted]


def test_a_source_that_python_cannot_parse_has_no_loops():
    sources = Sources()
    sources.add(__file__, b"for (")
    assert context(sys._getframe(), sources, None) == []
