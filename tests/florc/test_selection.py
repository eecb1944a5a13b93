"""What --at asks for: numbers, ranges, values; in which loop; and what is a usage error."""

from __future__ import annotations

from typing import Any

import pytest

from florc.errors import EXIT_USAGE, FlorcError
from florc.plans.selection import sample, select, spread
from florc.runtime.lockstep import Edits
from florc.runtime.script import Script, parse
from florc.runtime.window import Values

MAIN, SECOND, INNER = "train.py::main/for#0", "train.py::fit/while#1", "train.py::main/for#0/for#0"
PROBED, QUIET = 1, 0  # numbers of hits: a region with a probe in it ran, or not
HITS = [["H", PROBED, {"train.py": [7]}], ["H", QUIET, {"train.py": [8]}]]
IN_SEVEN = Edits(regions={"train.py": frozenset({7})})


def loop(block: str, values: list[dict[str, Any]], hits: int = QUIET, seconds: float = 1.0) -> list[Any]:
    """The events of one run through a main loop."""
    rows = [["I", i, value, None, hits] for i, value in enumerate(values)]
    return [["L", block], *rows, ["X", "end", seconds, None, hits]]


def script(*loops: list[Any]) -> Script:
    return parse([*HITS, *(event for one in loops for event in one)])


EPOCHS: list[dict[str, Any]] = [
    {"epoch": 38, "phase": "warm"}, {"epoch": 39}, {"epoch": 40, "phase": "main"}, {"epoch": 41},
    {"epoch": -5}, {"epoch": 43}, {"epoch": 44}, {"epoch": 45}, {"epoch": 46}, {"epoch": 40},
]  # fmt: skip


def chosen(words: str, *loops: list[Any], edits: Edits | None = None) -> dict[int, list[int]]:
    found = select(words, script(*loops) if loops else script(loop(MAIN, EPOCHS)), edits or Edits())
    return {number: sorted(iterations) for number, iterations in (found.selected or {}).items()}


@pytest.mark.parametrize(
    ("words", "iterations"),
    [
        ("3", [3]),
        ("0", [0]),
        ("-1", [9]),
        ("-10", [0]),
        (" 3 ", [3]),
        ("3:7", [3, 4, 5, 6]),
        (":2", [0, 1]),
        ("8:", [8, 9]),
        ("-2:", [8, 9]),
        (":-8", [0, 1]),
        (":", list(range(10))),
        ("7:100", [7, 8, 9]),
        ("3,5", [3, 5]),
        ("3, 5:7, -1", [3, 5, 6, 9]),
        ("3,3,2:4", [2, 3]),
        ("epoch=39", [1]),
        ("epoch = 39", [1]),
        ("epoch=40", [2, 9]),
        ("epoch=-5", [4]),
        ("phase=warm", [0, 1]),
        ("phase='main'", [2, 3, 4, 5, 6, 7, 8, 9]),
        ("epoch=41, 0", [0, 3]),
        (f"{MAIN}:3", [3]),
        (f"{MAIN}:3:5", [3, 4]),
        (f"{MAIN}:-1", [9]),
        (f"{MAIN}:epoch=39,0", [0, 1]),
    ],
)
def test_words_name_iterations(words, iterations):
    assert chosen(words) == {0: iterations}


def test_a_value_that_is_plain_no_more_is_no_value_that_goes_on():
    values: list[dict[str, Any]] = [{"x": 1}, {"x": None}, {}, {"x": 1}]
    assert chosen("x=1", loop(MAIN, values)) == {0: [0, 3]}


@pytest.mark.parametrize("words", ["10", "epoch=99"])
def test_iterations_that_were_too_short_to_be_noted_are_told_as_such(words):
    *events, end = loop(MAIN, EPOCHS)
    with pytest.raises(FlorcError, match="too short to be told apart, from 9 on") as caught:
        chosen(words, [*events, ["S"], end])
    assert caught.value.exit_code == EXIT_USAGE
    assert chosen("8", [*events, ["S"], end]) == {0: [8]}


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        ("10", ["--at 10", MAIN, "it had 10"]),
        ("-11", ["--at -11", "it had 10"]),
        ("3, 12", ["--at 12"]),
        ("7:3", ["--at 7:3"]),
        ("3:3", ["--at 3:3"]),
        ("epoch=37", ["--at epoch=37", "no such iteration"]),
        ("step=1", ["--at step=1"]),
        ("", ["not an iteration", "3:7"]),
        ("3,", ["not an iteration"]),
        ("three", ["--at three", "not an iteration"]),
        ("3.5", ["not an iteration"]),
        ("1:2:3", ["not an iteration"]),
        ("=3", ["not an iteration"]),
        ("train.py::for#9:3", ["no main loop train.py::for#9", MAIN]),
        (f"{INNER}:3", [f"no main loop {INNER}", MAIN]),
    ],
)
def test_words_that_name_none_are_a_usage_error(words, parts):
    with pytest.raises(FlorcError) as error:
        chosen(words)
    assert error.value.exit_code == EXIT_USAGE
    assert all(part in str(error.value) for part in parts)


def test_the_loop_that_holds_the_probes_is_meant():
    loops = loop(MAIN, EPOCHS[:3], seconds=9), loop(SECOND, EPOCHS[:2], PROBED)
    assert chosen("1", *loops, edits=IN_SEVEN) == {1: [1]}


def test_without_probes_the_longest_loop_is_meant():
    loops = (
        loop(MAIN, EPOCHS[:3], seconds=2),
        loop(SECOND, EPOCHS[:3], seconds=5),
        loop("x.py::for#0", EPOCHS[:1], seconds=9),
    )
    assert chosen("1", *loops) == {1: [1]}


def test_the_loop_in_whose_text_a_probe_stands_that_never_ran_is_meant():
    loops = loop(MAIN, EPOCHS[:3], seconds=9), loop(SECOND, EPOCHS[:2], seconds=1)
    assert chosen("1", *loops, edits=Edits(around=frozenset({SECOND}))) == {1: [1]}


def test_a_named_loop_is_meant_whoever_holds_the_probes():
    loops = loop(MAIN, EPOCHS[:3]), loop(SECOND, EPOCHS[:2], PROBED)
    assert chosen(f"{MAIN}:2", *loops, edits=IN_SEVEN) == {0: [2]}


def test_several_loops_with_probes_are_listed():
    loops = loop(MAIN, EPOCHS[:3], PROBED), loop(SECOND, EPOCHS[:2], PROBED)
    with pytest.raises(FlorcError, match="name one") as error:
        chosen("1", *loops, edits=IN_SEVEN)
    assert f"{MAIN}, {SECOND}" in str(error.value)
    assert error.value.exit_code == EXIT_USAGE


def test_a_run_without_a_main_loop_has_no_iterations():
    with pytest.raises(FlorcError, match="no main loop") as error:
        select("0", script(), Edits())
    assert error.value.exit_code == EXIT_USAGE


def test_a_method_s_loop_may_count_in_an_attribute():
    """`while self.epoch < 4`: with or without `self.`, which a loop's own name of that kind goes before."""
    counted = loop(MAIN, [{"self.epoch": 7, "self.lr": "low"}, {"self.epoch": 8}, {"self.epoch": 9}])
    assert chosen("self.epoch=8", counted) == chosen("epoch=8", counted) == {0: [1]}
    assert chosen("epoch=8:", counted) == {0: [1, 2]}
    assert chosen("lr=low, 0", counted) == {0: [0, 1, 2]}
    both = loop(MAIN, [{"self.epoch": 7, "epoch": 1}, {"self.epoch": 8, "epoch": 7}])
    assert chosen("epoch=7", both) == {0: [1]}
    assert chosen("self.epoch=7", both) == {0: [0]}
    rows = nested({"self.epoch": 7}, {"self.epoch": 8})
    inside = select("epoch=8", script(rows), Edits(), {INNER: frozenset({"epoch"}), MAIN: frozenset()})
    assert inside.inner == (Values("epoch", "8"),)


def test_a_value_that_was_not_noted_again_is_still_the_same():
    """Module-level names are noted when they change."""
    values: list[dict[str, Any]] = [{"lr": "a"}, {}, {"lr": "b"}, {}]
    assert chosen("lr=a", loop(MAIN, values)) == {0: [0, 1]}


def test_a_loop_that_ran_several_times_is_ambiguous_or_means_all_its_runs():
    """`for fold in range(5): ...` unrolled: train(fold_0); train(fold_1)."""
    loops = loop(MAIN, EPOCHS[:3], PROBED), loop(MAIN, EPOCHS[:3], PROBED)
    try:
        assert chosen("1", *loops, edits=IN_SEVEN) == {0: [1], 1: [1]}
    except FlorcError as error:
        assert error.exit_code == EXIT_USAGE


def nested(*values: dict[str, Any]) -> list[Any]:
    """A main loop with a loop inside each iteration."""
    rows = []
    for i, value in enumerate(values):
        rows += [["I", i, value, None, QUIET], ["L", INNER], ["X", "end", 0.5, None, QUIET]]
    return [["L", MAIN], *rows, ["X", "end", 1.0, None, QUIET]]


def test_a_name_that_the_program_does_not_bind_is_a_usage_error():
    rows = [["L", MAIN], ["I", 0, {"epoch": 0}, None, QUIET], ["L", INNER], ["X", "end", 1.0, None, QUIET]]
    run = script(rows)
    bound = frozenset({"epoch", "step", "batch"})
    words = r"--at stpe=4: no loop of the program has a name stpe.*over step"
    with pytest.raises(FlorcError, match=words) as seen:
        select("0, stpe=4", run, Edits(), {INNER: frozenset({"step"})}, bound)
    assert seen.value.exit_code == EXIT_USAGE
    assert select("0, batch=4", run, Edits(), {}, bound).inner == (Values("batch", "4"),)


@pytest.mark.parametrize(
    ("words", "iterations", "inner"),
    [
        ("3, step=120:130", [3], (Values("step", start=120, stop=130, is_range=True),)),
        ("epoch=39, step=7", [1], (Values("step", "7"),)),
        ("step=:3", list(range(10)), (Values("step", stop=3, is_range=True),)),
        ("1:3, batch=2, step=5:", [1, 2], (Values("batch", "2"), Values("step", start=5, is_range=True))),
    ],
)
def test_a_second_level_picks_inner_iterations(words, iterations, inner):
    window = select(words, script(nested(*EPOCHS)), Edits())
    assert window.selected == {0: frozenset(iterations)}
    assert window.inner == inner


def test_what_a_loop_inside_sets_means_that_loop():
    """At module level the main loop has the value as well: the last one of the time before."""
    rows = nested({"epoch": 0, "step": 9}, {"epoch": 1, "step": 9})
    targets = {MAIN: frozenset({"epoch"}), INNER: frozenset({"step"})}
    window = select("epoch=1, step=9", script(rows), Edits(), targets)
    assert (window.selected, window.inner) == ({0: frozenset({1})}, (Values("step", "9"),))
    assert select("step=9", script(rows), Edits()).inner == ()


def test_a_name_that_means_nothing_is_a_usage_error():
    with pytest.raises(FlorcError, match="no loops inside") as caught:
        chosen("3, step=7")
    assert caught.value.exit_code == EXIT_USAGE


@pytest.mark.parametrize("words", ["epoch=38:40", "epoch=:39, epoch=40:42"])
def test_values_may_be_a_range(words):
    ranges = {"epoch=38:40": [0, 1], "epoch=:39, epoch=40:42": [0, 2, 3, 4, 9]}
    assert chosen(words) == {0: ranges[words]}


# -- --sample ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "places"),
    [(1, [50]), (2, [0, 99]), (3, [0, 50, 99]), (5, [0, 25, 50, 74, 99]), (100, list(range(100))),
     (1000, list(range(100)))],
)  # fmt: skip
def test_a_sample_is_spread_with_both_ends(count, places):
    assert spread(range(100), count) == places


@pytest.mark.parametrize(
    ("words", "iterations"),
    [("2", [0, 9]), ("1", [5]), ("10%", [5]), ("20%", [0, 9]), ("25 %", [0, 9]), ("1%", [5]),
     ("33.4%", [0, 4, 9]), ("100%", list(range(10))), ("99", list(range(10)))],
)  # fmt: skip
def test_a_sample_is_a_number_or_a_share(words, iterations):
    window = sample(words, script(loop(MAIN, EPOCHS)), Edits())
    assert {n: sorted(found) for n, found in (window.selected or {}).items()} == {0: iterations}


@pytest.mark.parametrize("words", ["0", "0%", "-3", "101%", "2.5", "many", "", "5:7"])
def test_what_is_no_part_of_the_iterations_is_a_usage_error(words):
    with pytest.raises(FlorcError, match="--sample") as error:
        sample(words, script(loop(MAIN, EPOCHS)), Edits())
    assert error.value.exit_code == EXIT_USAGE


def test_a_sample_is_taken_of_the_iterations_in_which_added_lines_ran():
    """A probe in the evaluation that comes at every third step."""
    rows: list[list[Any]] = [["I", i, {}, None, PROBED if i and i % 3 == 1 else QUIET] for i in range(10)]
    run = script([["L", MAIN], *rows, ["X", "end", 1.0, None, PROBED]])
    window = sample("3", run, IN_SEVEN)  # the hits are those of the iteration before: it ran in 0, 3, 6 and 9
    assert window.selected == {0: frozenset({0, 6, 9})}


def test_a_sample_of_a_loop_that_ran_several_times_is_spread_over_all_of_them():
    loops = loop(MAIN, EPOCHS[:3], PROBED), loop(MAIN, EPOCHS[:3], PROBED)
    window = sample("3", script(*loops), IN_SEVEN)
    assert window.selected == {0: frozenset({0, 2}), 1: frozenset({2})}
