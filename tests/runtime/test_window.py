"""Which part of a run is asked for: what is shown, and when nothing more is."""

from __future__ import annotations

import pytest

from florc.runtime.window import Part, Values, Window

LOOPS = [2, 5, 3]  # iterations of three main loops


def shown(window: Window) -> list[object]:
    """What is printed: ("out", loop that comes next) and (loop, iteration), in order."""
    found: list[object] = []
    for loop, count in enumerate(LOOPS):
        found += [("out", loop)] if window.outside(loop) else []
        found += [(loop, i) for i in range(count) if window.shows(loop, i)]
    return found + ([("out", len(LOOPS))] if window.outside(len(LOOPS)) else [])


EVERYTHING = shown(Window())


def test_without_a_choice_everything_is_shown():
    assert Window().whole
    assert len(EVERYTHING) == sum(LOOPS) + len(LOOPS) + 1
    assert not any(Window().finished(loop, i) for loop, count in enumerate(LOOPS) for i in range(count))


def test_chosen_iterations_alone_are_shown():
    window = Window({1: frozenset({0, 3})})
    assert shown(window) == [(1, 0), (1, 3)]
    assert [window.finished(1, i) for i in range(5)] == [False, False, False, False, True]
    assert not window.finished(0, 1) and not window.finished_after(0) and window.finished_after(1)
    assert window.needs_exit(0) and not window.needs_exit(1)


@pytest.mark.parametrize("cuts", [[], [3], [1, 2], [1, 2, 3, 4]])
@pytest.mark.parametrize("loop", range(len(LOOPS)))
def test_the_parts_of_all_workers_are_the_whole_in_order(loop, cuts):
    edges = [0, *[cut for cut in cuts if cut < LOOPS[loop]], LOOPS[loop]]
    last = len(edges) - 2
    parts = [Part(loop, edges[i], edges[i + 1], i == 0, i == last) for i in range(last + 1)]
    assert [item for part in parts for item in shown(Window(None, part))] == EVERYTHING


def test_a_worker_stops_once_its_part_is_done():
    window = Window(None, Part(1, 2, 4, False, False))
    assert [window.finished(1, i) for i in range(5)] == [False, False, False, False, True]
    assert not window.finished(0, 1)
    assert window.finished(2, 0)
    assert window.needs_exit(0) and not window.needs_exit(1)
    assert not Window(None, Part(1, 4, 5, False, True)).finished(2, 2)


@pytest.mark.parametrize(
    ("values", "held", "past"),
    [
        (Values("step", "7"), [7, "7"], [8, 100]),
        (Values("step", start=3, stop=5, is_range=True), [3, 4], [5, 6]),
        (Values("step", start=90, is_range=True), [100, 10**6], []),
        (Values("step", stop=2, is_range=True), [-1, 0, 1], [2]),
        (Values("phase", "warm"), ["warm"], []),
    ],
)
def test_inner_iterations_are_known_by_a_value(values, held, past):
    asked = [-1, 0, 1, 2, 3, 4, 5, 6, 7, "7", 8, 100, 10**6, "warm", None, 2.5]
    assert [value for value in asked if values.holds(value)] == held
    if past:
        assert all(values.is_past(value) for value in past)
    assert not any(values.is_past(value) for value in held)
