"""Whole programs: the plan is what the replay does; samples; the search for the first difference; the bar."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from florc import messages
from florc.plans.planning import LoopPlan, Plan, Stretch
from florc.progress import Bar, Progress, shown
from florc.runtime.window import Window
from florc.spread.workers import Outcome
from tests.florc.running import TIMEOUT_S, environment, florc, lay, python
from tests.harness import Desk, Program, check_plan

EPOCHS, STEPS, TURN = 12, 6, 7
TRAIN = f"""\
import random, sys
random.seed(3)
def work(i):
    return random.random() + i
print("begin")
total, largest = 0.0, 0.0
for epoch in range({EPOCHS}):
    for step in range({STEPS}):
        total += work(step)
        largest = float("nan") if total > {TURN * 18.5} else max(largest, total)
    if epoch % 4 == 3:
        total += work(epoch)
        print("rare", epoch)
    print("epoch", epoch, total)
print("end", largest)
"""
OUTER = 'print("largest", largest)'
PROBES = {
    "outer": ("    if epoch %", f"    {OUTER}\n    if epoch %"),
    "inner": ("    if epoch %", "        print(step, largest + 1)\n    if epoch %"),
    "rare": ("        total += work(e", "        print(largest == largest)\n        total += work(e"),
    "at its end": ('print("end"', 'print(total)\nprint("end"'),
    "silent": ("    if epoch %", '    if largest != largest: print("gone at", epoch)\n    if epoch %'),
    "steady": ("    if epoch %", "    print(total, epoch < 99)\n    if epoch %"),
}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory) -> Path:
    folder: Path = lay(tmp_path_factory.mktemp("planned"), {"train.py": TRAIN})
    assert florc(folder, "record", "--overhead", "1", "train.py").code == 0
    return folder


def probed(folder: Path, probe: str) -> None:
    (folder / "train.py").write_text(TRAIN.replace(*PROBES[probe]))


def summary(folder: Path) -> Any:
    return json.loads((folder / "s.json").read_text())


# -- the plan is what is done ------------------------------------------------------------------------------


@pytest.mark.parametrize("probe", ["outer", "inner", "rare", "at its end", "silent"])
@pytest.mark.parametrize(
    "options",
    [(), ("--at", "3:5, -1"), ("--at", "5"), ("--sample", "25%"), ("--at", "0"), ("--new",)],
    ids=str,
)
def test_the_plan_is_what_the_replay_does(recorded, probe, options):
    probed(recorded, probe)
    assert florc(recorded, "replay", "--summary", "s.json", *options, "train.py").code == 0
    user = Desk(Program(recorded, ("train.py",)), recorded)
    check_plan(user, summary(recorded), *options)


@pytest.mark.parametrize("overhead", ["0", "1"])
def test_the_plan_of_a_run_that_an_error_ended(tmp_path, overhead):
    raises = TRAIN.replace("    if epoch %", "    if epoch == 9: raise SystemExit(4)\n    if epoch %")
    lay(tmp_path, {"train.py": raises})
    assert florc(tmp_path, "record", "--overhead", overhead, "train.py").code == 4
    (tmp_path / "train.py").write_text(raises.replace("    if epoch == 9", f"    {OUTER}\n    if epoch == 9"))
    assert florc(tmp_path, "replay", "--summary", "s.json", "train.py").code == 4
    plan = json.loads(florc(tmp_path, "replay", "--plan", "--json", "train.py").out)["main_loops"][0]
    action = "restore" if overhead == "1" else "execute"
    assert [(one["from"], one["to"], one["action"]) for one in plan["steps"]] == [(0, 9, action)]
    did = summary(tmp_path)["main_loops"][0]
    assert (did["executed"] if overhead == "0" else did["restored"])[:9] == list(range(9))


def test_a_replay_says_its_plan_and_how_long_it_took(recorded):
    probed(recorded, "inner")
    done = florc(recorded, "replay", "--at", "3", "--summary", "s.json", "train.py")
    first, last = done.err.splitlines()
    assert first.startswith("florc: plan: iterations: 1 executed, 3 skipped; about ")
    assert last.startswith("florc: replayed in ") and "(estimated " in last
    assert summary(recorded)["seconds"]["estimate"] > 0


@pytest.mark.parametrize("options", [(), ("--workers", "2"), ("--first-difference",)], ids=str)
def test_quiet_means_no_word(recorded, options):
    probed(recorded, "inner")
    done = florc(recorded, "replay", "-q", *options, "train.py")
    found = [line for line in done.err.splitlines() if "printed by" not in line]
    assert (done.code, found) == (0, [])


def test_the_plan_of_workers_has_the_share_of_each(recorded):
    probed(recorded, "inner")
    done = florc(recorded, "replay", "--plan", "--workers", "2", "--json", "train.py")
    shares = json.loads(done.out)["workers"]
    ran = [[one for one in share["main_loops"][0]["steps"] if one["action"] == "execute"] for share in shares]
    assert len(shares) == 2
    assert ran[0][0]["from"] == 0 and ran[1][-1]["to"] == EPOCHS - 1
    assert ran[0][-1]["to"] + 1 == ran[1][0]["from"]
    spread = florc(recorded, "replay", "--workers", "2", "train.py")
    assert "12 executed, by 2 workers; about" in spread.err and "replayed in" in spread.err


# -- samples -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("words", "epochs"), [("2", [0, 11]), ("25%", [0, 6, 11])])
def test_a_sample_prints_what_its_iterations_write(recorded, words, epochs):
    probed(recorded, "outer")
    truth = python(recorded, "train.py").out.removeprefix("begin\n").split("end ")[0]
    parts = ["largest" + part for part in truth.split("largest")[1:]]  # one of each epoch
    done = florc(recorded, "replay", "--sample", words, "train.py")
    assert (done.code, done.out) == (0, "".join(parts[epoch] for epoch in epochs))
    new = florc(recorded, "replay", "--sample", words, "--new", "train.py")
    assert new.out.splitlines() == [parts[epoch].splitlines()[0] for epoch in epochs]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--sample", "5", "--at", "3"), "--sample and --at do not go together"),
        (("--sample", "5", "--first-difference"), "--sample and --first-difference do not go together"),
        (("--plan", "--first-difference"), "--plan and --first-difference do not go together"),
        (("--json",), "--json goes with --plan alone"),
        (("--sample", "0"), "--sample 0: not a part of the iterations"),
    ],
)
def test_wrong_usage(recorded, options, words):
    done = florc(recorded, "replay", *options, "train.py")
    assert (done.code, done.out) == (2, "")
    assert words in done.err


# -- the first difference ----------------------------------------------------------------------------------


def truth_of(folder: Path, probe: str) -> int:
    """The epoch in which plain Python shows a NaN first."""
    probed(folder, "outer")
    lines = [line for line in python(folder, "train.py").out.splitlines() if line.startswith("largest")]
    probed(folder, probe)
    return lines.index("largest nan")


@pytest.mark.parametrize("options", [(), ("--workers", "3")], ids=str)
def test_the_first_iteration_with_a_nan_is_found(recorded, options):
    turn = truth_of(recorded, "outer")
    done = florc(recorded, "replay", "--first-difference", "--summary", "s.json", *options, "train.py")
    assert (done.code, done.out) == (0, "largest nan\n")
    assert f"train.py::for#0[{turn}] epoch={turn}: nan (before: " in done.err
    found = summary(recorded)["first_difference"]
    assert (found["iteration"], found["values"], found["now"]) == (turn, {"epoch": turn}, "nan")
    assert (found["file"], found["line"]) == ("train.py", 11)


def test_an_inner_line_is_found_in_its_iteration_and_all_of_that_is_printed(recorded):
    turn = truth_of(recorded, "inner")
    done = florc(recorded, "replay", "--first-difference", "train.py")
    lines = done.out.splitlines()
    assert done.code == 0 and len(lines) == STEPS and lines[-1].endswith("nan")
    assert f"[{turn}] epoch={turn}: nan" in done.err


@pytest.mark.parametrize(
    ("probe", "now"), [("silent", " (before: nothing)"), ("rare", "False (before: True)")]
)
def test_what_is_rarely_printed_is_searched_too(recorded, probe, now):
    turn = truth_of(recorded, probe)
    expected = turn if probe == "silent" else 7  # the rare branch is taken in 3, 7 and 11
    done = florc(recorded, "replay", "--first-difference", "train.py")
    assert done.code == 0
    assert f"train.py::for#0[{expected}] epoch={expected}: " in done.err and now in done.err


def test_a_search_may_be_held_to_some_iterations(recorded):
    probed(recorded, "outer")
    done = florc(recorded, "replay", "--first-difference", "--at", ":3", "train.py")
    assert (done.code, done.out) == (1, "")
    assert "no difference: the added lines say the same in the iterations looked at (" in done.err
    assert "of 3 iterations in" in done.err


def test_where_nothing_turns_the_exit_code_says_so(recorded):
    probed(recorded, "steady")
    done = florc(recorded, "replay", "--first-difference", "--summary", "s.json", "train.py")
    assert (done.code, done.out) == (1, "")
    assert summary(recorded)["first_difference"] is None


def test_without_a_line_in_the_loop_there_is_nothing_to_search(recorded):
    probed(recorded, "at its end")
    done = florc(recorded, "replay", "--first-difference", "train.py")
    assert (done.code, done.out) == (2, "")
    assert "no added line ran in these iterations" in done.err


@pytest.mark.parametrize(("at_once", "most"), [(1, 9), (4, 5)])
def test_bisection_looks_at_few_iterations(at_once, most):
    from florc.plans import searching

    calls: list[list[Window]] = []

    def look(parts: list[Window], told: set[str]) -> Outcome:
        calls.append(parts)
        places = [(n, i) for part in parts for n, found in (part.selected or {}).items() for i in found]
        rows = [[n, i, "train.py", 5, 1, str(i >= 77)] for n, i in places]
        return Outcome([0] * len(parts), [{"said": [row]} for row in rows], refused=False, printed=False)

    looks = searching._Looks(look, [(0, i) for i in range(100)], together=False)
    assert looks.first(at_once) == 77
    assert len(calls) <= most and {(0, 76), (0, 77)} <= looks.lines.keys()


# -- the bar -----------------------------------------------------------------------------------------------


def planned(*seconds: float) -> Plan:
    stretches = tuple(Stretch(i, i + 1, "execute", running=value) for i, value in enumerate(seconds))
    loop = LoopPlan("a", 0, len(seconds), stretches, "left")
    return Plan((loop,), start=1.0, setup=1.0, rest=0.0, stops=False)


def test_progress_goes_by_the_seconds_of_the_plan():
    progress = Progress(planned(2.0, 4.0, 2.0))
    assert [progress.share(0, i) for i in range(4)] == [0.2, 0.4, 0.8, 0.8]
    assert progress.share(-1, 0) == 0.0


def test_the_bar_in_words():
    assert shown(0.5, 45, 90, 61.0) == "[############------------]  50% iteration 45 of 90, 1:01 min left"


def test_text_takes_the_bar_away_and_an_unfinished_line_keeps_it_off(monkeypatch):
    drawn: list[str] = []
    monkeypatch.setattr(messages, "draw", drawn.append)
    bar = Bar(Progress(planned(1.0, 1.0)), frozenset({1, 2}), began=-100.0)
    times = iter(range(1000))
    bar._clock = lambda: float(next(times))
    bar.reach(0, 1)
    assert len(drawn) == 1 and "iteration 1 of 2" in drawn[0]
    bar.writes(1, "half a line")
    assert drawn[1:] == ["\r\x1b[2K"]
    bar.reach(0, 1)
    assert len(drawn) == 2
    bar.writes(1, " and its end\n")
    bar.reach(0, 1)
    assert len(drawn) == 3
    bar.writes(9, "to a file")
    bar.clear()
    assert drawn[3:] == ["\r\x1b[2K"]


SLOW = """\
import time
for epoch in range(20):
    for step in range(2):
        time.sleep(0.05)
    print(epoch)
"""


def on_terminal(cwd: Path, *words: str) -> tuple[str, str]:
    """What a command writes to a pipe, and to the terminal that its standard error is."""
    main, side = pty.openpty()
    with open(main, "rb", buffering=0) as terminal:
        process = subprocess.Popen(
            [sys.executable, *words], cwd=cwd, env=environment(TERM="xterm"), stdout=subprocess.PIPE,
            stderr=side,
        )  # fmt: skip
        os.close(side)
        seen = b"".join(_pieces(terminal))
        out, _ = process.communicate(timeout=TIMEOUT_S)
    return out.decode(), seen.decode()


def _pieces(terminal: Any) -> Sequence[bytes]:
    found: list[bytes] = []
    while True:
        try:
            piece = terminal.read(1 << 16)
        except OSError:  # the other side is closed
            return found
        if not piece:
            return found
        found.append(piece)


def test_on_a_terminal_a_bar_shows_how_far_it_is(tmp_path):
    lay(tmp_path, {"train.py": SLOW})
    florc(tmp_path, "record", "--overhead", "0", "train.py")
    (tmp_path / "train.py").write_text(SLOW.replace("        time", "        print('-')\n        time"))
    out, seen = on_terminal(tmp_path, "-m", "florc", "replay", "train.py")
    assert out == python(tmp_path, "train.py").out
    assert "] " in seen and "iteration 19 of 20" in seen
    assert seen.split("\x1b[2K")[-1].startswith("florc: replayed in")
    _, quiet = on_terminal(tmp_path, "-m", "florc", "replay", "-q", "train.py")
    assert quiet == ""
