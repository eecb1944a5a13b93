"""Which runs `florc runs gc` removes. Pure: facts about runs in, reasons out."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from florc import units


@dataclass(frozen=True)
class Wanted:
    """What was asked for; None: nothing of the kind.

    keep: the newest runs of each script that stay. Alone it removes all others; beside the other wishes it
    only protects. older_than: in seconds; older runs go. max_size: in bytes; the oldest runs go until the
    store has no more.
    """

    keep: int | None = None
    older_than: float | None = None
    max_size: int | None = None


@dataclass(frozen=True)
class Shared:
    """A file that several runs hold: it takes its bytes until the last of its holders is gone."""

    file: object
    size: int
    holders: int


@dataclass(frozen=True)
class Candidate:
    """A run, as far as the choice depends on it.

    group: runs of one are runs of one program. age: in seconds; None: not known. size: in bytes, without
    what it may share. busy: it is being recorded or replayed.
    """

    name: str
    group: tuple[object, ...]
    age: float | None
    size: int
    busy: bool = False
    shared: tuple[Shared, ...] = ()


class Freed:
    """How many bytes are free once runs have gone, one after the other."""

    def __init__(self) -> None:
        self._gone: Counter[object] = Counter()  # holders of a file

    def by(self, run: Candidate) -> int:
        """What this run's going frees, after those asked for before."""
        self._gone.update(one.file for one in run.shared)
        return run.size + sum(one.size for one in run.shared if self._gone[one.file] == one.holders)


def total(runs: Sequence[Candidate]) -> int:
    """Bytes that runs take together."""
    shared = {one.file: one.size for run in runs for one in run.shared}
    return sum(run.size for run in runs) + sum(shared.values())


def choose(runs: Sequence[Candidate], wanted: Wanted, others: int = 0) -> dict[str, str]:
    """The names of the runs that go, with the reason in words.

    Args:
        runs: oldest first.
        others: bytes in the store that belong to none of these runs.
    """
    newest = _newest(runs, wanted.keep or 0)
    free = [run for run in runs if not run.busy and run.name not in newest]
    found: dict[str, str] = {}
    if wanted.keep is not None and wanted.older_than is None and wanted.max_size is None:
        found = {run.name: f"not among the newest {wanted.keep} of its script" for run in free}
    if wanted.older_than is not None:
        found = {
            run.name: f"{units.age(run.age)} old"
            for run in free
            if run.age is not None and run.age > wanted.older_than
        }
    if wanted.max_size is not None:
        freed = Freed()
        left = others + total(runs) - sum(freed.by(run) for run in runs if run.name in found)
        for run in free:
            if left > wanted.max_size and run.name not in found:
                found[run.name] = "the oldest, while the store is too big"
                left -= freed.by(run)
    return found


def _newest(runs: Sequence[Candidate], keep: int) -> set[str]:
    """The newest so many of each group."""
    groups: dict[tuple[object, ...], list[str]] = defaultdict(list)
    for run in reversed(runs):
        groups[run.group].append(run.name)
    return {name for names in groups.values() for name in names[:keep]}
