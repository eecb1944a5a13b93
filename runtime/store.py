"""The bytes of one run: a pack of content-addressed blobs, appended and never rewritten.

Layout in the run's folder:
    data.pack   blobs one after the other, each starting at a multiple of 64 bytes
    data.idx    a line per blob, written after the blob itself:
                "<xxh3-128 hex> <offset> <size> <kind> <MAC>\n"
    large/      large raw blobs, a file each, which other runs may share (see large.py)
A blob's name is the hash of its bytes, so equal bytes are stored once and every read is verified.
Whatever a kill leaves half-written is a tail that no complete line refers to.

That hash tells damage, not malice. So a line carries a MAC (see seal.py): of the line itself where the bytes
are but numbers (kind "r", raw: tensors; "l": the same, in a file of their own), of the bytes too where they
are code to whoever loads them (kind "s", sealed: all that is unmarshalled or unpickled). What was not sealed
is never given as sealed.
"""

from __future__ import annotations

import errno
import mmap
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import xxhash

from . import large
from .appending import BLOCK, Appender
from .background import Background, Disk, Job, Piece, in_pieces
from .errors import StoreError
from .past_cache import WORTH_BYTES, PastCache
from .seal import Seal
from .staging import Copies, Placed, Staging, fits

ALIGNMENT = 64  # bytes: what vector units and direct I/O like
GATHERED_BYTES = 1 << 20  # small blobs are written together, up to this size: some disks are very slow
AT_ONCE_BYTES = 1 << 16  # as much is written in the time that handing it over would take
PACK, INDEX = "data.pack", "data.idx"


class DamagedBlob(StoreError):
    """A blob that is missing, cut short or altered."""


class Entry(NamedTuple):
    """A line of the index. apart: the bytes are not in the pack, but in a file of their own."""

    offset: int
    size: int
    sealed: bool
    mac: str
    apart: bool = False

    @property
    def kind(self) -> str:
        return "s" if self.sealed else "l" if self.apart else "r"


# sizes of more than 18 digits are no sizes
_LINE = re.compile(rb"([0-9a-f]{32}) ([0-9]{1,18}) ([0-9]{1,18}) ([rsl]) ([0-9a-f]{32})")


def read_index(folder: Path) -> dict[str, Entry]:
    """Every blob by its hash; lines that are none, a torn last one too, are ignored. Nothing is verified.

    Of two lines for the same bytes the sealed one counts: it says more.
    """
    found: dict[str, Entry] = {}
    try:
        text = (folder / INDEX).read_bytes()
    except FileNotFoundError:
        return found
    for line in text.split(b"\n")[:-1]:
        fields = _LINE.fullmatch(line)
        if fields is not None:
            key, offset, size, kind, mac = (part.decode("ascii") for part in fields.groups())
            if kind == "s" or key not in found or not found[key].sealed:
                found[key] = Entry(int(offset), int(size), kind == "s", mac, kind == "l")
    return found


def _head(key: str, entry: Entry) -> bytes:
    """The part of an index line that its MAC is of."""
    return f"{key} {entry.offset} {entry.size} {entry.kind}".encode("ascii")


def index_line(seal: Seal, key: str, entry: Entry, data: Any) -> bytes:
    """A whole line of the index, with a MAC of this seal's."""
    head = _head(key, entry)
    return b"%s %s\n" % (head, seal.blob(head, data if entry.sealed else b"").encode("ascii"))


def _is_torn(index: Path) -> bool:
    text = index.read_bytes()
    return bool(text) and not text.endswith(b"\n")


class Part(NamedTuple):
    """Bytes for `put_all`, with their hash if it is known."""

    data: Any
    key: str | None = None
    sealed: bool = False


class Put(NamedTuple):
    """What came of `put_all`: the parts' hashes, what is still to be written, which large ones are new."""

    keys: list[str]
    job: Job | None
    large: frozenset[str] = frozenset()


@dataclass
class _Batch:
    """What is new of the parts of one `put_all`.

    start: in the pack. packed: (place after the start, hash, bytes). large: (hash, bytes).
    copies: where some of the large ones lie in staging memory already.
    """

    start: int
    copies: Copies | None
    packed: list[tuple[int, str, memoryview]] = field(default_factory=list)
    large: list[tuple[str, memoryview]] = field(default_factory=list)

    def hashes(self) -> list[str]:
        return [key for _, key, _ in self.packed] + [key for key, _ in self.large]

    def laid_out(self, packed: int) -> Layout:
        """Where each part lies in memory: copies where they are, then what the pack gets, then large ones.

        All begin with a block, as writing past the system's cache needs it.

        Args:
            packed: bytes that the pack gets.
        """
        places, end = (self.copies.places, self.copies.end) if self.copies else ({}, 0)
        start = end + -end % BLOCK
        pieces, end = in_pieces(start, start + packed, self.start), start + packed
        placed, there = [(start + place, data) for place, _, data in self.packed], []
        for key, data in self.large:
            place = places.get(key)
            if place is not None:
                there.append((place, data))
            else:
                place = end + -end % BLOCK
                placed.append((place, data))
                end = place + len(data)
            pieces.append(Piece(place, place + len(data), key=key))
        return Layout(placed, there, pieces, end)


class Layout(NamedTuple):
    """Of a batch in staging memory: what is to be copied there and what is there, its pieces, its size."""

    placed: list[Placed]
    there: list[Placed]
    pieces: list[Piece]
    size: int


class BlobWriter(Disk):
    """Appends blobs to a run's pack: at once (`put`), or in the background (`put_all`).

    Small ones that are put wait for `flush`; nothing may name them before. A part of the pack that was
    reserved for what never came is a gap that no line refers to.

    objects: where the runs of the store share large blobs; None: all blobs go to the pack.
    """

    def __init__(self, folder: Path, seal: Seal, objects: Path | None = None) -> None:
        self._seal = seal
        self._past_cache = PastCache()
        self._large = None if objects is None else large.LargeFiles(folder, objects, self._past_cache)
        self._pack, self._index = Appender(folder / PACK, placed=True), Appender(folder / INDEX)
        self._known: dict[str, Entry] = {}
        self._recall(folder)
        if _is_torn(folder / INDEX):
            self._index.write(b"\n")  # what a kill left of the last line stays a line of its own
        self._failed = False
        self._end = self._pack.size()  # of all that has a place in the pack
        self._waiting = bytearray()
        self._waits_at = self._end
        self._lines: list[bytes] = []
        self._background, self._staging = Background(self), Staging()
        self.making = 0.0  # seconds that staging memory has taken: once, not with every checkpoint
        self._on_the_way: dict[str, Job] = {}
        self._packed = 0  # bytes given to the pack
        self.logical = 0  # bytes asked to be kept

    @property
    def count(self) -> int:
        """How many different blobs there are."""
        return len(self._known)

    @property
    def written(self) -> int:
        """Bytes given to the disk."""
        return self._packed + (self._large.written if self._large else 0)

    def _recall(self, folder: Path) -> None:
        """Know the blobs that an earlier writer has left; what cannot be read back is written again."""
        reader = BlobReader(folder, self._seal)
        for key, entry in read_index(folder).items():
            try:
                reader.get(key)
            except DamagedBlob:
                continue
            self._known[key] = entry
        reader.close()

    # -- at once --------------------------------------------------------------------------
    def put(self, data: Any, key: str | None = None, *, sealed: bool = False) -> str:
        """Keep the bytes of a buffer; its hash. Known bytes are not written again.

        sealed: whoever reads them will load them as code.
        """
        key = key or xxhash.xxh3_128_hexdigest(data)
        self.logical += len(data)
        if key in self._on_the_way:
            self.finish()  # an event may name it when this returns
        if self._is_new(key, sealed):
            self._append(_plain(data), key, sealed)
        return key

    def _is_new(self, key: str, sealed: bool) -> bool:
        known = self._known.get(key)
        return known is None or (sealed and not known.sealed)

    def _append(self, data: memoryview, key: str, sealed: bool) -> None:
        """Take what is new: the bytes and their line; of known bytes, that are now sealed, a line only."""
        size = len(data)
        place, is_new = self._place(key, size)
        if is_new:
            if not self._waiting:
                self._waits_at = place
            if size > GATHERED_BYTES:
                self._write_waiting()
                self._write(lambda: self._pack.write_at(place, data))
            else:
                self._waiting += bytes(place - self._waits_at - len(self._waiting)) + data
            self._packed += size
        self._known[key] = entry = Entry(place, size, sealed, "")
        self._lines.append(index_line(self._seal, key, entry, data))
        if len(self._waiting) > GATHERED_BYTES:
            self.flush()

    def _place(self, key: str, size: int) -> tuple[int, bool]:
        """Where a blob lies in the pack, and whether it is yet to be written: then the pack's end moves."""
        known = self._known.get(key)
        if known is not None and not known.apart:
            return known.offset, False
        place = self._end + -self._end % ALIGNMENT
        self._end = place + size
        return place, True

    def flush(self) -> None:
        """Write what waits: the bytes, then their lines. Nothing may name a blob before this is done."""
        if self._lines:
            self._write_waiting()
            lines, self._lines = b"".join(self._lines), []
            self._write(lambda: self._index.write(lines))

    def _write_waiting(self) -> None:
        if self._waiting:
            waiting, self._waiting = self._waiting, bytearray()
            self._write(lambda: self._pack.write_at(self._waits_at, waiting))

    def _write(self, action: Callable[[], None]) -> None:
        """Write, or take no more: of a store that fails nothing is to be expected."""
        if self._failed:
            raise OSError(errno.EIO, "an earlier write to the store failed")
        try:
            action()
        except OSError:
            self._failed = True
            self._lines.clear()
            raise

    # -- in the background ----------------------------------------------------------------
    @property
    def has_room(self) -> bool:
        """True if `put_all` would not have to wait for the disk."""
        return self._staging.has_room

    def copies(self, size: int) -> Copies | None:
        """Room for copies of about this size, for the next `put_all`; None where there is not enough memory.

        It must be given back: by `put_all`, or by `drop`.
        """
        if not self.has_room:
            self.finish()
        if self._large is None or size < large.LARGE_BYTES:
            return None
        slot = self._staging.take(size)
        try:
            if slot.suits(size) or fits(size):
                slot.prepare(size)
                self.making += slot.making
                return Copies(slot)
        except OSError:  # the system gives no memory after all
            pass
        self._staging.give(slot)
        return None

    def drop(self, copies: Copies | None) -> None:
        """Nothing of these copies is to be written."""
        if copies is not None:
            self._staging.give(copies.slot)

    def put_all(self, parts: Iterable[Part], copies: Copies | None = None) -> Put:
        """Keep the bytes of buffers, which may change once this returns.

        What is written goes on in the background: nothing may name the blobs before the job, and those
        before it, are done. None where there is nothing to wait for.

        Args:
            copies: of some of the buffers; they are used up.
        """
        if copies is None and not self.has_room:
            self.finish()
        self.flush()
        keys, new = [], []
        for part in parts:
            data = _plain(part.data)
            key = part.key or xxhash.xxh3_128_hexdigest(data)
            keys.append(key)
            self.logical += len(data)
            if self._is_new(key, part.sealed):
                new.append((key, data, part.sealed))
        if sum(len(data) for _, data, sealed in new if not self._is_apart(data, sealed)) >= WORTH_BYTES:
            self._end += -self._end % BLOCK  # it may go past the cache
        batch = _Batch(self._end + -self._end % ALIGNMENT, copies)
        lines = [
            index_line(self._seal, key, self._enter(key, data, sealed, batch), data)
            for key, data, sealed in new
            if self._is_new(key, sealed)
        ]
        if not lines:
            self.drop(copies)
        job = self._start(batch, b"".join(lines)) if lines else None
        return Put(keys, job, frozenset(key for key, _ in batch.large))

    def _is_apart(self, data: memoryview, sealed: bool) -> bool:
        """True if a blob gets a file of its own."""
        return self._large is not None and not sealed and len(data) >= large.LARGE_BYTES

    def _enter(self, key: str, data: memoryview, sealed: bool, batch: _Batch) -> Entry:
        """Know a blob from now on; its bytes join the batch if they are not there."""
        if self._is_apart(data, sealed):
            entry = Entry(0, len(data), False, "", apart=True)
            copy = None if batch.copies is None else batch.copies.copy(key, len(data))
            batch.large.append((key, data if copy is None else copy))
        else:
            place, is_new = self._place(key, len(data))
            entry = Entry(place, len(data), sealed, "")
            if is_new:
                batch.packed.append((place - batch.start, key, data))
        self._known[key] = entry
        return entry

    def _start(self, batch: _Batch, lines: bytes) -> Job | None:
        """Write this now, if it is so little or so much that staging it would not pay; else stage it."""
        self._packed += sum(len(data) for _, _, data in batch.packed)
        packed = self._end - batch.start if batch.packed else 0
        layout, copies = batch.laid_out(packed), batch.copies
        slot = self._staging.take(layout.size) if copies is None else copies.slot
        staged = None
        if layout.pieces and layout.size > AT_ONCE_BYTES and (slot.suits(layout.size) or fits(layout.size)):
            with suppress(OSError):  # the system gives no memory after all
                staged = slot.fill(layout.placed, layout.size, None if copies is None else layout.there)
                self.making += slot.making
        if staged is None:
            self._write_now(batch, lines)
            self._staging.give(slot)
            return None
        job = Job(staged, layout.pieces, lines, lambda: self._staging.give(slot))
        self._on_the_way = {key: one for key, one in self._on_the_way.items() if not one.done}
        self._on_the_way.update(dict.fromkeys(batch.hashes(), job))
        self._background.start(job)
        return job

    def _write_now(self, batch: _Batch, lines: bytes) -> None:
        for place, _, data in batch.packed:
            self.write_bytes(batch.start + place, data)
        for key, data in batch.large:
            self.write_large(key, data)
        self.write_lines(lines)

    def write_bytes(self, place: int, data: memoryview) -> None:
        self._write(lambda: self._past_cache.write(self._pack, place, data))

    def write_large(self, key: str, data: memoryview) -> None:
        assert self._large is not None
        self._write(partial(self._large.keep, key, data))

    def write_lines(self, lines: bytes) -> None:
        self._write(lambda: self._index.write(lines))

    def finish(self) -> None:
        """Wait until all that was put is written; the jobs tell what has failed."""
        self._background.finish()
        self._on_the_way.clear()

    # -- the end --------------------------------------------------------------------------
    def sync(self) -> None:
        self.finish()
        self.flush()
        if self._large is not None:
            self._large.sync()
        self._pack.sync()
        self._index.sync()

    def close(self) -> None:
        self._background.close()
        self.flush()
        self._pack.close()
        self._index.close()


def _plain(data: Any) -> memoryview:
    return memoryview(data).cast("B") if len(data) else memoryview(b"")


def _runs(entries: list[tuple[Entry, str]], places: dict[str, int]) -> Iterator[list[tuple[Entry, str]]]:
    """Blobs that lie behind one another as their places in memory do: one read each."""
    run: list[tuple[Entry, str]] = []
    for entry, key in entries:
        if run and entry.offset - run[0][0].offset != places[key] - places[run[0][1]]:
            yield run
            run = []
        run.append((entry, key))
    if run:
        yield run


class BlobReader:
    """Reads and verifies a run's blobs. Without a seal only checksums are looked at, and none is sealed."""

    def __init__(self, folder: Path, seal: Seal | None) -> None:
        self.folder = folder
        self._seal = seal
        self._index = read_index(folder)
        self._fd: int | None = None
        self._arena: Any = b""

    def __contains__(self, key: str) -> bool:
        return key in self._index

    def keys(self) -> list[str]:
        return list(self._index)

    def entry(self, key: str) -> Entry:
        """What the index says of a blob; DamagedBlob if it is silent."""
        if key not in self._index:
            raise DamagedBlob(f"a payload of run {self.folder.name} is missing", "the run was cut short")
        return self._index[key]

    def size(self, key: str) -> int:
        return self._index[key].size

    def get(self, key: str) -> bytes:
        """The bytes of a blob. Raises DamagedBlob if they are not what was written.

        Whoever has them loaded by marshal or pickle asks `get_sealed` instead.
        """
        entry = self.entry(key)
        data = b"".join(self._pieces(key, entry))
        self._verify(key, entry, data)
        return data

    def _verify(self, key: str, entry: Entry, data: Any) -> None:
        if len(data) != entry.size or xxhash.xxh3_128_hexdigest(data) != key:
            raise self._damaged(key, entry)
        if self._seal is not None:
            head = _head(key, entry)
            if self._seal.blob(head, data if entry.sealed else b"") != entry.mac:
                raise self._damaged(key, entry, "its seal is broken")

    def get_all(self, keys: Iterable[str]) -> dict[str, memoryview]:
        """Many blobs at once, verified as by `get`, which holds for them; valid until the next call.

        The memory they are read into is kept: new pages would cost more than reading.
        """
        entries = sorted(((self.entry(key), key) for key in set(keys)), key=lambda pair: pair[0].offset)
        places, size = {}, 0
        for entry, key in entries:
            size += -size % ALIGNMENT
            places[key] = size
            size += entry.size
        if len(self._arena) < size:
            self._arena = mmap.mmap(-1, size)
        arena, found = memoryview(self._arena) if size else memoryview(b""), {}
        for run in _runs([pair for pair in entries if not pair[0].apart], places):
            first, last = run[0], run[-1]
            start, end = places[first[1]], places[last[1]] + last[0].size
            self._read_into(arena[start:end], *first)
        for entry, key in entries:
            found[key] = arena[places[key] : places[key] + entry.size]
            if entry.apart:
                self._read_into(found[key], entry, key)
            self._verify(key, entry, found[key])
        return found

    def _read_into(self, memory: memoryview, entry: Entry, key: str) -> None:
        """Fill memory from where a blob lies; what is not there stays as it is: not as its hash says."""
        done = 0
        try:
            with self._file(key, entry) as fd:
                while done < len(memory):
                    count = os.preadv(fd, [memory[done:]], entry.offset + done)
                    if not count:
                        return
                    done += count
        except (OSError, OverflowError) as error:
            raise DamagedBlob(f"a payload of run {self.folder.name} cannot be read: {error}") from None

    def get_sealed(self, key: str) -> bytes:
        """The bytes of a blob that was sealed when it was written. Raises DamagedBlob for all others."""
        entry = self.entry(key)
        if self._seal is None or not entry.sealed:
            raise self._damaged(key, entry, "it is not sealed")
        return self.get(key)

    def _damaged(self, key: str, entry: Entry, why: str = "") -> DamagedBlob:
        place = f"{large.FOLDER}/{key}" if entry.apart else f"{PACK} at byte {entry.offset}"
        place += f": {why}" if why else ""
        return DamagedBlob(f"a payload of run {self.folder.name} is damaged ({place})")

    @contextmanager
    def _file(self, key: str, entry: Entry) -> Iterator[int]:
        """A descriptor of the file that holds a blob: the pack's stays open, others come and go."""
        if entry.apart:
            with large.opened(self.folder / large.FOLDER / key) as fd:
                yield fd
            return
        if self._fd is None:
            self._fd = os.open(self.folder / PACK, os.O_RDONLY | os.O_CLOEXEC)
        yield self._fd

    def _pieces(self, key: str, entry: Entry) -> Iterator[bytes]:
        """The bytes as far as they are there; pread returns at most 2 GiB at once."""
        done = 0
        try:
            with self._file(key, entry) as fd:
                while done < entry.size:
                    piece = os.pread(fd, entry.size - done, entry.offset + done)
                    if not piece:
                        return
                    done += len(piece)
                    yield piece
        except (OSError, OverflowError, MemoryError) as error:
            raise DamagedBlob(f"a payload of run {self.folder.name} cannot be read: {error}") from None

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
