"""`florc runs show`: what a run is, what it keeps, and how much of that equal bytes have saved.

All of it comes from the description, the journal and the index; nothing is loaded but numbers and names.
"""

from __future__ import annotations

import marshal
import shlex
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from florc import trust, units
from florc.runtime import journal, large, runs, store
from florc.runtime.figures import Chances, Figures
from florc.runtime.runs import Run
from florc.runtime.script import LoopRun, Script, parse

TOLD_LIBRARIES = ("torch", "numpy")  # results depend on these most; --json has all
MAX_NOTES = 5  # of what the recording noted; a replay tells all


@dataclass
class Loop:
    """All runs through one guarded loop.

    main: its iterations are noted. checkpoints: that a replay can use. skipped: places where one more
    might have been taken. followed: to the end; where a loop takes next to nothing, florc gives up.
    chances: what came of these places while it was recorded; None: not known.
    """

    id: str
    main: bool
    runs: int = 0
    iterations: int = 0
    checkpoints: int = 0
    skipped: int = 0
    followed: bool = True
    chances: Chances | None = None


@dataclass(frozen=True)
class Sizes:
    """Bytes.

    disk: all files. shared: of these, what other runs hold too. payloads: different ones, without the gaps
    between them. logical: as if each checkpoint, entry state and kept file had been written whole: equal
    bytes as often as they were kept.
    """

    disk: int
    payloads: int
    logical: int
    shared: int = 0

    @property
    def factor(self) -> float:
        """How many times the same bytes were kept, on average."""
        return self.logical / self.payloads if self.payloads else 1.0


@dataclass(frozen=True)
class Contents:
    """What a run keeps.

    flaws: why its record is not whole. notes: what the recording noted. figures: what it says of itself at
    its end; None: there is no end, or one by an earlier version.
    """

    sizes: Sizes
    loops: tuple[Loop, ...]
    figures: Figures | None = None
    notes: tuple[str, ...] = ()
    flaws: tuple[str, ...] = ()


def contents(run: Run) -> Contents:
    """Look into a run."""
    read = journal.read(run.folder, run.seal)
    script = parse(read.events)
    notes = [f"recording stopped before the program did: {script.stopped}"] if script.stopped else []
    return Contents(
        _sizes(run, script),
        _loops(script),
        script.figures,
        tuple(notes + script.notes),
        trust.flaws(run, read),
    )


def _loops(script: Script) -> tuple[Loop, ...]:
    """In the order in which they were met first."""
    found: dict[str, Loop] = {}
    chances = script.figures.loops if script.figures else {}
    for one in script.at.values():
        loop = found.setdefault(one.block, Loop(one.block, not one.depth, chances=chances.get(one.block)))
        places = max(len(one.iterations) - 1, 0) + bool(one.outcome)
        loop.runs += 1
        loop.iterations += len(one.iterations)
        loop.checkpoints += len(one.checkpoints)
        loop.skipped += places - len(one.checkpoints)
        loop.followed = loop.followed and not one.silent and one.block not in script.muted
    return tuple(found.values())


def _sizes(run: Run, script: Script) -> Sizes:
    apart = list(large.sizes(run.folder, run.folder.parent.parent / large.OBJECTS))
    disk = sum(entry.stat().st_size for entry in run.folder.iterdir() if entry.is_file())
    disk += sum(size for _, size, _ in apart)
    shared = sum(size for _, size, holders in apart if holders > 1)
    blobs = store.BlobReader(run.folder, run.seal)
    payloads = sum(blobs.size(key) for key in blobs.keys())  # noqa: SIM118 (no mapping)
    if script.figures:
        logical = script.figures.logical
    else:
        logical = sum(blobs.size(key) for key in _kept(script, blobs) if key in blobs)
    blobs.close()
    return Sizes(disk, payloads, logical, shared)


def _kept(script: Script, blobs: store.BlobReader) -> Iterator[str]:
    """The payloads, each as often as the run asked for it to be kept."""
    for event in script.events:
        if event[0] == "f":
            yield from (part for part in event[1][3:5] if isinstance(part, str))
    for one in script.at.values():
        yield from _kept_by(one, blobs)


def _kept_by(one: LoopRun, blobs: store.BlobReader) -> Iterator[str]:
    if one.base is not None:
        yield one.base
    for checkpoint in one.checkpoints:
        yield from checkpoint
        with suppress(store.DamagedBlob):  # `florc verify` tells
            for content in marshal.loads(blobs.get_sealed(checkpoint[0]))[0].values():
                yield from _memory(content)


def _memory(content: bytes) -> Iterator[str]:
    """The payloads that hold the bytes of a node (see docs/store-format.md)."""
    if content[_TAG:].startswith((b"storage", b"array")):
        loaded = marshal.loads(content)
        yield from (part for part in loaded if isinstance(part, str) and len(part) == _HASH_CHARS)


_TAG = 10  # bytes of marshal before the tag: a tuple and its length, a string and its length
_HASH_CHARS = 32


# -- for people and for programs ----------------------------------------------------------
def facts(run: Run) -> dict[str, Any]:
    """All fields of a run's description, with the state it is in and the folder it lies in."""
    return {**runs.facts(run), "folder": str(run.folder), "status": run.state}


def everything(run: Run) -> dict[str, Any]:
    """The facts, and what the run keeps, as plain values."""
    kept = contents(run)
    return {
        **facts(run),
        "bytes": {**asdict(kept.sizes), "factor": round(kept.sizes.factor, 2)},
        "overhead_seconds": kept.figures.spent if kept.figures else None,
        "loops": [asdict(loop) for loop in kept.loops],
        "notes": list(kept.notes),
        "flaws": list(kept.flaws),
    }


def lines(run: Run) -> Iterator[str]:
    """The same for people."""
    kept = contents(run)
    rows = [
        ("run", run.run),
        ("program", " ".join([program(run), *map(shlex.quote, run.argv)])),
        ("state", _state(run)),
        ("started", f"{local(run.started)} by {run.user} on {run.host}" + (_origin(run))),
        ("took", took(run)),
        ("versions", _versions(run)),
        ("git", run.git or ""),
        ("on disk", f"{units.size(kept.sizes.disk)} in {run.folder}"),
        ("shared", f"{units.size(kept.sizes.shared)} of these with other runs" if kept.sizes.shared else ""),
        ("in full", _saving(kept.sizes)),
        ("overhead", f"{kept.figures.spent:.1f} s" if kept.figures else ""),
    ]
    for name, words in rows:
        if words:
            yield f"{name:<12} {words}"
    if kept.loops:
        yield "loops"
        yield from (f"  {line}" for line in table([_LOOP_COLUMNS, *map(_loop_row, kept.loops)]))
    yield from (f"note         {note}" for note in kept.notes[:MAX_NOTES])
    if len(kept.notes) > MAX_NOTES:
        yield f"note         and {len(kept.notes) - MAX_NOTES} more"
    yield from (f"not whole    {flaw}" for flaw in kept.flaws)


def program(run: Run) -> str:
    """What is run, as on a command line."""
    return f"-m {run.script}" if run.module else run.script


def _state(run: Run) -> str:
    if run.exit_code is not None:
        return f"{run.state}, exit code {run.exit_code}"
    return f"{run.state}, process {run.pid}" if run.state == runs.RUNNING else run.state


def _origin(run: Run) -> str:
    at = run.imported_from.get("at")
    return f", imported {local(str(at))}" if at else ""


def _versions(run: Run) -> str:
    found = run.more.get("libraries")
    libraries = found if isinstance(found, dict) else {}
    told = [f"{name} {libraries[name]}" for name in TOLD_LIBRARIES if name in libraries]
    return ", ".join([f"florc {run.florc}", run.python, *told])


def _saving(sizes: Sizes) -> str:
    kept = f"{sizes.factor:.1f} times the {units.size(sizes.payloads)} of payloads"
    return f"{units.size(sizes.logical)}, {kept}: equal bytes are kept once"


_LOOP_COLUMNS = ("loop", "runs", "iterations", "checkpoints", "skipped", "")


def _loop_row(loop: Loop) -> tuple[str, ...]:
    iterations = str(loop.iterations) if loop.main else ""
    left = [] if loop.followed else ["takes next to nothing: not followed to its end"]
    if loop.chances and loop.chances.behind:
        left.append(f"{loop.chances.behind} skipped while the disk was behind")
    if loop.chances and loop.chances.blind:
        left.append(f"{loop.chances.blind} skipped because florc could not see all")
    return (loop.id, str(loop.runs), iterations, str(loop.checkpoints), str(loop.skipped), "; ".join(left))


def local(stamp: str) -> str:
    """A recorded moment on the reader's clock."""
    try:
        return f"{datetime.fromisoformat(stamp).astimezone():%Y-%m-%d %H:%M:%S}"
    except ValueError:
        return stamp


def took(run: Run) -> str:
    """How long a run took; empty where it has no end."""
    try:
        seconds = (
            datetime.fromisoformat(run.finished or "") - datetime.fromisoformat(run.started)
        ).total_seconds()
    except ValueError:
        return ""
    minutes, rest = divmod(seconds, 60)
    return f"{int(minutes)}:{rest:04.1f}" if minutes else f"{seconds:.1f} s"


def table(rows: list[tuple[str, ...]]) -> list[str]:
    """Rows in columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
