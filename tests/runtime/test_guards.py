"""Guards and the stack of open loops: names of frames, exceptions, the inert guard."""

from __future__ import annotations

import gc
import sys
import weakref
from typing import Any

import pytest

from florc.runtime import loop, marks, probe
from florc.runtime.guards import INERT, OpenLoop, Stack, _keeps_locals, frame_names


def opened(stack: Stack, block: str) -> list[str]:
    """Enter a loop of the calling frame as instrumented text does; the blocks that were taken off."""
    frame = sys._getframe(1)
    gone = [one.block for one in stack.prune(frame, block)]
    stack.loops.append(OpenLoop(block, (), frame, len(stack.loops)))
    return gone


def blocks(stack: Stack) -> list[str]:
    return [one.block for one in stack.loops]


# -- the stack ------------------------------------------------------------------------------------
def test_a_loop_of_a_called_function_stands_above_its_callers():
    stack = Stack()

    def inner() -> None:
        assert opened(stack, "inner/for#0") == []
        stack.loops.pop()

    assert opened(stack, "main/for#0") == []
    inner()
    assert blocks(stack) == ["main/for#0"]


def test_a_loop_inside_another_of_the_same_frame_stands_above_it():
    stack = Stack()
    opened(stack, "main/for#0")
    assert opened(stack, "main/for#0/for#0") == []
    assert blocks(stack) == ["main/for#0", "main/for#0/for#0"]


@pytest.mark.parametrize(
    "following",
    [
        pytest.param("main/for#1", id="the next loop"),
        pytest.param("main/for#0", id="the same one again"),
        pytest.param("main/for#01/for#0", id="one whose id merely begins alike"),
        pytest.param("main/while#0", id="one of the other kind"),
    ],
)
def test_a_loop_left_by_an_exception_is_gone_when_its_frame_enters_another(following):
    stack = Stack()
    opened(stack, "main/for#0")
    assert opened(stack, following) == ["main/for#0"]
    assert blocks(stack) == [following]


def test_loops_of_frames_that_an_exception_has_left_are_gone_innermost_first():
    stack = Stack()

    def fails(depth: int) -> None:
        opened(stack, f"f{depth}/for#0")
        if depth:
            fails(depth - 1)
        raise ValueError

    opened(stack, "main/for#0")
    with pytest.raises(ValueError):
        fails(2)
    assert opened(stack, "main/for#0/for#0") == ["f0/for#0", "f1/for#0", "f2/for#0"]
    assert blocks(stack) == ["main/for#0", "main/for#0/for#0"]


def test_a_recursion_is_no_exception():
    stack, seen = Stack(), []

    def dig(depth: int) -> None:
        seen.append(opened(stack, "dig/for#0"))
        if depth:
            dig(depth - 1)
        stack.loops.pop()

    dig(3)
    assert seen == [[], [], [], []]


def test_closing_a_loop_takes_off_what_is_above_it_but_not_the_loop():
    stack = Stack()
    opened(stack, "main/for#0")
    opened(stack, "main/for#0/for#0")
    assert [one.block for one in stack.close(stack.loops[0])] == ["main/for#0/for#0"]
    assert blocks(stack) == ["main/for#0"]


# -- names of a frame -----------------------------------------------------------------------------
class Thing:
    """Something that can be weakly referenced."""


def test_the_names_of_a_function_are_its_locals_and_free_variables():
    outer = [1]

    def inside(argument: int) -> dict[str, Any]:
        local = outer
        names = frame_names(sys._getframe())
        del local
        return names

    assert inside(5) == {"argument": 5, "local": [1], "outer": [1]}


KEPT = ["return locals()", "d = vars()\n    return d", "f(vars(), x)", "v = vars\n    return v()",
        "print(locals())"]
NOT_KEPT = ["return vars(x)", "print(vars(x.y))", "return 'x' in locals()", "f(map(vars, [x]))",
            "f(vars(g(x)), 1)",
            "return 'x' in vars()", "return x"]


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="there every locals() is a new dictionary")
@pytest.mark.parametrize("body", KEPT + NOT_KEPT)
def test_a_function_that_asks_for_its_locals_is_told_from_one_that_looks_into_an_object(body: str):
    names: dict[str, Any] = {}
    exec(f"def f(x):\n    {body}", names)
    assert _keeps_locals(names["f"].__code__) is (body in KEPT)


def test_an_unbound_name_is_not_there():
    early = frame_names(sys._getframe())
    late = 1
    assert "late" not in early
    assert frame_names(sys._getframe())["late"] == late


def test_reading_names_keeps_no_object_alive():
    """Rebound values (the last batch and its graph) must go when the program lets them go."""

    def program() -> bool:
        thing = Thing()
        gone = weakref.ref(thing)
        names = frame_names(sys._getframe())
        assert names["thing"] is thing
        del names, thing
        gc.collect()
        return gone() is None

    assert program()


def test_a_module_gives_no_names_and_a_class_body_its_own():
    names: dict[str, Any] = {"frame_names": frame_names, "sys": sys}
    exec("x = 1\nseen = frame_names(sys._getframe())", names)
    exec("class A:\n    y = 2\n    seen = frame_names(sys._getframe())", names)
    assert names["seen"] == {}
    assert names["A"].seen["y"] == 2


# -- putting names back -----------------------------------------------------------------------------
def test_restored_names_are_handed_over_in_the_order_of_the_text():
    guard = OpenLoop("b", ("best", "epoch", "last"), sys._getframe(), 0)
    guard.bind({"last": None, "epoch": 3, "return": 7, "other": 1})
    assert guard.values == (None, 3, None)
    assert [guard.lacks(name) for name in ("best", "epoch", "last")] == [True, False, False]
    assert guard.returned == 7


def test_restored_names_of_a_class_body_are_written_there():
    names: dict[str, Any] = {"OpenLoop": OpenLoop, "sys": sys}
    exec("class A:\n    OpenLoop('b', (), sys._getframe(), 0).bind({'x': 4})", names)
    assert names["A"].x == 4


# -- outside of a session ---------------------------------------------------------------------------
def test_without_a_session_guards_are_inert():
    guard = loop("a.py::for#0", "x")
    items = [1, 2]
    assert guard is INERT
    assert guard.over(items) is items
    assert (guard.skipped, guard.live, guard.done, guard.values) == (False, False, False, ())
    assert (guard.boundary(), guard.leave(), guard.lacks("x")) == (False, False, False)
    value = object()
    assert guard.returning(value) is value


def test_without_a_session_probes_put_nothing_back_and_marks_are_bytes():
    inert = probe("a.py:3", "x")
    assert inert.values == ()
    assert not inert.lacks("x")
    inert.leave()
    assert marks("a.py", 3) == bytearray(3)


def test_an_inert_guard_cannot_carry_state():
    with pytest.raises(AttributeError):
        INERT.iteration = 1  # type: ignore[attr-defined]
