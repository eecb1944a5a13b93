"""Hold florc to one generated program: plain Python is the truth.

`check(program, runner, folder)` runs the program plainly, recorded, probed plainly, and replayed in each of
the asked ways, and says for every replay what came of it (`record` and `replay` are its halves: a recording
may serve several sets of probes):

    right       the text and exit code of the truth (or 65, where the probes make the program end otherwise)
    restarted   right, after starting again without skipping
    told        exit 65, with the reason on standard error
    refused     exit 69 (or 2 under --at and --sample, where the option does not go with the probes)
    WRONG       anything else: other text, another exit code, florc's own traceback, a hang, a file touched
    void        nothing can be said: the program itself fails to end, or differs from run to run
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tests.warm import Done

from .text import (
    EDITED,
    MAIN,
    MARKED,
    RECORDED,
    TRUTH,
    Program,
    is_sample,
    iterations,
    of_iterations,
    of_probes,
)

RIGHT, RESTARTED, TOLD, REFUSED, WRONG, VOID = "right", "restarted", "told", "refused", "WRONG", "void"
EXIT_USAGE, EXIT_INEXACT, EXIT_REFUSED = 2, 65, 69
# seconds; programs take a tenth of one, real processes on a loaded machine a hundred times that
PLAIN_TIMEOUT, FLORC_TIMEOUT = 60.0, 180.0
CODE = "exit-code"  # file with what the recorded program exited with
SHOWN = 600  # characters of standard error worth having in a report

_NO_PROGRAM = re.compile(rb"^(?:SyntaxError|IndentationError|TabError)", re.MULTILINE)
_OWN_FRAME = re.compile(r'File "[^"]*/(?:florc|runtime|transforms)/\w+\.py"')


class Runner(Protocol):
    """Where jobs run: `tests.warm.Warm` or `Cold`."""

    def run(
        self, argv: Sequence[str], cwd: Path, env: Mapping[str, str] | None = None, timeout: float = 0
    ) -> Done: ...


@dataclass(frozen=True)
class Verdict:
    """What came of one replay (or, with options None, of the recording)."""

    outcome: str
    options: tuple[str, ...] | None
    why: str = ""
    detail: str = ""
    summary: Mapping[str, Any] | None = None


class Wrong(Exception):
    """What is wrong, in a few words that are the same for the same fault; and the particulars."""

    def __init__(self, why: str, detail: str = "") -> None:
        super().__init__(why)
        self.why, self.detail = why, detail


def check(program: Program, runner: Runner, folder: Path) -> list[Verdict]:
    """Run everything; one verdict for each replay, or one alone where it does not come to that."""
    recorded = record(program, runner, folder)
    return replay(program, runner, folder) if recorded is None else [recorded]


def record(program: Program, runner: Runner, folder: Path) -> Verdict | None:
    """Run the recorded version plainly and under florc; a verdict if that ends it."""
    plain = _plain(program, RECORDED, runner, folder)
    if plain.code is None or plain.code < 0:
        return Verdict(VOID, None, "the program does not end by itself")
    if _NO_PROGRAM.search(plain.err):
        return Verdict(VOID, None, "not a program", plain.err.decode())
    home = _lay(program, RECORDED, folder / "user")
    try:
        _record(program, runner, home, plain, folder)
    except Wrong as fault:
        return Verdict(WRONG, None, fault.why, fault.detail)
    (folder / CODE).write_text(str(plain.code))
    return None


def replay(program: Program, runner: Runner, folder: Path) -> list[Verdict]:
    """Replay, with the probes of the program and in each of its ways, what `record` has recorded."""
    truth, home = _plain(program, TRUTH, runner, folder), folder / "user"
    if truth.code is None or _NO_PROGRAM.search(truth.err):
        return [Verdict(VOID, None, "the probed program is none", truth.err.decode())]
    _put(program.files(EDITED), home)
    found = []
    for options in program.replays:
        try:
            found.append(_replay(program, options, runner, home, truth))
        except Wrong as fault:
            found.append(Verdict(WRONG, options, fault.why, fault.detail))
    return found


def _lay(program: Program, version: str, folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    _put(program.files(version), folder)
    return folder


def _put(files: Mapping[str, str], folder: Path) -> None:
    for name, text in files.items():
        (folder / name).write_text(text)


def _plain(program: Program, version: str, runner: Runner, folder: Path) -> Done:
    return runner.run([MAIN], _lay(program, version, folder / version), timeout=PLAIN_TIMEOUT)


def files_in(folder: Path) -> dict[str, str]:
    """Digest of every file; florc's store and bytecode are left out."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and not name.startswith(".florc/") and "__pycache__" not in name:
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def _record(program: Program, runner: Runner, home: Path, plain: Done, folder: Path) -> None:
    done = runner.run(["-m", "florc", "record", *program.record, MAIN], home, timeout=FLORC_TIMEOUT)
    _no_fault("record", done)
    if not list((home / ".florc" / "runs").glob("*/run.json")) or b"florc: warning: record" in done.err:
        raise Wrong("record fails: " + _florc_words(done), _tail(done))
    if (done.code, done.out) != (plain.code, plain.out):
        what = "prints otherwise" if done.code == plain.code else f"exits {done.code}, not {plain.code}"
        raise Wrong(f"record {what}", _difference(done, plain.out))
    if files_in(home) != files_in(folder / RECORDED):
        raise Wrong("record leaves other files", str(set(files_in(home)) ^ set(files_in(folder / RECORDED))))


def _no_fault(what: str, done: Done) -> None:
    if done.code is None:
        raise Wrong(f"{what} hangs", _tail(done))
    if _OWN_FRAME.search(done.err.decode(errors="replace")):
        raise Wrong(f"{what} has a traceback of florc's", _tail(done))
    if done.code < 0:
        raise Wrong(f"{what} is ended by signal {-done.code}", _tail(done))


def _replay(program: Program, options: tuple[str, ...], runner: Runner, home: Path, truth: Done) -> Verdict:
    before, summary_file = files_in(home), home.parent / "summary.json"
    summary_file.unlink(missing_ok=True)
    argv = ["-m", "florc", "replay", *options, "--summary", str(summary_file), MAIN]
    done = runner.run(argv, home, timeout=FLORC_TIMEOUT)
    _no_fault("replay", done)
    want = _wanted(program, options, runner, home, truth, done)
    if want is None:
        return Verdict(VOID, options, "the loop was left early")
    if files_in(home) != before:
        raise Wrong("replay touches files", str(set(files_in(home).items()) ^ set(before.items())))
    summary = json.loads(summary_file.read_text()) if summary_file.exists() else None
    in_part = bool({"--at", "--sample"} & set(options))
    refusals = (EXIT_REFUSED, EXIT_USAGE) if in_part else (EXIT_REFUSED,)
    if done.code in (EXIT_INEXACT, *refusals):
        if b"florc:" not in done.err:
            raise Wrong(f"replay exits {done.code} without a reason", _tail(done))
        if done.code != EXIT_INEXACT and done.out:
            raise Wrong("replay refuses and prints", _difference(done, b""))
        outcome = TOLD if done.code == EXIT_INEXACT else REFUSED
        if outcome == TOLD and done.out == want and str(truth.code) != (home.parent / CODE).read_text():
            outcome = RIGHT
        return Verdict(outcome, options, _florc_words(done), _difference(done, want), summary)
    if done.out != want:
        raise Wrong(f"replay prints otherwise and exits {done.code}", _difference(done, want))
    if done.code != truth.code and not in_part:
        raise Wrong(f"replay exits {done.code}, not {truth.code}", _tail(done))
    if summary is None or summary["exact"] is not True:
        raise Wrong("replay exits as if exact, and its summary does not say so", _tail(done))
    again = bool(summary["started_again"])
    return Verdict(RESTARTED if again else RIGHT, options, summary["started_again"], "", summary)


def _wanted(program: Program, options: tuple[str, ...], runner: Runner, home: Path,
            truth: Done, done: Done) -> bytes | None:
    """What the replay is to print; None where that cannot be told. done: what it did print."""
    if "--new" in options:
        return of_probes(truth.out.decode()).encode()
    if not {"--at", "--sample"} & set(options):
        return truth.out
    marked = _plain(program, MARKED, runner, home.parent).out.decode()
    if "--sample" in options:
        parts = iterations(marked)
        if parts is None:
            return None
        fits = is_sample(done.out.decode(), parts, int(options[options.index("--sample") + 1]))
        return done.out if fits else "".join(parts).encode()
    text = of_iterations(marked, options[options.index("--at") + 1])
    return None if text is None else text.encode()


def _tail(done: Done) -> str:
    return done.err.decode(errors="replace")[-SHOWN:]


def _florc_words(done: Done) -> str:
    """florc's last line of reasons, without numbers and names of a program's own."""
    lines = [line for line in done.err.decode(errors="replace").splitlines()
             if line.startswith("florc: ") and not line.startswith(("florc: replayed in ", "florc: plan: "))]
    return lines[-1].removeprefix("florc: ") if lines else ""


def _difference(done: Done, want: bytes) -> str:
    """The first line that differs, and the end of standard error."""
    got_lines, want_lines = (text.decode(errors="replace").split("\n") for text in (done.out, want))
    for number, (got, wanted) in enumerate(zip(got_lines, want_lines, strict=False), 1):
        if got != wanted:
            return f"line {number}:\n  got  {got[:300]!r}\n  want {wanted[:300]!r}\n{_tail(done)}"
    return f"{len(got_lines)} lines, not {len(want_lines)}\n{_tail(done)}"
