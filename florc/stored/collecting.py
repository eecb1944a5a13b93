"""`florc runs gc`: free the bytes that no run needs, and remove the runs that the user no longer wants.

Without a wish only garbage goes: what killed commands have left, and cached code that nobody has used for
long. A run that is being recorded or replayed is not touched, nor is one that cannot be read.
"""

from __future__ import annotations

import os
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path

import click

from florc import cache, messages, overlays, units
from florc.errors import EXIT_REFUSED
from florc.runtime import answers, appending, description, journal, large, runs, store
from florc.runtime.runs import Run
from florc.spread import workers

from . import locks, sharing
from .choosing import Candidate, Freed, Shared, Wanted, choose, total

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
    now = time.time()
    whole = [_candidate(run, busy, now) for run, busy in found]
    others = _size(home) - total(whole) - sum(item.size for item in beside)
    known = [replace(one, size=one.size - sum(item.size for item in inside[one.name])) for one in whole]
    chosen, freed = choose(known, wanted, others), Freed()
    going = [(run, one) for (run, _), one in zip(found, whole, strict=True) if run.run in chosen]
    return [_removal(run, chosen[run.run], freed.by(one)) for run, one in going]


def _candidate(run: Run, busy: bool, now: float) -> Candidate:
    """A run with all that lies in its folder."""
    objects = run.folder.parent.parent / large.OBJECTS
    shared = tuple(Shared(*one) for one in large.sizes(run.folder, objects))
    size = _size(run.folder) - sum({one.file: one.size for one in shared}.values())
    return Candidate(run.run, (run.script, run.module, run.rank), _age(run, now), size, busy, shared)


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
    known = store.read_index(run.folder)
    unnamed = [file for file in large.names(run.folder) if file.name not in known]
    end = max((entry.offset + entry.size for entry in known.values() if not entry.apart), default=0)
    tail = (run.folder / store.PACK).stat().st_size - end
    if not (unnamed or tail > 0) or not _is_index_whole(run):
        return
    for file in unnamed:
        yield _unnamed(file, run)
    if tail > 0:
        words = f"the end of {store.PACK} of run {run.run}, which nothing refers to"
        yield Item("cut", words, tail, partial(os.truncate, run.folder / store.PACK, end), run.folder)


def _unnamed(file: Path, run: Run) -> Item:
    """A large payload that a kill left without its line in the index."""
    objects = run.folder.parent.parent / large.OBJECTS
    size = _size(file) if large.holders(file, objects) == 1 else 0
    words = f"a payload of run {run.run}, which nothing refers to"
    return Item("remove", words, size, partial(large.release, file, objects), run.folder)


def _is_index_whole(run: Run) -> bool:
    """False if lines of the index may be missing: somebody may have a copy of it."""
    with suppress(FileNotFoundError):
        known = store.read_index(run.folder)
        lines = (run.folder / store.INDEX).read_bytes().split(b"\n")[:-1]
        torn = [line for line in lines if line and line[:32].decode("latin-1") not in known]
        events = journal.read(run.folder, run.seal).events
        count = max((event[3] for event in events if event[0] == "E"), default=0)
        return not torn and count <= len(known)
    return False


def _left_beside(home: Path) -> Iterator[Item]:
    """What kills have left beside the runs: imports, removals, files written aside."""
    for folder in sharing.stale(home):
        yield _tree(folder, "an interrupted import")
    for folder in (home / runs.FOLDER).glob(runs.REMOVED + "*"):
        words, act = "what was left of a run that was being removed", partial(runs.take_away, folder)
        yield Item("remove", words, _size(folder), act)
    unheld = large.unheld(home / large.OBJECTS)
    if unheld:
        words = f"{len(unheld)} large payloads that no run holds any more"
        yield Item("remove", words, sum(map(_size, unheld)), partial(_forget, home / large.OBJECTS))
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


def _forget(objects: Path) -> None:
    """Remove the payloads that no run holds, as it is by now."""
    _unlink(large.unheld(objects))


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
    """Bytes of a file, or of all files below a folder: of one with several names once."""
    return sum({(status.st_dev, status.st_ino): status.st_size for status in _files(path)}.values())


def _files(path: Path) -> Iterator[os.stat_result]:
    with suppress(OSError):  # somebody removes things meanwhile
        status = path.lstat()
        if not stat.S_ISDIR(status.st_mode):
            yield status
            return
        for entry in os.scandir(path):
            yield from _files(Path(entry.path))
