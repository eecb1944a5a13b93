"""Checkpoints: the difference between a guard's entry state and a later one; taken, compared, restored.

A checkpoint is three blobs, of which the last two rarely change and are then stored once:
    delta    marshal of (contents of changed and new nodes, process state, lost, opaque)
    names    marshal of [(namespace, names that were bound)], the frame's namespace being ""
    changed  marshal of the numbers of the entry objects that differ from the entry state
"""

from __future__ import annotations

import marshal
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from . import process
from .background import Job
from .difference import Teller
from .errors import CannotRestore, StoreError
from .graph import MARSHAL_VERSION, Base, Memory, Walk, digest, live_base
from .iterators import Iterator
from .lives import has_finalizer, without_end
from .owed import Debt, ledger
from .restore import Build
from .roots import Namespace, Root
from .store import BlobReader, BlobWriter, Part

DATED = b"datetime"  # in the contents of what holds a date or time: these differ from day to day
RUNS_CODE = frozenset({"reduced", "exception", Iterator.tag})  # kinds that others' code makes or puts back
MAX_NAMED = 3  # differences told by name; the rest are counted


def _names_of(root: Root) -> list[tuple[str, list[str]]]:
    """(module, its names in their order), the frame first."""
    found = []
    for key, names in [("", root.frame), *((space.name, space.names) for space in root.modules)]:
        picked = {name for name, _ in root.pick(key, names)}
        found.append((key, [name for name in list(names) if name in picked]))
    return found


@dataclass
class Taken:
    """A checkpoint just taken.

    Attributes:
        hashes: its three blobs.
        job: what is still to be written of it (None: nothing).
        opaque: what it could not see, in words; then it is not kept.
        graphs: the new tensors with autograd graphs.
    """

    hashes: list[str]
    job: Job | None
    opaque: list[str]
    graphs: list[Any]


class Last(NamedTuple):
    """Of a block's last checkpoint: the entry objects with large bytes that were new; bytes of all blobs."""

    numbers: frozenset[int] = frozenset()
    size: int = 0


class Snapshots:
    """Takes checkpoints while recording."""

    def __init__(self, blobs: BlobWriter, is_project: Callable[[str], bool]) -> None:
        self._blobs = blobs
        self._is_project = is_project
        self._last: dict[str, Last] = {}  # by block: likely the next one is alike

    def enter(self, root: Root, full: bool) -> tuple[Base, str]:
        """Walk the entry state; its base and the hash of what the store keeps of it.

        With `full`, the contents are kept as well (not the blobs): replay tells by them what its
        own entry state has otherwise, and puts small things back. Else only those with dates in them are.
        """
        walk = Walk(root, None, self._is_project).run()
        base = walk.as_base()
        base.loosen(walk)
        names = marshal.dumps(_names_of(root), MARSHAL_VERSION)
        dated = {number: content for number, content in walk.contents.items() if DATED in content}
        entry = marshal.dumps((walk.contents, process.capture()) if full else (dated, {}), MARSHAL_VERSION)
        kept = marshal.dumps((base.packed(), names, entry), MARSHAL_VERSION)
        return base, self._blobs.put(kept, sealed=True)

    def take(self, base: Base, root: Root, block: str = "") -> Taken:
        """Take a checkpoint of the state below root. One that does not see all of it is not kept."""
        last = self._last.get(block, Last())
        walk = Walk(root, base, self._is_project)
        walk.likely, walk.copies = last.numbers, self._blobs.copies(last.size)
        walk.run()
        contents = walk.changed()
        hidden = walk.opaque + [(number, what) for number, what in walk.lost if _is_kept(walk, number)]
        if hidden:
            self._blobs.drop(walk.copies)
            opaque = sorted({f"{walk.path(number)} ({what})" for number, what in hidden})
            return Taken([], None, opaque, walk.graphs)
        lost = sorted({f"{walk.path(number)} ({what})" for number, what in walk.lost})
        delta = marshal.dumps((contents, process.capture(), lost, [], walk.hints), MARSHAL_VERSION)
        names = marshal.dumps(_names_of(root), MARSHAL_VERSION)
        entry = [number for number in sorted(contents) if number < walk.first_new]
        changed = marshal.dumps(entry, MARSHAL_VERSION)
        wanted = {key: number for number, content in contents.items() for key in _keys(content)}
        parts = [Part(blob.get(), key) for key, blob in walk.blobs.items() if key in wanted]
        size = sum(len(part.data) for part in parts)
        parts += [Part(part, sealed=True) for part in (delta, names, changed)]
        put = self._blobs.put_all(parts, walk.copies)
        self._last[block] = Last(frozenset(wanted[key] for key in put.large), size if put.large else 0)
        return Taken(put.keys[-3:], put.job, [], walk.graphs)


def _is_kept(walk: Walk, number: int) -> bool:
    """True if something from before the loop holds this new object: the program will likely use it again.

    What hangs on a name that the loop has bound anew is mostly overwritten before anyone looks.
    """
    while number >= walk.first_new:
        number = walk.new_parents[number - walk.first_new]
    assert walk.base is not None
    return number != 0 and walk.base.edges[number][0] != "ns"


def _keys(content: bytes) -> Iterable[str]:
    loaded = marshal.loads(content)
    if loaded[0] in ("storage", "array"):
        return [part for part in loaded if isinstance(part, str) and len(part) == 32]
    return ()


@dataclass
class Checkpoint:
    """A checkpoint read back."""

    contents: dict[int, bytes]
    process: dict[str, Any]
    lost: list[str]
    opaque: list[str]
    hints: dict[int, int] = field(default_factory=dict)  # new objects that may be an entry object


@dataclass
class Comparison:
    """Paths at which a live state differs from a checkpoint.

    Attributes:
        wrong: real differences, in words.
        clocks: only dates and times differ there (datetime.now cannot be journalled).
    """

    wrong: list[str]
    clocks: list[str]


def differs_in_times(recorded: bytes, live: bytes) -> bool:
    """True if two contents have the same shape and differ in dates and times alone."""

    def same(left: Any, right: Any) -> bool:
        if type(left) is not type(right):
            return False
        if type(left) in (tuple, list):
            return len(left) == len(right) and (all(map(same, left, right)) or _both_times(left, right))
        return bool(left == right)

    return same(marshal.loads(recorded), marshal.loads(live))


def _both_times(left: Any, right: Any) -> bool:
    """True for two pickled dates or times."""
    return bool(left[:1] == ("p",) == right[:1] and b"datetime" in left[1] and b"datetime" in right[1])


def read_checkpoint(blobs: BlobReader, hashes: list[str]) -> Checkpoint:
    return Checkpoint(*marshal.loads(blobs.get_sealed(hashes[0])))


class LiveState:
    """A replayed guard's side of its checkpoints: live entry objects, and their entry contents.

    Args:
        blobs: the run's blobs.
        base_key: the blob with the recorded entry state.
        checkpoints: the hashes of every checkpoint this guard may restore or compare with.
        frame: the frame's names at entry.
        spaces: name of a project module -> its namespace (importing it if need be).
    """

    def __init__(
        self,
        blobs: BlobReader,
        base_key: str,
        checkpoints: list[list[str]],
        frame: dict[str, Any],
        spaces: Callable[[str], Namespace],
        is_project: Callable[[str], bool],
    ) -> None:
        self._blobs, self._spaces, self._is_project = blobs, spaces, is_project
        packed, names, entry = marshal.loads(blobs.get_sealed(base_key))
        self._recorded, self._entry_process = marshal.loads(entry)
        self._unfilled: set[int] = set()
        self._base_names: list[tuple[str, list[str]]] = marshal.loads(names)
        self.allowed = self._union_names([ckpt[1] for ckpt in checkpoints])
        self.base, walk = live_base(packed, self._root(frame, self._base_names), is_project)
        changed = [set(marshal.loads(blobs.get_sealed(key))) for key in {ckpt[2] for ckpt in checkpoints}]
        union = {0}.union(*changed)
        self._differ = self._differing(walk, {})
        overwritten = set.intersection(*changed) if changed else set()
        # memory that differs and is overwritten before every checkpoint: nobody had filled it (torch.empty)
        self._unfilled = {n for n in self._differ if n in overwritten and _is_memory(walk.contents[n])}
        self._entry = {number: walk.contents[number] for number in union if number in walk.contents}
        self._entry_blobs: dict[str, Any] = {  # what one checkpoint changes and another leaves as it is here
            key: bytes(walk.blobs[key].get())
            for number in self._entry.keys() - overwritten
            for key in _keys(self._entry[number])
            if key in walk.blobs
        }
        self.entry_differences = self._words(
            walk,
            [
                number
                for number in self._differ
                if number not in self._unfilled and not self._is_dated(number, walk.contents[number])
            ],
            self._recorded,
        )
        # what is otherwise here than it was in the record goes back to the record's
        other = [n for n in self._differ if n in self._recorded and n not in self._unfilled]
        self._entry.update({number: self._recorded[number] for number in other})
        self._union = sorted(union.union(other))
        # what moves in the middle of a block may be at its exit what it was: no checkpoint has that
        moving = set(self._differ)
        self._recorded = {n: c for n, c in walk.contents.items() if n not in moving} | self._recorded
        if self._entry_process:
            self.entry_differences += process.differences(self._entry_process, process.capture())
        self.base.loosen(walk)
        _alive.add(self)
        self.at_entry: Walk | None = walk

    def _union_names(self, keys: Iterable[str]) -> dict[str, frozenset[str]]:
        found: dict[str, set[str]] = {space: set(names) for space, names in self._base_names}
        for key in set(keys):
            for space, names in marshal.loads(self._blobs.get_sealed(key)):
                found.setdefault(space, set()).update(names)
        return {space: frozenset(names) for space, names in found.items()}

    def _root(self, frame: dict[str, Any], names: list[tuple[str, list[str]]]) -> Root:
        return Root(frame, [self._spaces(space) for space, _ in names if space], self.allowed)

    def _differing(self, walk: Walk, contents: dict[int, bytes]) -> list[int]:
        """The nodes that are not as expected: contents, else the entry state."""
        digests = self.base.digests
        found = []
        for number, content in walk.contents.items():
            if number in contents:
                same = contents[number] == content
            else:
                same = number < len(digests) and digest(content) == digests[number]
                same = same or number in self._unfilled
            if not same:
                found.append(number)
        return found

    def _is_dated(self, number: int, live: bytes) -> bool:
        """True if an entry object differs from the record's in dates and times alone."""
        recorded = self._recorded.get(number)
        return recorded is not None and DATED in recorded and differs_in_times(recorded, live)

    def compare(self, hashes: list[str], frame: dict[str, Any]) -> Comparison:
        """How the live state compares with a checkpoint, bit for bit."""
        ckpt = read_checkpoint(self._blobs, hashes)
        names = marshal.loads(self._blobs.get_sealed(hashes[1]))
        walk = Walk(self._root(frame, names), self.base, self._is_project).run()
        moved: list[str] = process.differences(ckpt.process, process.capture())
        wrong: list[int] = []
        clocks: list[str] = []
        for number in self._differing(walk, ckpt.contents):
            recorded = self._recorded_content(number, ckpt.contents)
            if recorded is not None and differs_in_times(recorded, walk.contents[number]):
                clocks.append(walk.path(number) or "the names bound")
            else:
                wrong.append(number)
        return Comparison(self._words(walk, wrong, ckpt.contents) + moved, clocks)

    def _recorded_content(self, number: int, contents: dict[int, bytes]) -> bytes | None:
        """What the record has of a node, as far as it is kept."""
        return contents.get(number) or self._entry.get(number) or self._recorded.get(number)

    def _words(self, walk: Walk, numbers: list[int], contents: dict[int, bytes]) -> list[str]:
        """The differences at these nodes; the first few with what is there and what was."""
        teller = Teller(
            lambda number: self._recorded_content(number, contents),
            walk.contents,
            walk.path,
            self._fetch,
            lambda key: bytes(walk.blobs[key].get()),
        )
        told = [teller.words(number) for number in numbers[:MAX_NAMED]]
        return told + [walk.path(number) or "the names bound" for number in numbers[MAX_NAMED:]]

    def restore(self, hashes: list[str], frame: dict[str, Any]) -> dict[str, Any]:
        """Put a checkpoint's state back and verify it; the values for the frame's names.

        While `at_entry` holds the walk at the entry, the program has not run since then.
        Raises StoreError, with nothing touched, if the checkpoint cannot be read; CannotRestore if the
        state did not come back bit for bit.
        """
        ckpt = read_checkpoint(self._blobs, hashes)
        values = self._put_back(ckpt, marshal.loads(self._blobs.get_sealed(hashes[1])), frame)
        self._confirm()
        return values

    def restore_entry(self, frame: dict[str, Any]) -> dict[str, Any]:
        """Put back what the entry state has otherwise than the record's; the values for the frame's names.

        Raises CannotRestore where that is more than small things.
        """
        if not self._entry_process:
            raise CannotRestore("its entry state was not kept")
        try:
            values = self._put_back(Checkpoint({}, self._entry_process, [], []), self._base_names, frame)
        except StoreError:  # of large arrays and tensors an entry state holds the hash alone
            raise CannotRestore("what it held then is not kept") from None
        self._confirm()
        return values

    @staticmethod
    def _confirm() -> None:
        """Pay what is owed where it can be seen: nothing of the restore holds objects any more."""
        if ledger.is_clear:
            return
        held = Counter(id(obj) for state in _alive for obj in state.base.objects)
        try:
            ledger.confirm(held)
        except StoreError as error:
            raise CannotRestore(str(error)) from None

    def _put_back(
        self, ckpt: Checkpoint, names: list[tuple[str, list[str]]], frame: dict[str, Any]
    ) -> dict[str, Any]:
        root = self._root(frame, names)
        contents = {number: ckpt.contents.get(number, self._entry.get(number, b"")) for number in self._union}
        contents.update(ckpt.contents)
        live, self.at_entry = self.at_entry or Walk(root, self.base, self._is_project).run(), None
        moved = self._moved(live, contents)
        contents.update(moved)
        written = [
            number
            for number in [*self._union, *moved]
            if self._must_write(number, contents, live)
            and (number in ckpt.contents or not is_iterator(contents[number]))
        ]
        new = [number for number in ckpt.contents if number >= len(self.base.objects)]
        owed = self._to_owe(live, written, [contents[number] for number in written + new])
        promised = {id(debt.storage) for _, debt in owed}
        due = [n for n in written if id(self.base.objects[n]) not in promised]
        wanted = {key for number in due + new for key in _keys(contents[number])}
        kept = {key: self._entry_blobs[key] for key in wanted & self._entry_blobs.keys()}
        kept.update(self._blobs.get_all(wanted - kept.keys()))
        build = Build(
            self.base,
            contents,
            lambda key: kept[key] if key in kept else self._late(key),
            self.allowed,
            self._recorded,
            live.loose,
            dict(names),
            ckpt.hints,
        )
        ledger.owe(owed)
        build.apply(due)
        values = {name: build.get(ref) for name, ref in marshal.loads(contents[0])[1]}
        build.fill()
        process.restore(ckpt.process)
        walk = Walk(self._root(values, names), self.base, self._is_project)
        if not build.ran_code:
            walk.memory = live.memory_but(written) | self._written_memory(written, contents, kept)
        wrong = self._differing(walk.run(), ckpt.contents)
        if wrong:
            told = self._words(walk, wrong, ckpt.contents)
            raise CannotRestore("did not come back as recorded: " + ", ".join(told[:MAX_NAMED]))
        there = {id(obj) for obj in walk.objects()}
        without_end(obj for obj in live.objects() if has_finalizer(obj) and id(obj) not in there)
        return values

    def _moved(self, live: Walk, contents: Mapping[int, bytes]) -> dict[int, bytes]:
        """What executing has changed since the entry and every checkpoint has as it was then: that again.

        StoreError where the store does not have it.
        """
        numbers = [n for n in self._differing(live, {}) if n not in contents and n in self._recorded]
        for number in numbers:
            if any(key not in self._blobs for key in _keys(self._recorded[number])):
                raise StoreError(f"what {live.path(number)} was at the loop's entry is not kept")
        return {number: self._recorded[number] for number in numbers}

    def _to_owe(self, live: Walk, written: list[int], contents: list[bytes]) -> list[tuple[Any, Debt]]:
        """Which of the storages to be written may be left as they are for now, each with its optimizer."""
        if any(marshal.loads(content)[0] in RUNS_CODE for content in contents):
            return []  # code of others may look at anything, before it is known who can reach it
        asked = {}
        for number, content in zip(written, contents, strict=False):
            tag, *parts = marshal.loads(content)
            storage = self.base.objects[number]
            if tag != "storage" or storage is None or live.contents.get(number) is None:
                continue
            size, _, start, key = parts
            if isinstance(key, str) and key in self._blobs and key not in self._entry_blobs:
                end = start + self._blobs.size(key)
                if end <= size == storage.nbytes():
                    asked[id(storage)] = (storage, start, end, key)
        return ledger.choose(live.objects(), asked)

    def _written_memory(
        self, numbers: list[int], contents: dict[int, bytes], kept: Mapping[str, Any]
    ) -> dict[int, Memory]:
        """What has just been written, or promised, to the storages among these nodes; kept: bytes by hash."""
        found = {}
        for number in numbers:
            tag, *parts = marshal.loads(contents[number])
            if tag == "storage":
                start, data = parts[2:]
                known = data if isinstance(data, bytes) else kept.get(data)
                size = self._blobs.size(data) if known is None else len(known)
                found[number] = (start, start + size, data)
        return found

    def _must_write(self, number: int, contents: dict[int, bytes], live: Walk) -> bool:
        content = contents[number]
        if not content or number == 0:
            return False
        return live.contents.get(number) != content or _refers_to_new(content, len(self.base.objects))

    def _late(self, key: str) -> bytes:
        """The bytes of something that turned out to be needed once the program was touched."""
        try:
            return self._fetch(key)
        except StoreError as error:
            raise CannotRestore(str(error)) from None

    def _fetch(self, key: str) -> bytes:
        kept = self._entry_blobs.get(key)
        return self._blobs.get(key) if kept is None else kept


_alive: weakref.WeakSet[LiveState] = weakref.WeakSet()  # their bases hold what the program holds


def _is_memory(content: bytes) -> bool:
    return marshal.loads(content)[0] in ("storage", "array")


def is_iterator(content: bytes) -> bool:
    """True for what only ever moves forward: where a checkpoint does not know it, it is left where it is."""
    return bool(marshal.loads(content)[0] == Iterator.tag)


def _refers_to_new(content: bytes, first_new: int) -> bool:
    """True if a content names a new object: the live one under that number may be another."""

    def look(part: Any) -> bool:
        if type(part) is tuple and len(part) == 1 and type(part[0]) is int:
            return bool(part[0] >= first_new)
        return isinstance(part, (tuple, list)) and any(look(item) for item in part)

    return look(marshal.loads(content)[1:])
