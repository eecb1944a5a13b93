"""A replay spread over workers: one text, byte for byte that of one worker, whatever dies."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from florc import replaying
from florc.options import ReplayOptions, Target
from florc.plans import outlook
from florc.spread import spreading
from florc.spread.local import Local
from florc.spread.merging import merge
from tests.florc.running import TIMEOUT_S, environment, florc, lay, python

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


def test_auto_keeps_a_short_replay_in_one_process(recorded):
    done = florc(recorded, "replay", "--workers", "auto", "--summary", "s.json", "train.py")
    assert (done.code, done.out) == (3, (recorded / "truth").read_text())
    assert "workers" not in json.loads((recorded / "s.json").read_text())
    assert "workers" not in done.err


@pytest.mark.parametrize(("cores", "threads", "seconds", "count"), [
    (9, 1, {1: 60, 2: 32, 4: 18, 8: 17, 9: 17}, 4),
    (9, 1, {1: 60, 2: 32, 4: 18, 8: 17, 9: 16}, 9),
    (8, 2, {1: 60, 2: 32, 4: 20}, 4),
    (7, 2, {1: 60, 2: 32, 3: 20}, 3),
    (2, 1, {1: 60, 2: 55}, 0),
    (2, 2, {1: 60}, 0),
    (1, 1, {1: 60}, 0),
])  # fmt: skip
def test_auto_takes_no_more_processes_than_make_it_quicker(monkeypatch, cores, threads, seconds, count):
    prepared: Any = SimpleNamespace(
        matches={}, folder="", window=None, run=SimpleNamespace(threads=threads),
        plans=lambda parts, spent: parts, script=SimpleNamespace(main_loops=[], at={}),
    )
    monkeypatch.setattr(Local, "slots", lambda self: cores)
    monkeypatch.setattr(spreading, "windows", lambda _, number: [None] * number)
    monkeypatch.setattr(outlook, "seconds", lambda plans: seconds[len(plans)])
    assert len(spreading.quickest(prepared, 0.0)) == count


@pytest.mark.parametrize(("seconds", "workers", "words"), [
    (31.0, 1, " (with --workers 2 about 16 s)"),
    (29.0, 1, ""),
    (31.0, 3, ""),
])  # fmt: skip
def test_a_long_replay_tells_what_workers_would_make_of_it(monkeypatch, seconds, workers, words):
    prepared: Any = SimpleNamespace(plans=lambda parts, spent: parts)
    plan: Any = SimpleNamespace(seconds=seconds)
    monkeypatch.setattr(spreading, "quickest", lambda *_: [None, None])
    monkeypatch.setattr(outlook, "seconds", lambda plans: 16.0)
    options = ReplayOptions(Target("train.py"), workers=workers)
    assert replaying._quicker(prepared, options, plan, 0.0) == words


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


# Each worker notes its number, and does as it is told.
TOLD = """\
import os, sys, time
if "FLORC_REPLAY_SHARE" in os.environ and "replay" in sys.argv:
    with open({pids!r}, "a") as stream:
        stream.write(str(os.getpid()) + "\\n")
    {act}
"""


def told(folder: Path, act: str = "") -> tuple[dict[str, str], Path]:
    """An environment in which workers do this, and the file with their numbers."""
    pids = folder / "pids"
    pids.touch()
    (folder / "tmp").mkdir()
    (folder / "sitecustomize.py").write_text(TOLD.format(pids=str(pids), act=act))
    env = environment(TMPDIR=str(folder / "tmp"))
    env["PYTHONPATH"] = os.pathsep.join([str(folder), env["PYTHONPATH"]])
    return env, pids


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_workers_end_with_their_master(recorded, tmp_path, number):
    env, pids = told(tmp_path)
    (recorded / "train.py").write_text(PROBED.replace(LOOK, f"{LOOK}        __import__('time').sleep(60)\n"))
    words = [sys.executable, "-m", "florc", "replay", "--workers", "2", "train.py"]
    with subprocess.Popen(words, cwd=recorded, env=env, stdout=subprocess.PIPE) as master:
        until(lambda: pids.read_text().count("\n") == 2)
        master.send_signal(number)
        assert master.wait(TIMEOUT_S) == -number
    if number != signal.SIGKILL:  # nobody is left to tidy up
        assert [*(tmp_path / "tmp").iterdir()] == []
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids.read_text().split()))
    (recorded / "train.py").write_text(PROBED)


def until(condition) -> None:
    """Wait for something that will be so."""
    end = time.monotonic() + TIMEOUT_S
    while not condition():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.02)


def test_files_that_are_saved_meanwhile_are_not_mixed_into_one_text(recorded, tmp_path):
    env, _ = told(tmp_path, "open('train.py', 'a').write('# saved\\n')")
    done = florc(recorded, "replay", "--workers", "2", "train.py", env=env)
    (recorded / "train.py").write_text(PROBED)
    assert (done.code, done.out) == (69, "")
    assert "other files of the program, than its master" in done.err


def test_a_run_that_ended_by_ctrl_c_ends_so_again(tmp_path):
    program = TRAIN.replace("sys.exit(3)", "raise KeyboardInterrupt")
    lay(tmp_path, {"train.py": program})
    florc(tmp_path, "record", "--overhead", "1", "train.py")
    (tmp_path / "train.py").write_text(program.replace("        total += ", f"{LOOK}        total += "))
    alone = florc(tmp_path, "replay", "-q", "train.py")
    spread = florc(tmp_path, "replay", "-q", "--workers", "2", "train.py")
    assert (spread.code, spread.out, spread.err) == (alone.code, alone.out, alone.err)
    assert spread.code == -signal.SIGINT


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
    # where the shares part depends on the seconds that the record has
    found = re.search(r"worker 1 \(iterations [1-4] to 5 of train\.py::for#0\) died", done.err)
    assert found is not None
    assert f"{found[0]}: signal 9; it is started once more" in done.err
    assert (done.out == (recorded / "truth").read_text()) is bool(once)
    assert ("died again: signal 9" in done.err) is not bool(once)


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
