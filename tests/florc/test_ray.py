"""Replays on Ray: one text, byte for byte that of one worker, whatever dies; and nothing is left behind."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.florc.running import ROOT, Ended, environment, florc, lay, python

pytestmark = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed")

TRAIN = """\
import os, random, sys, time
random.seed(3)
def work(i):
    time.sleep(0.01)
    return random.random() + i
print("threads", os.environ.get("OMP_NUM_THREADS"), os.environ.get("RAY_NODE_ID"))  # both Ray's doing
total = 0.0
for epoch in range(6):
    for step in range(15):
        total += work(step)
    print("epoch", epoch, total)
print("end", file=sys.stderr)
sys.exit(3)
"""
LOOK = "        print(epoch, step, random.getstate()[1][-1])\n"
PROBED = TRAIN.replace("        total += ", f"{LOOK}        total += ")
SLOW = PROBED.replace(LOOK, f"{LOOK}        time.sleep(60)\n")

# What happens to the second worker: each line of `fate` that is there is used up by one attempt.
# At `hold` all of them wait for a file called `go`. The numbers of all workers' processes are noted beside.
FATE = """\
import os, signal, sys, time
share = os.environ.get("FLORC_REPLAY_SHARE")
if share is not None and "replay" in sys.argv:
    with open({folder!r} + "/pids", "a") as stream:
        stream.write(str(os.getpid()) + "\\n")
    file = {folder!r} + "/fate"
    lines = open(file).read().splitlines() if os.path.exists(file) else []
    while lines == ["hold"] and not os.path.exists({folder!r} + "/go"):
        time.sleep(0.05)
    if lines and lines != ["hold"] and '"first": false' in share:
        open(file, "w").write("\\n".join(lines[1:]))
        if lines[0] == "killed":
            print("out of breath", file=sys.stderr)
            os.kill(os.getpid(), signal.SIGKILL)
        if lines[0] == "actor":
            os.kill(os.getppid(), signal.SIGKILL)
"""
SECONDS = 60  # for things that take one, on a loaded machine


@dataclass(frozen=True)
class Bench:
    """A recorded and probed program, and a cluster to replay it on."""

    folder: Path
    address: str
    cluster: subprocess.Popen[str]
    env: dict[str, str]

    def replay(self, *options: str, fate: str = "") -> Ended:
        return florc(self.folder, *self.words(*options, fate=fate), env=self.env)

    def words(self, *options: str, fate: str = "") -> list[str]:
        (self.folder / "fate").write_text(fate)
        (self.folder / "pids").write_text("")
        return ["replay", "--on", f"ray:{self.address}", *options, "train.py"]

    @property
    def truth(self) -> str:
        return (self.folder / "truth").read_text()

    def workers(self) -> list[int]:
        """The processes of all workers that have begun."""
        return [int(line) for line in (self.folder / "pids").read_text().split()]

    def left(self) -> list[object]:
        """What should not be there when a replay has ended: files, processes."""
        files = [path.name for path in (self.folder / "tmp").glob("florc-*")]
        return [*files, *(pid for pid in self.workers() if is_alive(pid))]


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def until(condition) -> None:
    """Wait for something that will be so."""
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.05)


@pytest.fixture(scope="module")
def bench(tmp_path_factory) -> Iterator[Bench]:
    folder = lay(tmp_path_factory.mktemp("ray"), {"train.py": TRAIN})
    (folder / "tmp").mkdir()
    (folder / "site").mkdir()
    (folder / "site" / "sitecustomize.py").write_text(FATE.format(folder=str(folder)))
    with ExitStack() as stack:
        # sockets lie below it, and their paths may have 107 characters
        short = stack.enter_context(tempfile.TemporaryDirectory(prefix="ray-", dir="/tmp"))
        env = environment(TMPDIR=str(folder / "tmp"), RAY_TMPDIR=short, RAY_USAGE_STATS_ENABLED="0")
        env["RAY_AUTH_MODE"] = "disabled"  # else Ray makes a token in the user's home
        env["PYTHONPATH"] = os.pathsep.join([str(folder / "site"), str(ROOT)])
        assert florc(folder, "record", "--overhead", "1", "train.py", env=env).code == 3
        (folder / "train.py").write_text(PROBED)
        (folder / "truth").write_text(python(folder, "train.py", env=env).out)
        script = str(Path(__file__).parent / "ray_cluster.py")
        cluster = stack.enter_context(
            subprocess.Popen(
                [sys.executable, script], env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        )
        assert cluster.stdin is not None and cluster.stdout is not None
        yield Bench(folder, cluster.stdout.readline().strip(), cluster, env)
        cluster.stdin.close()
        cluster.wait(SECONDS)


def test_ray_workers_print_what_one_process_prints(bench):
    done = bench.replay("--summary", "s.json")
    assert (done.code, done.out) == (3, bench.truth)
    lines = done.err.splitlines()
    assert "florc: 2 workers on the Ray cluster" in lines and lines.count("end") == 1
    assert [line for line in lines if not line.startswith("florc: ")] == ["end"]
    assert "not exact" not in done.err
    summary = json.loads((bench.folder / "s.json").read_text())
    assert summary["exact"] and summary["workers"] == 2
    assert summary["main_loops"][0]["executed"] == [0, 1, 2, 3, 4, 5]
    assert bench.left() == []


def test_more_workers_than_the_cluster_has_room_for_take_turns(bench):
    done = bench.replay("--workers", "5", "--new")
    alone = florc(bench.folder, "replay", "--new", "train.py", env=bench.env)
    assert (done.code, done.out) == (3, alone.out) and alone.out
    assert "5 workers" in done.err and len(bench.workers()) == 5


@pytest.mark.parametrize(
    ("fate", "words"),
    [("killed", "died: signal 9 on the node"), ("actor", "died: lost on the node")],
)
def test_a_worker_that_dies_is_started_once_more(bench, fate, words):
    done = bench.replay(fate=fate)
    assert (done.code, done.out) == (3, bench.truth)
    assert f"worker 1 (iterations 3 to 5 of train.py::for#0) {words}" in done.err
    assert "it is started once more" in done.err
    assert bench.left() == [] if fate == "killed" else not any(map(is_alive, bench.workers()))


def test_one_that_dies_twice_is_told_with_the_last_it_said(bench):
    done = bench.replay(fate="killed\nkilled")
    assert done.code == 65
    assert bench.truth.startswith(done.out) and "epoch 2" in done.out and "epoch 3" not in done.out
    assert "not exact: worker 1 (iterations 3 to 5 of train.py::for#0) died again: signal 9" in done.err
    assert "the last it said: out of breath" in done.err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_replay_leaves_nothing(bench, number):
    words = bench.words("--workers", "2")
    (bench.folder / "train.py").write_text(SLOW)
    with subprocess.Popen(
        [sys.executable, "-m", "florc", *words], cwd=bench.folder, env=bench.env, stdout=subprocess.PIPE
    ) as master:
        until(lambda: len(bench.workers()) == 2)
        master.send_signal(number)
        assert master.wait(SECONDS) == -number
    (bench.folder / "train.py").write_text(PROBED)
    assert bench.left() == []


def test_workers_end_with_a_killed_master(bench):
    words = bench.words("--workers", "2")
    (bench.folder / "train.py").write_text(SLOW)
    with subprocess.Popen(
        [sys.executable, "-m", "florc", *words], cwd=bench.folder, env=bench.env, stdout=subprocess.PIPE
    ) as master:
        until(lambda: len(bench.workers()) == 2)
        master.kill()
    (bench.folder / "train.py").write_text(PROBED)
    until(lambda: not any(map(is_alive, bench.workers())))


def test_what_a_node_cannot_do_is_said(bench):
    done = bench.replay("--gpus-per-worker", "0.5", "--cpus-per-worker", "3", "--plan")
    assert done.code == 0, "a plan asks nobody"
    env = {**bench.env, "FLORC_KEY_FILE": str(bench.folder / "no-key")}
    done = florc(bench.folder, *bench.words(), env=env)
    assert (done.code, done.out) == (69, "") and "was not recorded with your key" in done.err


def test_a_cluster_that_does_not_answer_is_one_line(bench):
    done = florc(bench.folder, "replay", "--on", "ray:127.0.0.1:1", "train.py", env=bench.env)
    assert (done.code, done.out) == (69, "")
    assert "cannot reach Ray at 127.0.0.1:1: " in done.err and len(done.err.splitlines()) == 1


def test_without_a_cluster_florc_starts_one_and_ends_it(bench, tmp_path):
    """The cluster of the other tests is not at hand here: its address lies in another folder."""
    with tempfile.TemporaryDirectory(prefix="ray-", dir="/tmp") as short:
        env = {**bench.env, "RAY_TMPDIR": short, "RAY_ADDRESS": "local"}
        (bench.folder / "fate").write_text("")
        (bench.folder / "pids").write_text("")
        done = florc(bench.folder, "replay", "--on", "ray", "--workers", "2", "train.py", env=env)
        assert (done.code, done.out) == (3, bench.truth)
        assert "2 workers on a Ray of its own" in done.err
        until(lambda: not any(short in words for words in command_lines()))


def command_lines() -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                found.append((entry / "cmdline").read_text(errors="replace"))
            except OSError:
                continue
    return found


def test_a_lost_node_is_made_good_elsewhere(bench):
    """The last test: the cluster has one node less after it."""
    words = bench.words("--workers", "2", fate="hold")
    with subprocess.Popen(
        [sys.executable, "-m", "florc", *words],
        cwd=bench.folder, env=bench.env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as master:  # fmt: skip
        until(lambda: len(bench.workers()) == 2)
        actors = [parent(pid) for pid in bench.workers()]
        bench.cluster.stdin.write("kill\n")
        bench.cluster.stdin.flush()
        until(lambda: not all(map(is_alive, actors)))
        (bench.folder / "go").touch()
        out, err = master.communicate(timeout=2 * SECONDS)
    assert (master.returncode, out) == (3, bench.truth), err
    assert "died: lost on the node" in err
