"""A bench for one trial: a program in a folder of its own, commands that run in a faulty world, a judge.

A trial records or replays a program of `cases/` while something goes wrong, then looks at what is left. Its
verdict is one of the words in `VERDICTS`; whatever is none of them is a fault, and raises AssertionError.
The truth is plain Python: the probed program run from the start.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from tests.harness import Outcome, check, check_same_text

ROOT = Path(__file__).parents[2]
CASES = Path(__file__).with_name("cases")
WORLD = Path(__file__).with_name("world")
INEXACT, REFUSED, EXIT_INTERRUPT = 65, 69, 130
TIMEOUT_S = 600  # a command takes a second, on a machine with much else to do a minute or two; this hangs
SHOWN = 800  # characters of stderr worth having in a failure
DENSE = ("--overhead", "1")  # every checkpoint there may be, for the store to be at work all the time
PROBE = "probe"  # what every line of a probe begins with

OWN_FRAME = re.compile(r'File "[^"]*/(florc|runtime|transforms)/')
CUT_OFF = ("interrupted",)  # by which a replay tells that it ends early

WHOLE = "whole"  # the replay is exact: the truth, byte for byte
PREFIX = "prefix"  # exact up to where the recorded run was cut off, with a note
TOLD = "told"  # exit 65, with the reason
NOTHING = "refused"  # exit 69, with the reason and nothing printed
VERDICTS = (WHOLE, PREFIX, TOLD, NOTHING)


@dataclass(frozen=True)
class Fault:
    """One kind of fault.

    Attributes:
        name: what it is called on the command line.
        what: what happens, for the table.
        made: how it is made, for the table.
        trial: makes it happen once and returns the verdict.
        needs: says why it cannot be made on this machine; "" where it can.
        most: how many trials differ from one another; 0: any number.
    """

    name: str
    what: str
    made: str
    trial: Callable[[Bench, Random], str]
    needs: Callable[[], str] = lambda: ""
    most: int = 0


@dataclass
class Bench:
    """One trial's folder."""

    work: Path
    case: str = "regression"
    env: dict[str, str] = field(default_factory=dict)

    @property
    def home(self) -> Path:
        return self.work / "home"

    @property
    def store(self) -> Path:
        return self.home / ".florc"

    @property
    def temporary(self) -> Path:
        return self.work / "tmp"

    @property
    def run(self) -> Path:
        """The only run of the store."""
        (folder,) = (self.store / "runs").iterdir()
        return folder

    def lay(self, case: str = "regression") -> Bench:
        """Put a case's plain program into the folder."""
        self.case = case
        self.temporary.mkdir()
        self.home.mkdir()
        self.put("train.py")
        return self

    def clear(self) -> None:
        """Take away what a run has left."""
        shutil.rmtree(self.store, ignore_errors=True)
        for name in self.files():
            (self.home / name).unlink()
        self.put("train.py")

    def put(self, version: str) -> None:
        """Put a version of the program in place."""
        shutil.copyfile(CASES / self.case / version, self.home / "train.py")

    def command(
        self, *argv: str, world: Mapping[str, Any] | None = None, **options: Any
    ) -> subprocess.Popen[str]:
        """Start a command of this Python in the program's folder; Ctrl-C and a hangup are not ignored there.

        (A shell lets its background commands ignore the one, nohup the other, and they hand that on.)
        """
        first = options.pop("preexec_fn", None)

        def begin() -> None:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            signal.signal(signal.SIGHUP, signal.SIG_DFL)
            if first is not None:
                first()

        env = environment(self.temporary, world) | self.env
        streams: dict[str, Any] = {
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            "stdin": subprocess.DEVNULL,
            "preexec_fn": begin,
        }
        return subprocess.Popen(
            [sys.executable, *argv], cwd=self.home, env=env, text=True, **(streams | options)
        )

    def do(self, *argv: str, world: Mapping[str, Any] | None = None, **options: Any) -> Outcome:
        """Run a command to its end."""
        return ended(self.command(*argv, world=world, **options))

    def record(
        self, *args: str, options: Sequence[str] = (), world: Mapping[str, Any] | None = None, **more: Any
    ) -> Outcome:
        return self.do("-m", "florc", "record", *options, "train.py", *args, world=world, **more)

    def record_until(self, at: int, act: str, *args: str, **more: Any) -> tuple[Outcome, bool]:
        """Record in a world where something happens at the store's write `at`; whether it came to that.

        On a busy machine a record may make fewer writes than it does on an idle one.
        """
        count = self.work / "count"
        world = {"at": at, "act": act, "count": str(count), **more}
        done = self.record(*args, options=DENSE, world=world)
        shows = done.code != 0 or done.err != ""
        return done, shows or not count.exists() or int(count.read_text()) >= at

    def replay(self, *options: str, world: Mapping[str, Any] | None = None, **more: Any) -> Outcome:
        return self.do("-m", "florc", "replay", "-q", *options, "train.py", world=world, **more)

    def truth(self, version: str = "train.py", *args: str) -> Outcome:
        """What plain Python makes of a version of the program."""
        return _truth(self.case, version, args)

    def store_writes(self, *options: str) -> int:
        """How many writes to the store a sound record of this case makes."""
        return _store_writes(self.case, options)

    def seconds(self) -> float:
        """How long a sound record of this case takes here and now, from its first file on."""
        return _seconds(self.case)

    def judge(self, version: str, printed: str, *args: str) -> str:
        """Replay with the probes of `version` and say what came out.

        printed: what the recorded run is known to have printed: a replay must not have less.
        """
        truth = self.truth(version, *args)
        return self.replayed(version, lambda done: judged(done, truth, printed))

    def replayed(self, version: str, judge: Callable[[Outcome], str], *options: str) -> str:
        """Replay with the probes of `version`; the judge's verdict. Nothing may be touched or left behind."""
        self.put(version)
        before = self.files()
        verdict = judge(self.replay(*options))
        touched = sorted({name for name, _ in set(self.files().items()) ^ set(before.items())})
        check(not touched, f"the replay touched {touched}")
        litter = sorted(path.name for path in self.temporary.glob("florc*"))
        check(not litter, f"the replay left {litter} in the folder for temporary files")
        return verdict

    def files(self) -> dict[str, bytes]:
        """The user's files."""
        return {path.name: path.read_bytes() for path in self.home.iterdir() if path.is_file()}

    def must_be_plain(self, done: Outcome, *args: str) -> None:
        """Hold a record to what plain Python prints and leaves."""
        plain = self.truth("train.py", *args)
        check_same_text(done.out, plain.out, "record prints otherwise than plain Python")
        check(
            done.code == plain.code,
            f"record exits {done.code}, plain Python {plain.code}: {done.err[-SHOWN:]}",
        )
        files = {name: text for name, text in self.files().items() if name != "train.py"}
        check(
            files == _files(self.case, args), f"record leaves other files than plain Python: {sorted(files)}"
        )
        check_words(done, plain.err)


def environment(temporary: Path, world: Mapping[str, Any] | None = None) -> dict[str, str]:
    """What a trial's commands find in their environment."""
    paths = [str(ROOT)] if importlib.util.find_spec("florc") is None or "PYTHONPATH" in os.environ else []
    env = dict(os.environ, PYTHONHASHSEED="0", OMP_NUM_THREADS="1", NO_COLOR="1", TMPDIR=str(temporary))
    env["FLORC_KEY_FILE"] = str(temporary.with_name("key"))
    for name in ("FLORC_DIR", "FLORC_MODE", "FLORC_TRIAL", "PYTHONPATH", "PYTHONUNBUFFERED"):
        env.pop(name, None)
    if world is not None:
        paths.append(str(WORLD))
        env["FLORC_TRIAL"] = json.dumps(world)
    return env | ({"PYTHONPATH": os.pathsep.join(paths)} if paths else {})


def ended(process: subprocess.Popen[str]) -> Outcome:
    """Wait for a command and take what it left."""
    started = time.perf_counter()
    try:
        out, err = process.communicate(timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        raise AssertionError(f"hangs: {process.args!r}: {(err or '')[-SHOWN:]}") from None
    return Outcome(process.returncode, out or "", err or "", time.perf_counter() - started)


def judged(done: Outcome, truth: Outcome, printed: str) -> str:
    """The verdict on a replay; AssertionError where something is wrong in silence."""
    verdict = excused(done)
    if verdict:
        return verdict
    interrupted = truth.code == -signal.SIGINT
    check_words(done, "" if interrupted else truth.err)
    if done.out == truth.out:
        check(
            done.code == (EXIT_INTERRUPT if interrupted else truth.code),
            f"the whole text, but exit {done.code}: {done.err[-SHOWN:]}",
        )
        return WHOLE
    return cut_off(done, truth.out, printed)


def excused(done: Outcome) -> str:
    """The verdict on a replay that says itself that it is not exact or not possible; "" for others."""
    check(not OWN_FRAME.search(done.err), f"a traceback of florc's own: {done.err[-SHOWN:]}")
    if done.code == REFUSED:
        check(done.out == "", f"refused, though it printed {done.out[:120]!r}")
        check("florc: error:" in done.err, f"refused without a reason: {done.err[-SHOWN:]!r}")
        return NOTHING
    if done.code == INEXACT:
        check("not exact:" in done.err, f"exit 65 without a reason: {done.err[-SHOWN:]!r}")
        return TOLD
    return ""


def cut_off(done: Outcome, truth: str, printed: str) -> str:
    """The verdict on a replay that ends early: what it prints is right, and nothing of the record is lost."""
    check(
        truth.startswith(done.out),
        f"wrong in silence (exit {done.code}): {_first_difference(done.out, truth)}",
    )
    check(
        any(word in done.err for word in CUT_OFF),
        f"cut off in silence (exit {done.code}): {done.err[-SHOWN:]!r}",
    )
    kept = without_probes(done.out)
    check(kept.startswith(printed), f"lost: {printed[len(kept) :][:200]!r}; {done.err[-SHOWN:]}")
    return PREFIX


def _first_difference(got: str, want: str) -> str:
    for number, (left, right) in enumerate(zip(got.splitlines(), want.splitlines(), strict=False), 1):
        if left != right:
            return f"line {number}: got {left!r}, want {right!r}"
    return f"got {len(got)} characters, want {len(want)}"


def without_probes(text: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith(PROBE))


def check_words(done: Outcome, own: str = "") -> None:
    """What is on standard error beside the program's own words are single lines of florc's."""
    rest = "".join(line for line in done.err.splitlines(keepends=True) if not line.startswith("florc: "))
    check(
        _nameless(rest) == _nameless(own), f"strange words on stderr (exit {done.code}): {done.err[-SHOWN:]}"
    )


def _nameless(words: str) -> str:
    """The words of a program without what differs from run to run: addresses, folders, thread numbers."""
    return re.sub(r'0x[0-9a-f]+|File ".*?"|Thread-\d+|repeated \d+ more', "", words)


@functools.cache
def _truth(case: str, version: str, args: tuple[str, ...]) -> Outcome:
    return _plain(case, version, args)[0]


@functools.cache
def _files(case: str, args: tuple[str, ...]) -> dict[str, bytes]:
    return _plain(case, "train.py", args)[1]


@functools.cache
def _plain(case: str, version: str, args: tuple[str, ...]) -> tuple[Outcome, dict[str, bytes]]:
    with tempfile.TemporaryDirectory(prefix="reliability-") as work:
        bench = Bench(Path(work)).lay(case)
        bench.put(version)
        done = bench.do("train.py", *args)
        return done, {name: text for name, text in bench.files().items() if name != "train.py"}


@functools.cache
def _store_writes(case: str, options: tuple[str, ...]) -> int:
    with tempfile.TemporaryDirectory(prefix="reliability-") as work:
        bench = Bench(Path(work)).lay(case)
        count = Path(work) / "count"
        bench.record(options=options, world={"count": str(count)})
        return int(count.read_text())


@functools.cache
def _seconds(case: str) -> float:
    with tempfile.TemporaryDirectory(prefix="reliability-") as work:
        bench = Bench(Path(work)).lay(case)
        process = bench.command("-m", "florc", "record", "--overhead", "1", "train.py")
        begun(bench, process)
        return ended(process).seconds


def begun(bench: Bench, process: subprocess.Popen[str]) -> None:
    """Wait until a record has described its run."""
    deadline = time.monotonic() + TIMEOUT_S
    while not list(bench.store.glob("runs/*/run.json")) and process.poll() is None:
        check(time.monotonic() < deadline, "the record does not begin")
        time.sleep(0.002)


def killed_after(process: subprocess.Popen[str], seconds: float, number: int = signal.SIGKILL) -> Outcome:
    """Send a signal after some seconds; what the process left."""
    time.sleep(seconds)
    if process.poll() is None:
        process.send_signal(number)
    return ended(process)
