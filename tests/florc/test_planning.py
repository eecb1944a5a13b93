"""The plan: what becomes of each iteration, where the replay stops, what it takes, and how that is shown."""

from __future__ import annotations

import json
from typing import Any

import pytest

from florc import units
from florc.plans import outlook
from florc.plans.planning import Costs, Plan, make, merged
from florc.runtime.figures import Figures
from florc.runtime.lockstep import Edits
from florc.runtime.route import Route
from florc.runtime.script import Script, parse
from florc.runtime.window import Part, Window

MAIN, BLOCK = "train.py::for#0", "train.py::for#0/for#0"
KEPT, BASE = ["a" * 32, "b" * 32, "c" * 32], "d" * 32
QUIET, PROBED = 0, 1
HITS = [["H", QUIET, {"train.py": [8]}], ["H", PROBED, {"train.py": [7]}]]
EDITS = Edits(regions={"train.py": frozenset({7})})


def loop(words: str, exit_kept: bool = True, block: str = MAIN, entered: float = 2.0) -> list[Any]:
    """The events of one run through a main loop.

    A word is an iteration: c: its beginning is kept; p: a probe ran in it; b: a block with its exit kept;
    u: one without; B, U: the same with a probe inside; o: others wrote. Each takes a second, a block half of
    one.
    """
    events: list[Any] = [["L", block, {}, entered], ["B", BASE]]
    before = QUIET
    for i, word in enumerate(words.split()):
        hits, seconds = before, 1.0 if i else 0.25
        events.append(["I", i, {"epoch": i}, KEPT if "c" in word else None, hits, seconds])
        for letter in word:
            if letter.lower() in "bu":
                inside = PROBED if letter.isupper() else QUIET
                kept = KEPT if letter in "bB" else None
                events += [["L", BLOCK], ["B", BASE], ["X", "end", 0.5, kept, inside]]
        if "o" in word:
            events.append(["o"])
        before = PROBED if set(word) & set("pBU") else QUIET
    return [*events, ["X", "end", 1.0, KEPT if exit_kept else None, before]]


def script(*loops: list[Any], end: bool = True) -> Script:
    figures = Figures(0, 0, 0.0, stalls={MAIN: (0.25, 0.125), BLOCK: (0.0625, 0.03125)})
    last = [["E", 0, False, 3, figures.packed(), QUIET, 50.0]]
    return parse([*HITS, *(event for one in loops for event in one), *(last if end else [])])


def plan(run: Script, window: Window | None = None, start: float = 0.0, **more: Any) -> Plan:
    return make(Route(run, EDITS, window or Window()), Costs.of(run, start), **more)


def told(found: Plan) -> str:
    """In short: 0-2 skip, 3< execute (from a checkpoint), ...; the ends of the loops."""
    loops = []
    for one in found.loops:
        rows = [
            f"{s.start}{'' if s.stop - s.start == 1 else f'-{s.stop - 1}'}{'<' * (s.checkpoint is not None)} "
            f"{s.action}"
            for s in merged(one)
        ]
        loops.append(", ".join([*rows, one.end]))
    return "; ".join(loops)


@pytest.mark.parametrize(
    ("words", "becomes"),
    [
        ("b cb cb cb", "0-3 skip, restored"),  # no probe in it: the loop is skipped whole
        ("bp bp bp", "0-2 restore, left"),  # an outer probe: every block is put back
        ("B B B", "0-2 execute, left"),  # an inner one: every block runs
        ("p p p", "0-2 execute, left"),  # without blocks there is nothing to put back
        ("b cb cb cbp", "0-2 skip, 3< restore, left"),
        ("b cbp cb cb", "0 skip, 1< restore, 2-3 skip, restored"),
        ("b cb cB cb", "0-1 skip, 2< execute, 3 skip, restored"),
        ("bp cb cb cbp", "0 restore, 1-2 skip, 3< restore, left"),
        ("b b cb b B", "0-1 skip, 2-3< restore, 4 execute, left"),  # from the nearest checkpoint
        ("u u cu u up", "0-1 skip, 2-4< execute, left"),  # what is not kept runs on the way
        ("u u u up", "0-3 execute, left"),
        ("b bo cb cbp", "0-1 restore, 2 skip, 3< restore, left"),  # what others wrote comes in its place
    ],
)
def test_what_becomes_of_iterations(words, becomes):
    assert told(plan(script(loop(words)))) == becomes


@pytest.mark.parametrize(
    ("words", "becomes"),
    [("b cb cb", "0-1 skip, 2< restore, left"), ("u u cu u", "0-1 skip, 2-3< execute, left")],
)
def test_a_loop_whose_exit_was_not_kept_is_left_through_its_last_iteration(words, becomes):
    assert told(plan(script(loop(words, exit_kept=False)))) == becomes


def test_a_loop_with_an_else_is_never_left_by_a_skip():
    run = script(loop("b cb cb"))
    assert told(plan(run, unskippable=frozenset({MAIN}))) == "0-1 skip, 2< restore, left"
    assert told(plan(run, unskippable=frozenset({MAIN, BLOCK}))) == "0-1 skip, 2< execute, left"


@pytest.mark.parametrize(
    ("chosen", "becomes"),
    [
        ({0: {1}}, "0 skip, 1< restore, stop"),
        ({0: {1, 3}}, "0 skip, 1< restore, 2 skip, 3< restore, stop"),
        ({1: {0}}, "0-3 skip, restored; 0 execute, stop"),  # two loops: the one before is skipped whole
    ],
)
def test_chosen_iterations_are_gone_to_and_nothing_after_them_is(chosen, becomes):
    run = script(loop("bp cbp cbp cbp"), loop("B B", block="train.py::for#1", entered=10.0))
    window = Window({number: frozenset(found) for number, found in chosen.items()})
    assert told(plan(run, window)) == becomes


def test_a_chosen_iteration_without_a_probe_is_given_out():
    window = Window({0: frozenset({1, 2})})
    assert told(plan(script(loop("b cb cb cb")), window)) == "0-2 skip, stop"


@pytest.mark.parametrize(
    ("part", "becomes"),
    [
        (Part(0, 0, 2, first=True, last=False), "0-1 execute, stop"),
        (Part(0, 2, 4, first=False, last=True), "0-1 skip, 2-3< execute, left"),
    ],
)
def test_a_workers_share_begins_at_its_checkpoint_and_ends_before_the_next_share(part, becomes):
    assert told(plan(script(loop("B cB cB cB")), Window(None, part))) == becomes


def test_a_killed_run_is_followed_to_its_end():
    events = loop("bp cbp")[:-1]
    run = parse([*HITS, *events])
    assert told(plan(run)) == "0-1 restore, stop"


def test_where_nothing_is_known_of_the_last_iteration_the_replay_stops():
    run = parse([*HITS, *loop("bp cbp")[:-1], ["I", 2, {"epoch": 2}, None, PROBED, 1.0]])
    assert told(plan(run)) == "0-1 restore, stop"


def test_a_replay_that_skips_nothing():
    run = script(loop("b cb cb"))
    found = make(Route(run, EDITS, Window(), scratch=True), Costs())
    assert told(found) == "0-2 execute, left"


# -- seconds -----------------------------------------------------------------------------------------------


def test_seconds_are_those_of_the_record_less_what_is_skipped():
    """Two seconds before the loop, three in it (the first 0.25 s late), the program ends at 50."""
    found = plan(script(loop("bp bp bp")), start=0.5)
    (only,) = found.loops
    assert (found.start, found.setup, found.stops) == (0.5, 2.0, False)
    assert sum(one.running for one in only.stretches) == 3 * 0.5
    # the entry state of the main loop; that of each block, and its exit; the loop's exit, which is compared
    assert found.restoring == pytest.approx(0.25 + 3 * (0.0625 + 0.03125) + 0.125)
    after = 50.0 - (2.0 + 0.25 + 3.0)
    assert found.seconds == pytest.approx(0.5 + 2.0 + 0.25 + 1.5 + found.restoring + after, abs=0.2)


def test_what_is_not_reached_takes_no_time():
    run = script(loop("B cB cB cB"))
    whole, one = plan(run), plan(run, Window({0: frozenset({1})}))
    assert one.stops and not whole.stops
    assert one.seconds == pytest.approx(2.0 + 0.25 + 1.0 + one.restoring, abs=0.2)
    assert whole.seconds > 50.0


def test_a_run_of_an_earlier_version_is_reckoned_by_its_blocks():
    bare = [event[:2] if event[0] == "L" else event[:5] for event in loop("B B bp")]
    found = plan(parse([*HITS, *bare, ["E", 0, False, 3]]))
    assert told(found) == "0-1 execute, 2 restore, left"
    # of the last iteration the seconds are known: it ends with the loop
    assert [round(one.running, 3) for one in found.loops[0].stretches] == [0.5, 0.5, 0.5]


def test_a_run_without_a_main_loop_takes_as_long_as_it_did():
    found = plan(script())
    assert (found.loops, found.setup) == ((), 50.0)
    words = "plan: no main loop: the program simply runs again; about 50 s"
    assert outlook.in_short([found], found.seconds) == words


# -- how it is shown ---------------------------------------------------------------------------------------


def test_the_line_before_a_replay_counts_iterations():
    found = plan(script(loop("b cb cB cb")), start=1.0)
    about = f"about {round(found.seconds)} s"
    assert outlook.in_short([found], found.seconds) == f"plan: iterations: 1 executed, 3 skipped; {about}"
    two = plan(script(loop("b cb cB cb"), loop("cb cb", block="train.py::for#1")), start=1.0)
    assert outlook.in_short([two], 9.0).startswith("plan: iterations of 2 loops: 1 executed, ")
    by_two = outlook.in_short([found, found], found.seconds)
    assert by_two == f"plan: iterations: 2 executed, by 2 workers; {about}"


def test_workers_for_which_there_is_no_room_take_turns():
    found = plan(script(loop("b cb cB cb")), start=1.0)
    assert outlook.seconds([found] * 4, 4) == outlook.seconds([found] * 4) == found.seconds
    assert outlook.seconds([found] * 4, 2) == 2 * found.seconds


def test_the_table_of_a_long_run_stays_short():
    run = script(loop(" ".join("cB" if i % 10 == 9 else "cb" for i in range(1000))))
    shown = list(outlook.lines([plan(run)]))
    assert len(shown) < 30
    assert shown[0] == f"{MAIN}: 1000 iterations"
    assert shown[2].split() == ["0-8", "skip", "0.00"]
    assert shown[3].split()[:4] == ["9", "execute", "checkpoint", "9"]
    assert any("skip 810, execute 90" in line for line in shown)


def test_the_json_has_every_stretch():
    found = plan(script(loop("b cb cB cb")))
    told_ = json.loads(outlook.as_json([found], found.seconds, "one", "train.py", []))
    assert {"run", "script", "estimate", "flaws", "main_loops", "stops", "seconds"} == told_.keys()
    (only,) = told_["main_loops"]
    assert (only["id"], only["iterations"], only["end"]) == (MAIN, 4, "restored")
    steps = [(one["from"], one["to"], one["action"], one["checkpoint"]) for one in only["steps"]]
    assert steps == [(0, 1, "skip", None), (2, 2, "execute", 2), (3, 3, "skip", None)]
    assert only["steps"][1]["blocks"] == {"skipped": {}, "executed": {BLOCK: 1}}
    assert sum(told_["seconds"][part] for part in ("start", "setup", "restore", "execute")) == pytest.approx(
        told_["seconds"]["total"], abs=0.001
    )


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.04, "0.0 s"), (3.14, "3.1 s"), (9.96, "10 s"), (59.4, "59 s"), (59.6, "1:00 min"), (125, "2:05 min"),
     (3599.7, "1:00 h"), (4350, "1:12 h")],
)  # fmt: skip
def test_lengths_of_time_are_read_at_a_glance(seconds, words):
    assert units.duration(seconds) == words
