"""`florc runs gc`: free the bytes that no run needs, and remove the runs that the user no longer wants.

Without a wish only garbage goes: what killed commands have left, and cached code that nobody has used for
long. A run that is being recorded or replayed is not touched, nor is one that cannot be read.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path

import click

from . import cache, locks, messages, overlays, sharing, units, workers
from .choosing import Candidate, Wanted, choose
from .errors import EXIT_REFUSED
from .runtime import answers, appending, description, journal, runs, store
from .runtime.runs import Run

ASIDE_SECONDS = 24 * 3600  # a file is written aside within seconds; what is older a kill has left


@dataclass(frozen=True)
class Item:
    """Something that goes.

    words: what happens to what ("run one of train.py"). size: bytes that are free then.
    folder: the run's folder, which must be had alone.
    """

    verb: str
    words: str
    size: int
    act: Callable[[], None]
    folder: Path | None = None


def collect(home: Path, wanted: Wanted, dry: bool) -> int:
    """Free what can be freed, and tell of each item on standard output; 0, or 69 if something has to stay."""
    found = [(run, _is_busy(run)) for run in runs.all_runs(home)]
    inside = {run.run: [] if busy else list(_left_in(run)) for run, busy in found}
    beside = [*_left_beside(home), *_cached(home)]
    unwanted = _unwanted(home, found, wanted, inside, beside)
    gone = {item.folder for item in unwanted}
    rest = [item for items in inside.values() for item in items if item.folder not in gone]
    freed, failed = _carry_out([*rest, *beside, *_left_of_replays(), *unwanted], dry)
    click.echo(f"{units.size(freed)} {'would be freed' if dry else 'freed'}")
    if wanted.max_size is not None and (left := _size(home) - (freed if dry else 0)) > wanted.max_size:
        kept = "what is left is protected, in use, or no run that can be read"
        messages.say(f"the store has {units.size(left)}, more than {units.size(wanted.max_size)}: {kept}")
    return EXIT_REFUSED if failed else 0


def _carry_out(items: list[Item], dry: bool) -> tuple[int, bool]:
    """Do it, one line each; the bytes freed, and whether something would not go."""
    freed, failed = 0, False
    for item in items:
        try:
            if not (dry or _done(item)):
                messages.say(f"{item.words} is left alone: a replay reads it")
                continue
        except OSError as error:
            messages.warning(f"{item.words} stays: {error.strerror or error}")
            failed = True
            continue
        freed += item.size
        verb = f"would {item.verb}" if dry else _PAST[item.verb]
        click.echo(f"{verb} {item.words} ({units.size(item.size)})")
    return freed, failed


_PAST = {"remove": "removed", "cut": "cut"}


def _done(item: Item) -> bool:
    """Do it; False if somebody uses the run."""
    if item.folder is None:
        item.act()
        return True
    with locks.alone(item.folder) as mine:
        if mine:
            item.act()
        return mine


# -- runs that the user no longer wants ---------------------------------------------------
def _unwanted(
    home: Path,
    found: list[tuple[Run, bool]],
    wanted: Wanted,
    inside: dict[str, list[Item]],
    beside: list[Item],
) -> list[Item]:
    """The runs that go: chosen as if the garbage in and beside them were gone already."""
    if wanted == Wanted():
        return []
    now, sizes = time.time(), {run.run: _size(run.folder) for run, _ in found}
    others = _size(home) - sum(sizes.values()) - sum(item.size for item in beside)
    known = [
        Candidate(
            run.run,
            (run.script, run.module, run.rank),
            _age(run, now),
            sizes[run.run] - sum(item.size for item in inside[run.run]),
            busy,
        )
        for run, busy in found
    ]
    chosen = choose(known, wanted, others)
    return [_removal(run, chosen[run.run], sizes[run.run]) for run, _ in found if run.run in chosen]


def _removal(run: Run, why: str, size: int) -> Item:
    program = f"-m {run.script}" if run.module else run.script
    return Item("remove", f"run {run.run} of {program}: {why}", size, partial(runs.remove, run), run.folder)


def _age(run: Run, now: float) -> float | None:
    """Seconds since a run was recorded, or came in by an import."""
    stamps = (str(run.imported_from.get("at", "")), run.started)
    for stamp in stamps:
        with suppress(ValueError):
            return now - datetime.fromisoformat(stamp).timestamp()
    return None


def _is_busy(run: Run) -> bool:
    """True if a run is being recorded (also where that cannot be known), or replayed."""
    if run.state == runs.RUNNING:
        return True
    with locks.alone(run.folder) as mine:
        return not mine


# -- garbage ------------------------------------------------------------------------------
def _left_in(run: Run) -> Iterator[Item]:
    """What kills have left in the folder of a run."""
    for entry in sorted(run.folder.iterdir()):
        stem, _, pid = entry.name.rpartition(".")
        if stem in (description.FILE, appending.Reserve.NAME, answers.NAME) and pid.isdigit():
            yield _file(entry, f"{entry.name} of run {run.run}", run.folder)
    end = _used(run)
    tail = (run.folder / store.PACK).stat().st_size - end
    if tail > 0:
        words = f"the end of {store.PACK} of run {run.run}, which nothing refers to"
        yield Item("cut", words, tail, partial(os.truncate, run.folder / store.PACK, end), run.folder)


def _used(run: Run) -> int:
    """Where the last payload ends that the index names; the end of the pack if the index is not whole."""
    size = (run.folder / store.PACK).stat().st_size
    with suppress(FileNotFoundError):
        known = store.read_index(run.folder)
        lines = (run.folder / store.INDEX).read_bytes().split(b"\n")[:-1]
        end = max((entry.offset + entry.size for entry in known.values()), default=0)
        if end >= size:
            return size
        torn = [line for line in lines if line and line[:32].decode("latin-1") not in known]
        events = journal.read(run.folder, run.seal).events
        count = max((event[3] for event in events if event[0] == "E"), default=0)
        if not torn and count <= len(known):
            return end
    return size


def _left_beside(home: Path) -> Iterator[Item]:
    """What kills have left beside the runs: imports, removals, files written aside."""
    for folder in sharing.stale(home):
        yield _tree(folder, "an interrupted import")
    for folder in (home / runs.FOLDER).glob(runs.REMOVED + "*"):
        yield _tree(folder, "what was left of a run that was being removed")
    for file in home.glob(".gitignore.*"):
        if _is_old(file, ASIDE_SECONDS):
            yield _file(file, file.name)
    for folder in (home / runs.FOLDER).glob("[!.]*"):
        names = [entry.name for entry in folder.iterdir()] if folder.is_dir() else [""]
        if all(name.startswith(f"{description.FILE}.") for name in names) and _is_old(folder, ASIDE_SECONDS):
            yield _tree(folder, f"run {folder.name}, which never began")


def _left_of_replays() -> Iterator[Item]:
    """What killed replays have left in the folder for temporary files."""
    for folder in overlays.abandoned():
        words, act = "the files of a killed replay", partial(overlays.take_away, folder)
        yield Item("remove", words, _size(folder), act)
    for folder in workers.abandoned():
        yield _tree(folder, "the output of a killed replay's workers")


def _cached(home: Path) -> Iterator[Item]:
    """Cached code that is of no use any more: one line for all of it."""
    stale = cache.stale(home)
    if stale:
        words = f"{len(stale)} cached modules that were not used for long"
        yield Item("remove", words, sum(map(_size, stale)), partial(_unlink, stale))


def _unlink(files: list[Path]) -> None:
    for file in files:
        file.unlink(missing_ok=True)


def _file(path: Path, words: str, folder: Path | None = None) -> Item:
    return Item("remove", words, _size(path), partial(path.unlink, missing_ok=True), folder)


def _tree(path: Path, words: str) -> Item:
    return Item("remove", words, _size(path), partial(shutil.rmtree, path))


def _is_old(path: Path, seconds: float) -> bool:
    return time.time() - path.lstat().st_mtime > seconds


def _size(path: Path) -> int:
    """Bytes of a file, or of all files below a folder."""
    total = 0
    with suppress(OSError):  # somebody removes things meanwhile
        if not path.is_dir() or path.is_symlink():
            return path.lstat().st_size
        for entry in os.scandir(path):
            total += _size(Path(entry.path))
    return total
