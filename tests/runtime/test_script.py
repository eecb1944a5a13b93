"""The journal read as a tree of loops, and what a kill or an exception leaves of it."""

from __future__ import annotations

from typing import Any

import pytest

from florc.runtime.script import LoopRun, Script, parse

MAIN, INNER = "a.py::for#0", "a.py::for#0/for#0"
HITS = [["H", 0, {}], ["H", 1, {"a.py": [1]}], ["H", 2, {"a.py": [1, 2], "b.py": [7]}]]


def block(ckpt: list[str] | None = None, hits: int = 1, inside: list[Any] | None = None) -> list[Any]:
    """The events of one run through an inner loop."""
    return [["L", INNER], ["B", "base1"], *(inside or []), ["X", "end", 0.5, ckpt, hits]]


def whole() -> list[Any]:
    """Two iterations with a block each, output before, in and after."""
    return [
        *HITS,
        ["w", 1, "a.py", 1, "start\n", 0],
        ["L", MAIN], ["B", "base0"],
        ["I", 0, {"e": 0}, None, 0], *block(["d", "n", "c"], inside=[["w", 1, "a.py", 3, "in\n", 0]]),
        ["I", 1, {"e": 1}, ["d1", "n", "c"], 2], *block(),
        ["X", "break", 2.5, ["d2", "n", "c"], 1],
        ["n", "a note"], ["E", 3, False],
    ]  # fmt: skip


def main_of(script: Script) -> LoopRun:
    (run,) = script.main_loops
    return run


def test_a_main_loop_has_its_iterations_blocks_and_end():
    script = parse(whole())
    run = main_of(script)
    assert (run.block, run.depth, run.base, run.outcome, run.seconds) == (MAIN, 0, "base0", "break", 2.5)
    assert [i.values for i in run.iterations] == [{"e": 0}, {"e": 1}]
    assert [[b.block for b in i.blocks] for i in run.iterations] == [[INNER], [INNER]]
    assert [b.ckpt for i in run.iterations for b in i.blocks] == [["d", "n", "c"], None]
    assert run.checkpoints == [["d1", "n", "c"], ["d2", "n", "c"]]
    assert (script.notes, script.exit_code) == (["a note"], 3)


def test_spans_are_positions_of_events():
    script = parse(whole())
    run, events = main_of(script), script.events
    assert events[run.start] == ["L", MAIN]
    assert events[run.end - 1][:2] == ["X", "break"]
    first, second = run.iterations
    assert events[first.start][:2] == ["I", 0]
    assert first.end == second.start
    assert second.end == run.end
    inner = first.blocks[0]
    assert events[inner.start] == ["L", INNER]
    assert events[inner.end - 1][:2] == ["X", "end"]
    assert script.at[inner.start] is inner


def test_hits_noted_at_a_boundary_belong_to_the_iteration_before():
    first, second = main_of(parse(whole())).iterations
    assert first.hits == {"a.py": frozenset({1, 2}), "b.py": frozenset({7})}
    assert second.hits == {"a.py": frozenset({1})}


def test_a_loop_that_raised_has_no_outcome_and_unknown_hits():
    events: list[Any] = [
        *HITS,
        ["L", MAIN],
        ["I", 0, {}, None, 0],
        ["L", INNER],
        ["Z", INNER],
        ["Z", MAIN],
        ["E", 1, False],
    ]
    run = main_of(parse(events))
    assert (run.outcome, run.ckpt, run.hits, run.iterations[0].hits) == ("", None, None, None)
    assert run.iterations[0].blocks[0].hits is None
    assert run.end == len(events) - 1


def test_a_loop_after_one_that_raised_is_a_main_loop_of_its_own():
    events: list[Any] = [
        *HITS,
        ["L", MAIN],
        ["I", 0, {}, None, 0],
        ["Z", MAIN],
        ["L", "a.py::for#1"],
        ["X", "end", 1, None, 0],
    ]
    script = parse(events)
    assert [run.block for run in script.main_loops] == [MAIN, "a.py::for#1"]


def test_a_loop_entered_twice_is_two_runs():
    once: list[Any] = [["L", MAIN], ["I", 0, {}, None, 0], ["X", "end", 1, None, 0]]
    events: list[Any] = [*HITS, *once, *once]
    script = parse(events)
    assert [run.start for run in script.main_loops] == [3, 6]


@pytest.mark.parametrize("length", range(len(whole())))
def test_a_run_killed_anywhere_is_read_as_far_as_it_came(length):
    events = whole()[:length]
    script = parse(events)
    assert script.exit_code is None
    for run in script.at.values():
        assert run.start < run.end <= len(events)
        for iteration in run.iterations:
            assert iteration.start < iteration.end <= run.end
    if script.main_loops and not any(event[:2] == ["X", "break"] for event in events):
        run = main_of(script)
        assert run.outcome == ""
        assert run.end == len(events)
        assert not run.iterations or run.iterations[-1].hits is None


def test_a_block_before_the_first_iteration_belongs_to_none_and_is_still_found():
    """The loop's own iterable can run one: `for x in prepare():`."""
    events: list[Any] = [*HITS, ["L", MAIN], *block(), ["I", 0, {}, None, 0], ["X", "end", 1, None, 0]]
    script = parse(events)
    assert main_of(script).iterations[0].blocks == []
    assert script.at[4].block == INNER


@pytest.mark.parametrize("stray", [["X", "end", 1, None, 0], ["Z", MAIN], ["I", 0, {}, None, 0], ["B", "x"]])
def test_an_event_without_its_loop_is_passed_over(stray: list[Any]) -> None:
    script = parse([stray, *whole()])
    assert main_of(script).outcome == "break"


def test_an_empty_journal_is_an_empty_script():
    script = parse([])
    assert (script.main_loops, script.at, script.exit_code) == ([], {}, None)


def written_later(*more: Any) -> Script:
    """A loop of two iterations whose checkpoints got to the disk after it had gone on."""
    return parse(
        [
            *HITS, ["L", MAIN],
            ["I", 0, {}, None, 0], *block(),
            ["I", 1, {}, None, 0], *block(),
            *more,
            ["X", "end", 1, None, 0],
        ]
    )  # fmt: skip


def test_a_checkpoint_that_was_written_later_belongs_to_its_event():
    place = len(HITS)
    events = written_later().events
    iteration, exit_ = (next(n for n, e in enumerate(events) if e[:2] == ["I", 1]), place + 4)
    assert events[exit_][0] == "X"
    script = written_later(["C", iteration, ["a", "b", "c"]], ["C", exit_, ["d", "e", "f"]])
    (run,) = script.main_loops
    assert [one.ckpt for one in run.iterations] == [None, ["a", "b", "c"]]
    assert run.iterations[0].blocks[0].ckpt == ["d", "e", "f"]
    assert run.iterations[1].blocks[0].ckpt is None


@pytest.mark.parametrize("where", [0, len(HITS), 10**9], ids=["no loop's", "an entry", "not there"])
def test_a_checkpoint_of_an_event_that_has_none_is_ignored(where):
    (run,) = written_later(["C", where, ["a", "b", "c"]]).main_loops
    assert run.checkpoints == []


def test_a_checkpoint_taken_before_state_was_found_that_it_lacks_is_not_used():
    events = written_later().events
    iteration = next(n for n, e in enumerate(events) if e[:2] == ["I", 1])
    (run,) = written_later(["A", ["~torch"]], ["C", iteration, ["a", "b", "c"]]).main_loops
    assert run.checkpoints == []


def test_a_checkpoint_whose_tensors_were_differentiated_is_not_used_and_others_are():
    events = written_later().events
    first, second = (
        n for n, event in enumerate(events) if event[0] == "X" and event[1] == "end" and n < len(events) - 1
    )
    written = [["C", first, ["a", "b", "c"]], ["C", second, ["d", "e", "f"]]]
    (run,) = written_later(*written, ["D", first]).main_loops
    assert [one.blocks[0].ckpt for one in run.iterations] == [None, ["d", "e", "f"]]
