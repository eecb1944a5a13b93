"""Faults people met elsewhere, one folder each in tests/faults/cases: record, add the probes, replay.

    pytest tests/faults                          all of them
    python tests/faults/test_faults.py NAME...   some of them, one line each

The truth is plain Python: the probed program run from the start. A case.json reads as those in tests/cases
(see tests/harness.py), with these keys besides:

    about            what goes wrong elsewhere, and what must come out
    outcomes         ["exact"], or ["exact", "told"]: the truth at the price of more executed iterations, or
                     exit 65 or 69 with the reason on stderr
    words            one of them must stand in that reason
    at_lines         value of --at -> [first, last] line of the truth that it must print
    replay_env       what the replay's environment has else (null: not set)
    truth_env        the same for the run that gives the truth
    ends             "killed": nothing is asked of the replay but the text
    store_at_most    bytes the store may take
    file_size_limit  bytes a file may have during the record
    damage, stamp    ways to damage the payloads that hold this float32, before a replay with --at
    volatile         folders whose file names differ from run to run
    requires         modules without which the case is skipped
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import json
import os
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

CASES = Path(__file__).with_name("cases")
NAMES = sorted(path.parent.name for path in CASES.glob("*/case.json"))
ROOT = Path(__file__).parents[2]

INEXACT, REFUSED = 65, 69
TIMEOUT_S = 300  # a command takes seconds; what takes this long on a loaded machine hangs
SHOWN = 800  # characters of stderr worth having in a failure
STAMPED = 256  # floats in a row that tell a payload from chance
CUT = 100  # bytes missing at the end of a payload that was cut off


@dataclass(frozen=True)
class Done:
    """What one command left."""

    code: int
    out: str
    err: str

    @property
    def tail(self) -> str:
        return self.err[-SHOWN:]


@dataclass(frozen=True)
class Case:
    """A program, its probed twin and what is asked of florc."""

    folder: Path
    spec: Mapping[str, Any]

    @property
    def exit_code(self) -> int:
        return int(self.spec.get("record_exit", 0))

    @property
    def target(self) -> list[str]:
        return ["-m", self.spec["module"]] if "module" in self.spec else [self.spec["script"]]

    def lay(self, home: Path, versions: Mapping[str, str]) -> Path:
        """Copy the program to a user's folder, with the given versions in place of the plain files."""
        left_out = shutil.ignore_patterns("__pycache__", "case.json", ".florc")
        shutil.copytree(self.folder, home, ignore=left_out)
        self.put(home, versions)
        for version in {*self.spec["edits"].values(), *self.spec.get("truth", {}).values()}:
            (home / version).unlink()
        return home

    def put(self, home: Path, versions: Mapping[str, str]) -> None:
        for name, version in versions.items():
            shutil.copyfile(self.folder / version, home / name)

    def run(self, home: Path, *argv: str, env: str = "", limited: bool = False) -> Done:
        """Run a command of this Python; `env` names the key with further changes of the environment."""
        values: dict[str, str] = dict(os.environ, PYTHONHASHSEED="0", OMP_NUM_THREADS="1", NO_COLOR="1")
        changes = {"FLORC_DIR": None, "FLORC_MODE": None, **_path_to_florc(),
                   **self.spec.get("env", {}), **self.spec.get(env, {})}
        for name, value in changes.items():
            values.pop(name, None)
            if value is not None:
                values[name] = value
        limit = _limit(self.spec.get("file_size_limit")) if limited else None
        done = subprocess.run([sys.executable, *argv], cwd=home, env=values, text=True, capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=TIMEOUT_S, check=False, preexec_fn=limit)
        return Done(done.returncode, done.stdout, done.stderr)

    def replay(self, home: Path, *options: str) -> Done:
        return self.run(home, "-m", "florc", "replay", *options, *self.target, env="replay_env")


def read_case(name: str) -> Case:
    folder = CASES / name
    return Case(folder, json.loads((folder / "case.json").read_text()))


def _path_to_florc() -> dict[str, str]:
    """Let the checkout be found where florc is not installed."""
    try:
        importlib.metadata.distribution("florc")
    except importlib.metadata.PackageNotFoundError:
        return {"PYTHONPATH": str(ROOT)}
    return {}


def _limit(size: int | None) -> Callable[[], None] | None:
    """Make what a child runs first so that its files stay below `size` bytes."""
    if size is None:
        return None
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def check(holds: bool, otherwise: str) -> None:
    if not holds:
        raise AssertionError(otherwise)


def same_text(got: str, want: str, what: str) -> None:
    """Fail with the first line that differs."""
    left, right = got.splitlines(keepends=True), want.splitlines(keepends=True)
    for number, (a, b) in enumerate(zip(left, right, strict=False), 1):
        check(a == b, f"{what}, line {number}: got {a!r}, want {b!r}")
    check(len(left) == len(right), f"{what}: got {len(left)} lines, want {len(right)}")


def user_files(home: Path, volatile: tuple[str, ...] = ()) -> dict[str, str]:
    """Digest of every user file; florc's store and bytecode are left out."""
    found = {}
    for path in sorted(home.rglob("*")):
        name = path.relative_to(home).as_posix()
        if path.is_file() and "__pycache__" not in name and not name.startswith((".florc", *volatile)):
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def same_files(got: Mapping[str, str], want: Mapping[str, str], what: str) -> None:
    differ = sorted({name for name, _ in set(got.items()) ^ set(want.items())})
    check(not differ, f"{what}: {', '.join(differ)}")


def told(case: Case, done: Done, what: str) -> bool:
    """Whether florc said that it cannot do this, where the case allows that; the reason must be there."""
    if done.code not in (INEXACT, REFUSED) or "told" not in case.spec.get("outcomes", ()):
        return False
    words = case.spec.get("words", [])
    check(any(word in done.err.lower() for word in words),
          f"{what} exits {done.code} without one of {words} on stderr: {done.tail}")
    return True


def record(case: Case, home: Path, plain: Done, plain_files: Mapping[str, str]) -> None:
    """Record the plain program: nothing may differ from plain Python."""
    dense = ["--overhead", "1"] if "max_executed" in case.spec else []
    args = case.spec.get("args", [])
    done = case.run(home, "-m", "florc", "record", *dense, *case.target, *args, limited=True)
    check(done.code == case.exit_code, f"record exits {done.code}: {done.tail}")
    if case.spec.get("ends") != "killed":  # what a killed process had in its buffers is lost, or not
        same_text(done.out, plain.out, "record prints otherwise than plain Python")
    volatile = tuple(case.spec.get("volatile", ()))
    same_files(user_files(home, volatile), plain_files, "record leaves other files than plain Python")
    if "file_size_limit" in case.spec:
        said = any(word in done.err.lower() for word in case.spec["words"])
        check(said, f"record does not say that the store is full: {done.tail}")
    if "store_at_most" in case.spec:
        size = sum(path.stat().st_size for path in (home / ".florc").rglob("*") if path.is_file())
        check(size <= case.spec["store_at_most"], f"the store takes {size:,} bytes")


def replay(case: Case, home: Path, truth: str) -> str:
    """Replay the probed program and say what came out: exact, or told with the price."""
    summary_file = home.with_name("summary.json")
    done = case.replay(home, "--summary", str(summary_file))
    if case.spec.get("ends") == "killed":
        same_text(done.out, truth, "replay is not what the probed program prints")
        return "exact"
    if case.exit_code != done.code and told(case, done, "replay"):
        return f"told (exit {done.code})"
    check(done.code == case.exit_code, f"replay exits {done.code}: {done.tail}")
    same_text(done.out, truth, "replay is not what the probed program prints")
    summary = json.loads(summary_file.read_text())
    check(summary["exact"] is True, f"the summary does not say exact: {done.tail}")
    for kind, counts in summary["checks"].items():
        check(counts["compared"] == counts["equal"], f"exact, though the {kind} check says {counts}")
    executed = sum(len(loop["executed"]) for loop in summary["main_loops"])
    if executed > case.spec.get("max_executed", sys.maxsize):
        check("told" in case.spec.get("outcomes", ()),
              f"replay executed {executed} main-loop iterations, at most {case.spec['max_executed']} allowed")
        return f"told (executed {executed})"
    return f"exact (executed {executed})"


def replay_at(case: Case, home: Path, truth: str, at: str) -> Done:
    """Replay some iterations: exactly what they wrote, and nothing else."""
    done = case.replay(home, "--at", at)
    if case.exit_code != done.code and told(case, done, f"--at {at}"):
        return done
    check(done.code == case.exit_code, f"--at {at} exits {done.code}: {done.tail}")
    first, last = case.spec["at_lines"][at]
    same_text(done.out, "".join(truth.splitlines(keepends=True)[first - 1:last]), f"--at {at}")
    return done


def replay_new(case: Case, home: Path, plain: str, truth: str) -> None:
    """Replay with --new: only lines that the probes write."""
    done = case.replay(home, "--new")
    lines, new = done.out.splitlines(), Counter(truth.splitlines()) - Counter(plain.splitlines())
    want = case.spec["new_lines"]
    check(done.code == case.exit_code, f"--new exits {done.code}: {done.tail}")
    check(len(lines) == want, f"--new prints {len(lines)} lines, want {want}")
    check(not Counter(lines) - new, f"--new prints lines that are not new: {list(Counter(lines) - new)[:2]}")


def damage(home: Path, how: str, stamp: float) -> None:
    """Damage every file of the store that holds the stamp's bytes."""
    pattern = struct.pack("<f", stamp) * STAMPED
    hit = [path for path in (home / ".florc").rglob("*") if path.is_file() and pattern in path.read_bytes()]
    check(bool(hit), f"no file of the store holds {stamp}")
    for path in hit:
        data = bytearray(path.read_bytes())
        place = data.index(pattern)
        if how == "flip":
            data[place + CUT] ^= 1
        else:
            del data[place + len(pattern) - CUT if how == "cut" else 0:]
        path.chmod(0o644)
        path.write_bytes(data)


def replay_damaged(case: Case, home: Path, truth: str) -> None:
    """Damage the store in each way; the damage is told and the text comes out all the same."""
    store, sound = home / ".florc", home.with_name("sound-store")
    store.rename(sound)
    for how in case.spec["damage"]:
        shutil.copytree(sound, store, symlinks=True)
        damage(home, how, case.spec["stamp"])
        done = replay_at(case, home, truth, case.spec["at"][0])
        check(any(word in done.err.lower() for word in case.spec["words"]),
              f"the damage ({how}) is not told: {done.tail}")
        shutil.rmtree(store)
    sound.rename(store)


def verdict(case: Case, work: Path) -> str:
    """Hold florc against the truth; return the outcome in words, or raise with the first fault."""
    spec, args = case.spec, case.spec.get("args", [])
    plain_home = case.lay(work / "plain", {})
    plain = case.run(plain_home, *case.target, *args)
    check(plain.code == case.exit_code, f"the plain program exits {plain.code}: {plain.tail}")
    truth_home = case.lay(work / "truth", spec.get("truth", spec["edits"]))
    probed = case.run(truth_home, *case.target, *args, env="truth_env")
    check(probed.code == case.exit_code, f"the probed program exits {probed.code}: {probed.tail}")

    home = case.lay(work / "user", {})
    record(case, home, plain, user_files(plain_home, tuple(spec.get("volatile", ()))))
    case.put(home, spec["edits"])
    before = user_files(home)
    if "damage" in spec:
        replay_damaged(case, home, probed.out)
    outcome = replay(case, home, probed.out)
    same_files(user_files(home), before, "replay touched user files")
    for at in spec.get("at", []):
        replay_at(case, home, probed.out, at)
    for workers in spec.get("workers", []):
        done = case.replay(home, "--workers", str(workers))
        check(done.code == case.exit_code, f"--workers {workers} exits {done.code}: {done.tail}")
        same_text(done.out, probed.out, f"--workers {workers}")
    if "new_lines" in spec and not outcome.startswith("told"):
        replay_new(case, home, plain.out, probed.out)
    same_files(user_files(home), before, "a replay touched user files")
    return outcome


def missing(case: Case) -> list[str]:
    """The modules that the case needs and this machine lacks."""
    return [name for name in case.spec.get("requires", []) if importlib.util.find_spec(name) is None]


@pytest.mark.program
@pytest.mark.parametrize("name", NAMES)
def test_replay_gives_the_truth_or_says_why_not(name: str, tmp_path: Path) -> None:
    case = read_case(name)
    if missing(case):
        pytest.skip(f"needs {', '.join(missing(case))}")
    verdict(case, tmp_path)


def main(names: list[str]) -> int:
    """Print one line for each case; return the number of faults, at most 1."""
    failed = False
    for name in names or NAMES:
        with tempfile.TemporaryDirectory(prefix="fault-") as work:
            try:
                print(f"ok    {name}  {verdict(read_case(Path(name).name), Path(work))}", flush=True)
            except (AssertionError, OSError, KeyError, ValueError, subprocess.TimeoutExpired) as fault:
                failed = True
                print(f"FAIL  {name}  {type(fault).__name__}: {fault}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
