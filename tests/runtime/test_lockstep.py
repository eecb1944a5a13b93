"""The cursor in the recorded run: what it passes over, what it stops at, what it gives out."""

from __future__ import annotations

from typing import Any

import pytest

from florc.runtime.lockstep import Cursor, Edits
from florc.runtime.script import parse

EVENTS: list[list[Any]] = [
    ["M", "__main__", "a.py", "/a.py", ""],
    ["w", 1, "a.py", 1, "one\n", 0],
    ["c", "time", 10.5, "a.py"],
    ["c", "time", 11.5, "tqdm.std"],
    ["w", 2, "a.py", 2, "to stderr\n", 0],
    ["L", "a.py::for#0"],
    ["H", 0, {}],
    ["I", 0, {}, None, 0],
    ["w", 1, "a.py", 3, "three\n", 0],
    ["f", ["open"]],
    ["w", 1, "a.py", 4, "four\n", 0],
    ["X", "end", 0.1, None, 0],
    ["E", 0, False],
]


def cursor(events: list[list[Any]] | None = None, **edits: Any) -> Cursor:
    return Cursor(parse(EVENTS if events is None else events), Edits(**edits))


def taken(at: Cursor, tags: str) -> list[Any]:
    """The second field of what take gives for each tag; None where it gives nothing."""
    return [event and event[1] for event in map(at.take, tags)]


def test_the_events_of_a_run_are_taken_in_order():
    at = cursor()
    assert taken(at, "wLIwwXE") == [1, "a.py::for#0", 0, 1, 1, "end", 0]
    assert at.at_end
    assert at.take("w") is None


@pytest.mark.parametrize("wrong", ["L", "I", "X", "Z", "E"])
def test_what_does_not_come_next_is_not_found_and_moves_nothing(wrong):
    at = cursor()
    assert at.take(wrong) is None
    assert at.take("w") == EVENTS[1]


def test_output_that_comes_next_stops_the_way_to_a_loop():
    """The program entered a loop without having written what the record had written by then."""
    at = cursor()
    assert at.take("L") is None
    assert taken(at, "wL") == [1, "a.py::for#0"]


def test_a_clock_is_read_where_the_record_read_it():
    at = cursor()
    assert at.clock("time", "a.py") is None  # the record had written something by then
    at.take("w")
    assert at.clock("perf_counter", "a.py") is None
    assert at.clock("time", "b.py") is None
    assert at.clock("time", "a.py") == 10.5
    assert at.clock("time", "a.py") is None


def test_readers_of_a_clock_may_take_turns_otherwise():
    at = cursor()
    at.take("w")
    assert [at.clock("time", who) for who in ("tqdm.std", "a.py", "tqdm.std")] == [11.5, 10.5, None]
    assert at.take("L") is not None


def test_readings_that_nobody_takes_are_passed_over():
    at = cursor()
    assert taken(at, "wL") == [1, "a.py::for#0"]
    assert at.clock("time", "a.py") is None


def test_a_reading_of_zero_is_a_reading():
    at = cursor([["c", "process_time", 0.0, "a.py"]])
    assert at.clock("process_time", "a.py") == 0.0


def test_dropped_output_is_passed_over():
    at = cursor(dropped=frozenset({("a.py", 1), ("a.py", 3)}))
    assert taken(at, "LI") == ["a.py::for#0", 0]
    assert at.take("w") == EVENTS[10]


def test_a_dropped_line_of_another_file_is_not_meant():
    assert cursor(dropped=frozenset({("b.py", 1)})).take("w") == EVENTS[1]


def test_a_jump_gives_out_recorded_text_of_both_streams_in_order():
    at, out = cursor(dropped=frozenset({("a.py", 3)})), []
    at.jump(11, lambda fd, text: out.append((fd, text)))
    assert out == [(1, "one\n"), (2, "to stderr\n"), (1, "four\n")]
    assert at.take("X") == EVENTS[11]


def test_a_jump_gives_out_nothing_twice():
    at, out = cursor(), []
    for position in (3, 3, 9, 12):
        at.jump(position, lambda fd, text: out.append(text))
    assert out == ["one\n", "to stderr\n", "three\n", "four\n"]


def test_a_killed_run_ends_where_its_events_end():
    at = cursor(EVENTS[:3])
    assert not at.at_end
    at.take("w")
    at.take("L")
    assert at.at_end


NUMBERED = {
    "logging's line number": ("train.py:12 INFO ready\n", "train.py:14 INFO ready\n"),
    "a warning": ("/p/train.py:12: UserWarning: odd\n", "/p/train.py:14: UserWarning: odd\n"),
    "a traceback": ('  File "/p/train.py", line 12, in main\n', '  File "/p/train.py", line 14, in main\n'),
    "no part of longer numbers": (
        "train.py:12 saw 112, 120 and 0.12\n",
        "train.py:14 saw 112, 120 and 0.12\n",
    ),
    "no number in the text": ("ready\n", "ready\n"),
}
UNTOUCHED = {
    "a message that says the same number": ("train.py:12 epoch 12\n", "train.py:14 epoch 12\n"),
    "a record without line numbers": ("INFO:root:epoch 12\n", "INFO:root:epoch 12\n"),
}


def moved(text: str, numbered: int = 1) -> str:
    at = cursor(lines={("train.py", 12): 14})
    return at.text(["w", 1, "train.py", 12, text, numbered])


@pytest.mark.parametrize(("text", "wanted"), NUMBERED.values(), ids=NUMBERED)
def test_line_numbers_in_recorded_text_are_the_edited_files(text, wanted):
    assert moved(text) == wanted


@pytest.mark.parametrize(("text", "wanted"), UNTOUCHED.values(), ids=UNTOUCHED)
def test_numbers_that_are_no_line_numbers_stay(text, wanted):
    assert moved(text) == wanted


def test_text_of_a_plain_print_stays_as_it_is():
    assert moved("12 of 12\n", numbered=0) == "12 of 12\n"


def test_text_of_a_line_that_did_not_move_stays_as_it_is():
    at = cursor(lines={("train.py", 12): 12})
    assert at.text(["w", 1, "train.py", 12, "12 12\n", 1]) == "12 12\n"
    assert at.text(["w", 1, "train.py", 13, "13 12\n", 1]) == "13 12\n"


@pytest.mark.parametrize(
    ("hits", "everywhere", "touched"),
    [
        pytest.param({"a.py": frozenset({1, 4})}, False, True, id="its region ran"),
        pytest.param({"a.py": frozenset({1, 2})}, False, False, id="other regions ran"),
        pytest.param({"b.py": frozenset({4})}, False, False, id="a region of that number in another file"),
        pytest.param({}, False, False, id="nothing ran"),
        pytest.param(None, False, True, id="not known"),
        pytest.param({}, True, True, id="a probe that may run anywhere"),
    ],
)
def test_a_block_is_touched_where_a_region_with_probes_ran(hits, everywhere, touched):
    edits = Edits(regions={"a.py": frozenset({4, 9}), "c.py": frozenset()}, everywhere=everywhere)
    assert edits.touch(hits) is touched


def test_no_probes_touch_nothing_known():
    assert not Edits().touch({"a.py": frozenset({0, 1})})
