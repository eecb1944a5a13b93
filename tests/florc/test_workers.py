"""A replay spread over workers: near-ideal shares, and one text, byte for byte that of one worker."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from florc.partition import longest, partition
from florc.workers import merge
from tests.florc.running import environment, florc, lay, python

TRAIN = """\
import random, sys
random.seed(3)
def work(i):
    return random.random() + i
print("begin")
total, history = 0.0, []
for epoch in range(6):
    for step in range(15):
        total += work(step)
    history.append(total)
    print("epoch", epoch, total)
print("between", file=sys.stderr)
for late in range(2):
    for step in range(4):
        total -= work(step)
    print("late", late, total)
print("end", len(history))
sys.exit(3)
"""
LOOK = "        print(epoch, step, random.getstate()[1][-1])\n"
PROBED = TRAIN.replace("        total += ", f"{LOOK}        total += ")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory) -> Path:
    """A folder in which the program was recorded and then given its probe; the truth beside it."""
    folder: Path = lay(tmp_path_factory.mktemp("workers"), {"train.py": TRAIN})
    assert florc(folder, "record", "--overhead", "1", "train.py").code == 3
    (folder / "train.py").write_text(PROBED)
    (folder / "truth").write_text(python(folder, "train.py").out)
    return folder


@pytest.mark.parametrize("count", [2, 5, 40])
def test_workers_print_what_one_process_prints(recorded, count):
    done = florc(recorded, "replay", "--workers", str(count), "--summary", "s.json", "train.py")
    assert (done.code, done.out) == (3, (recorded / "truth").read_text())
    assert done.err.count("between") == 1
    summary = json.loads((recorded / "s.json").read_text())
    assert summary["exact"] and min(count, 3) <= summary["workers"] <= min(count, 6)
    assert summary["probes"][0]["fired"] == 90
    assert summary["main_loops"][0]["executed"] == [0, 1, 2, 3, 4, 5]


def test_chosen_iterations_are_spread_too(recorded):
    alone = florc(recorded, "replay", "--at", "1:5", "train.py")
    spread = florc(recorded, "replay", "--at", "1:5", "--workers", "2", "--summary", "s.json", "train.py")
    assert spread.out == alone.out != ""
    assert json.loads((recorded / "s.json").read_text())["workers"] == 2


@pytest.mark.parametrize("options", [(), ("--workers", "2")])
def test_inner_iterations_are_picked_by_value(recorded, options):
    done = florc(recorded, "replay", "--at", "2:4, step=3:5", *options, "--summary", "s.json", "train.py")
    truth = (recorded / "truth").read_text().splitlines()
    wanted = [line for line in truth if line.startswith(("2 3 ", "2 4 ", "3 3 ", "3 4 "))]
    assert (done.code, done.out.splitlines()) == (3, wanted)
    assert json.loads((recorded / "s.json").read_text())["main_loops"][0]["executed"] == [2, 3]


def test_new_lines_alone_are_spread_too(recorded):
    alone = florc(recorded, "replay", "--new", "train.py")
    assert florc(recorded, "replay", "--new", "--workers", "3", "train.py").out == alone.out != ""


DIES = """\
import os, signal, sys
if "FLORC_REPLAY_SHARE" in os.environ and not os.path.exists({flag!r} * {once}) and "replay" in sys.argv:
    if '"first": false' in os.environ["FLORC_REPLAY_SHARE"]:
        open({flag!r}, "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize(("once", "code"), [(1, 3), (0, 65)])
def test_a_worker_that_dies_is_started_once_more_and_then_told(recorded, tmp_path, once, code):
    flag = str(tmp_path / "died")
    (tmp_path / "sitecustomize.py").write_text(DIES.format(flag=flag, once=once))
    env = environment()
    env["PYTHONPATH"] = os.pathsep.join([str(tmp_path), env["PYTHONPATH"]])
    done = florc(recorded, "replay", "--workers", "2", "train.py", env=env)
    assert done.code == code
    assert "worker 1 died (signal 9): started once more" in done.err
    assert (done.out == (recorded / "truth").read_text()) is bool(once)
    assert ("worker 1 died again (signal 9)" in done.err) is not bool(once)


def test_probes_that_carry_state_are_refused(recorded):
    lines = PROBED.replace('print("begin")', 'print("begin")\nseen = []')
    (recorded / "train.py").write_text(lines.replace(LOOK, f"        seen.append(step)\n{LOOK}"))
    try:
        done = florc(recorded, "replay", "--workers", "2", "train.py")
    finally:
        (recorded / "train.py").write_text(PROBED)
    assert (done.code, done.out) == (2, "")
    assert "--workers: the added lines carry something" in done.err and "seen" in done.err


def test_text_of_other_processes_keeps_a_replay_in_one(tmp_path):
    program = "import os\ndef work(i):\n    os.system('echo sub')\n    return i\n" + (
        "for epoch in range(3):\n    for i in range(2):\n        x = work(i)\n    print(epoch, flush=True)\n"
    )
    lay(tmp_path, {"train.py": program})
    florc(tmp_path, "record", "--overhead", "1", "train.py")
    look = "        print('-', flush=True)\n"
    (tmp_path / "train.py").write_text(program.replace("        x =", f"{look}        x ="))
    wanted = python(tmp_path, "train.py").out
    assert florc(tmp_path, "replay", "--workers", "2", "train.py").out == wanted


# -- shares ------------------------------------------------------------------------------------------------


def simulated(epochs: int, ckpt_every: int, uneven: bool) -> tuple[list[float], list[float]]:
    """Seconds of each epoch, and what it takes to begin with it."""
    chance = random.Random(epochs)
    seconds = [chance.uniform(5, 15) if uneven else 10.0 for _ in range(epochs)]
    return seconds, [sum(seconds[i - i % ckpt_every : i]) for i in range(epochs)]


@pytest.mark.parametrize("workers", [2, 3, 4, 8, 16, 32, 64])
@pytest.mark.parametrize("uneven", [False, True])
def test_shares_are_near_the_ideal(workers, uneven):
    seconds, start_up = simulated(200, 1, uneven)
    starts = partition(seconds, start_up, workers)
    assert len(starts) <= workers
    assert longest(seconds, start_up, starts) <= sum(seconds) / workers + max(seconds)


@pytest.mark.parametrize("workers", [2, 4, 8, 16])
def test_shares_begin_at_checkpoints_where_these_are_sparse(workers):
    seconds, start_up = simulated(160, 10, False)
    starts = partition(seconds, start_up, workers)
    assert longest(seconds, start_up, starts) == pytest.approx(sum(seconds) / workers)
    assert all(start_up[start] == 0 for start in starts)


def test_more_workers_than_checkpoints_gain_what_the_checkpoints_allow():
    seconds, start_up = simulated(6, 3, False)  # as of a fine-tuning that kept two
    starts = partition(seconds, start_up, 6)
    assert longest(seconds, start_up, starts) == pytest.approx(30.0)


@given(st.lists(st.floats(0.001, 100), min_size=1, max_size=12), st.integers(1, 12), st.data())
def test_no_other_shares_are_shorter_by_more_than_a_start_up(
    seconds: list[float], workers: int, data: Any
) -> None:
    start_up = data.draw(st.lists(st.floats(0, 50), min_size=len(seconds), max_size=len(seconds)))
    starts = partition(seconds, start_up, workers)
    assert starts[0] == 0 and len(starts) <= workers and starts == sorted(set(starts))
    best = longest(seconds, start_up, starts)
    cuts = data.draw(st.sets(st.integers(1, max(len(seconds) - 1, 1)), max_size=workers - 1))
    other = [0, *sorted(cut for cut in cuts if cut < len(seconds))]
    assert best <= (longest(seconds, start_up, other) + max(start_up)) * (1 + 1e-9)


def test_summaries_are_merged():
    def of(executed: list[int], exact: bool, notes: list[str]) -> dict[str, Any]:
        return {
            "exact": exact,
            "main_loops": [{"id": "a", "iterations": 4, "executed": executed, "restored": [0, 1, 2, 3]}],
            "blocks": {"skipped": 1, "executed": 2},
            "bytes": {"owed": 30, "paid": 10},
            "probes": [{"fired": 2}],
            "checks": {"state": {"compared": 1, "equal": 1}},
            "seconds": {"total": len(executed) * 1.0},
            "problems": [] if exact else ["x"],
            "causes": [],
            "notes": notes,
            "refused": [],
            "started_again": "",
        }

    merged = merge([of([0, 1], True, ["n"]), of([3], False, ["n", "m"])])
    assert merged["exact"] is False and merged["workers"] == 2
    assert merged["main_loops"][0]["executed"] == [0, 1, 3]
    assert merged["main_loops"][0]["restored"] == [2]
    assert merged["blocks"] == {"skipped": 2, "executed": 4}
    assert merged["bytes"] == {"owed": 60, "paid": 20}
    assert merged["probes"][0]["fired"] == 4
    assert (merged["problems"], merged["notes"]) == (["x"], ["n", "m"])
    assert merged["seconds"]["total"] == 2.0
