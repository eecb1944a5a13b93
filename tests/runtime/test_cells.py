"""The free variables that the recorded code of a live function had."""

from __future__ import annotations

from typing import Any

from florc.runtime.cells import RecordedCells

OLD = b"""\
def outer(a, b):
    def inner():
        return a
    pair = (lambda: a, lambda: b)
    return inner, pair
"""
NEW = b"""\
def outer(a, b):
    x = 1
    def inner():
        print(b, x)
        return a
    pair = (lambda: a, lambda: b)
    def probe(): return b
    return inner, pair, probe
"""
LINES = {1: 1, 3: 2, 5: 3, 6: 4, 8: 5}  # of the edited source -> of the recorded one


def functions() -> Any:
    names: dict[str, Any] = {}
    exec(compile(NEW, "/p/train.py", "exec"), names)
    return names["outer"](1, 2)


def cells() -> RecordedCells:
    return RecordedCells({"train.py": OLD}, {"/p/train.py": "train.py"}, lambda _,
                         line: LINES.get(line, -line))


def test_a_variable_that_a_probe_takes_is_not_among_them() -> None:
    inner, _, _ = functions()
    assert inner.__code__.co_freevars == ("a", "b", "x")
    assert cells()(inner.__code__) == frozenset("a")


def test_two_lambdas_on_one_line_have_those_of_both() -> None:
    _, pair, _ = functions()
    assert [cells()(one.__code__) for one in pair] == [frozenset("ab")] * 2


def test_nothing_is_known_of_functions_that_the_record_did_not_have() -> None:
    _, _, probe = functions()
    assert cells()(probe.__code__) is None
    assert cells()(cells.__code__) is None
