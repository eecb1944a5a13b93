"""Run whole training programs under plain Python and under florc, and compare.

A `Program` says what lies in a folder and which of its files have a probed version; a `Desk` is one user's
copy of it, where commands run; an `Outcome` is what one command left. `Case` adds what a case.json expects,
and `check_case` holds florc to it. The truth is always plain Python: the probed program run from the start.

case.json: {"script": "train.py" or "module": "pkg.train", "args": [],
            "edits": {file: its probed version}, "truth": {file: the version that prints the truth, where that
            is not the probed one}, "max_executed": most main-loop iterations a replay may execute,
            "at": [values of --at], "workers": [values of --workers], "new_lines": what --new must print,
            "record_exit": 0, "env": {}, "expect": "exact" or "refused"}
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

REFUSED = 69  # florc's exit code for a replay it will not start
TIMEOUT_S = 300  # a command takes seconds; what takes this long on a loaded machine hangs
SHOWN = 1500  # characters of a program's stderr worth having in a failure

DENSE = ("--overhead", "1")  # where executed iterations are counted, checkpoints must not be thinned out


@dataclass(frozen=True)
class Program:
    """A training program: its folder, how it is started, and the probed versions of its files."""

    folder: Path
    target: tuple[str, ...]  # ("train.py",) or ("-m", "pkg.train")
    args: tuple[str, ...] = ()
    edits: Mapping[str, str] = field(default_factory=dict)  # file -> its probed version in the folder
    truth: Mapping[str, str] = field(default_factory=dict)  # file -> the version that prints the truth
    files: tuple[str, ...] = ()  # what to take from the folder; () takes all of it
    env: Mapping[str, str] = field(default_factory=dict)

    @property
    def versions(self) -> set[str]:
        """The files that a user's folder does not have: they replace others."""
        return {*self.edits.values(), *self.truth.values(), "case.json"}


@dataclass(frozen=True)
class Outcome:
    """What one command left behind."""

    code: int
    out: str
    err: str
    seconds: float

    def must_exit(self, code: int, what: str) -> Outcome:
        """Return self if the command exited so, else fail with its stderr."""
        check(self.code == code, f"{what} exits {self.code}, not {code}: {self.err[-SHOWN:]}")
        return self


@dataclass(frozen=True)
class Desk:
    """One user's folder with a program in it; every command runs there."""

    program: Program
    home: Path

    def python(self) -> Outcome:
        """Run the program under plain Python."""
        return self._run(*self.program.target, *self.program.args)

    def record(self, *options: str) -> Outcome:
        """Record the program."""
        return self._run("-m", "florc", "record", *options, *self.program.target, *self.program.args)

    def replay(self, *options: str) -> Outcome:
        """Replay the newest run."""
        return self._run("-m", "florc", "replay", *options, *self.program.target)

    def replay_summary(self) -> tuple[Outcome, dict[str, Any]]:
        """Replay the newest run and read its summary ({} if the replay wrote none)."""
        path = self.home.with_name(self.home.name + ".summary.json")
        outcome = self.replay("--summary", str(path))
        return outcome, json.loads(path.read_text()) if path.exists() else {}

    def edit(self) -> None:
        """Put the probed versions in place, as the user's editor would."""
        self.put(self.program.edits)

    def put(self, versions: Mapping[str, str]) -> None:
        """Put the given versions in the place of the plain files."""
        for name, version in versions.items():
            shutil.copyfile(self.program.folder / version, self.home / name)

    def files(self) -> dict[str, str]:
        """Digest of every user file; florc's store and bytecode are left out."""
        found = {}
        for path in sorted(self.home.rglob("*")):
            name = path.relative_to(self.home).as_posix()
            if path.is_file() and not name.startswith(".florc/") and "__pycache__" not in name:
                found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        return found

    def _run(self, *argv: str) -> Outcome:
        env = dict(os.environ, PYTHONHASHSEED="0", OMP_NUM_THREADS="1", NO_COLOR="1", **self.program.env)
        for name in ("FLORC_DIR", "FLORC_MODE"):
            env.pop(name, None)
        start = time.perf_counter()
        done = subprocess.run([sys.executable, *argv], cwd=self.home, env=env, text=True, capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=TIMEOUT_S, check=False)
        return Outcome(done.returncode, done.stdout, done.stderr, time.perf_counter() - start)


def desk(program: Program, home: Path, versions: Mapping[str, str] | None = None) -> Desk:
    """Lay a copy of the program into `home`, with the given versions in place of the plain files."""
    home.mkdir(parents=True)
    for name in program.files or [path.name for path in program.folder.iterdir()]:
        source = program.folder / name
        if source.is_dir():
            shutil.copytree(source, home / name, ignore=shutil.ignore_patterns("__pycache__", ".florc"))
        else:
            shutil.copyfile(source, home / name)
    laid = Desk(program, home)
    laid.put(versions or {})
    for version in program.versions:
        (home / version).unlink(missing_ok=True)
    return laid


def check(holds: bool, otherwise: str) -> None:
    """Fail with the sentence if it does not hold (an assert that works outside of test modules too)."""
    if not holds:
        raise AssertionError(otherwise)


def check_same_text(got: str, want: str, what: str) -> None:
    """Fail with the first line that differs."""
    if got == want:
        return
    got_lines, want_lines = got.splitlines(), want.splitlines()
    for number, (left, right) in enumerate(zip(got_lines, want_lines, strict=False), 1):
        check(left == right, f"{what}, line {number}: got {left!r}, want {right!r}")
    check(False, f"{what}: got {len(got_lines)} lines, want {len(want_lines)}, or other line ends")


def check_same_files(got: Mapping[str, str], want: Mapping[str, str], what: str) -> None:
    """Fail with the names of the files that differ."""
    differ = sorted({name for name, _ in set(got.items()) ^ set(want.items())})
    check(not differ, f"{what}: {', '.join(differ)}")


def executed(summary: Mapping[str, Any]) -> int:
    """How many main-loop iterations a replay executed."""
    return sum(len(loop["executed"]) for loop in summary["main_loops"])


@dataclass(frozen=True)
class Truth:
    """What plain Python does: the program as recorded, and with its probes from the start."""

    plain: str
    probed: str
    files: Mapping[str, str]  # what the plain run leaves

    @property
    def new(self) -> Counter[str]:
        """The lines that only the probed program prints."""
        return Counter(self.probed.splitlines()) - Counter(self.plain.splitlines())


def find_truth(program: Program, work: Path, exit_code: int = 0) -> Truth:
    """Run the program and its probed version under plain Python."""
    plain = desk(program, work / "plain")
    probed = desk(program, work / "truth", program.truth or program.edits)
    plain_out = plain.python().must_exit(exit_code, "the plain program").out
    return Truth(plain_out, probed.python().must_exit(exit_code, "the probed program").out, plain.files())


def check_record(user: Desk, truth: Truth, *options: str, exit_code: int = 0) -> None:
    """Record at a user's desk: the output, the exit code and the files must be plain Python's."""
    outcome = user.record(*options).must_exit(exit_code, "record")
    check_same_text(outcome.out, truth.plain, "record prints otherwise than plain Python")
    check_same_files(user.files(), truth.files, "record leaves other files than plain Python")


def check_replay(user: Desk, truth: Truth, *, exit_code: int = 0, most: int | None = None) -> dict[str, Any]:
    """Replay at an edited desk: exact, no user file touched, at most so many iterations executed."""
    before = user.files()
    outcome, summary = user.replay_summary()
    outcome.must_exit(exit_code, "replay")
    check_same_text(outcome.out, truth.probed, "replay is not what the probed program prints")
    check_same_files(user.files(), before, "replay touched user files")
    check(summary.get("exact") is True, f"the summary does not say exact: {summary}")
    if not summary["started_again"]:
        check_plan(user, summary)
    if most is not None:
        count = executed(summary)
        check(count <= most, f"replay executed {count} main-loop iterations, at most {most} allowed")
    return summary


def check_plan(user: Desk, summary: Mapping[str, Any], *options: str) -> None:
    """What --plan says becomes of the iterations is what the replay has done with them."""
    plan = json.loads(user.replay("--plan", "--json", *options).must_exit(0, "--plan").out)
    for loop, did in zip(plan["main_loops"], summary["main_loops"], strict=False):
        where: dict[str, list[int]] = {"execute": [], "restore": [], "skip": []}
        for step in loop["steps"]:
            where[step["action"]] += range(step["from"], step["to"] + 1)
        executed, restored = where["execute"], sorted(where["restore"] + where["skip"])
        same = (loop["id"], executed, restored) == (did["id"], did["executed"], did["restored"])
        check(same, f"the plan is {where}, the replay did {did}")
    reached = len(plan["main_loops"])
    beyond = [did for did in summary["main_loops"][reached:] if did["executed"] or did["restored"]]
    check(not beyond, f"the plan stops before {beyond}")


@dataclass(frozen=True)
class Case:
    """A whole program in tests/cases and what its case.json expects of florc."""

    program: Program
    refused: bool
    exit_code: int
    max_executed: int | None
    at: tuple[str, ...]
    workers: tuple[int, ...]
    new_lines: int | None


def read_case(folder: Path) -> Case:
    """Read a case's folder."""
    spec = json.loads((folder / "case.json").read_text())
    target = ("-m", spec["module"]) if "module" in spec else (spec["script"],)
    program = Program(folder, target, tuple(spec.get("args", ())), spec["edits"], spec.get("truth", {}),
                      env=spec.get("env", {}))
    return Case(
        program,
        refused=spec.get("expect") == "refused",
        exit_code=spec.get("record_exit", 0),
        max_executed=spec.get("max_executed"),
        at=tuple(spec.get("at", ())),
        workers=tuple(spec.get("workers", ())),
        new_lines=spec.get("new_lines"),
    )


def check_case(case: Case, work: Path) -> None:
    """Hold florc to a case: plain Python against record, then against every replay the case asks for."""
    truth = find_truth(case.program, work, case.exit_code)
    user = desk(case.program, work / "user")
    check_record(user, truth, *(DENSE if case.max_executed is not None else ()), exit_code=case.exit_code)
    user.edit()
    before = user.files()
    if case.refused:
        check_refused(user)
        return
    check_replay(user, truth, exit_code=case.exit_code, most=case.max_executed)
    for at in case.at:
        check_at(user, truth, at, case.exit_code)
    for count in case.workers:
        outcome = user.replay("--workers", str(count)).must_exit(case.exit_code, f"--workers {count}")
        check_same_text(outcome.out, truth.probed, f"--workers {count}")
    if case.new_lines is not None:
        check_new(user, truth, case.new_lines)
    check_same_files(user.files(), before, "a replay touched user files")


def check_refused(user: Desk) -> None:
    """A changed program: exit 69, nothing on standard output, the reason on standard error."""
    outcome = user.replay().must_exit(REFUSED, "replay of a changed program")
    check(outcome.out == "", f"a refused replay printed {outcome.out[:120]!r}")
    check(outcome.err != "", "a refused replay gave no reason")


def check_at(user: Desk, truth: Truth, at: str, exit_code: int = 0) -> None:
    """--at prints a contiguous part of the truth, not empty and not all of it."""
    part = user.replay("--at", at).must_exit(exit_code, f"--at {at}").out
    check(part.strip() != "", f"--at {at} prints nothing")
    check(part != truth.probed and part in truth.probed, f"--at {at} prints no proper part: {part[:200]!r}")


def check_new(user: Desk, truth: Truth, count: int) -> None:
    """--new prints the probes' lines and no others."""
    lines = user.replay("--new").must_exit(0, "--new").out.splitlines()
    check(len(lines) == count, f"--new prints {len(lines)} lines, not {count}")
    strange = Counter(lines) - truth.new
    check(not strange, f"--new prints lines that are not new: {list(strange)[:3]}")
