"""The bytes of one run: a pack of content-addressed blobs, appended and never rewritten.

Layout in the run's folder:
    data.pack   blobs one after the other, each starting at a multiple of 64 bytes
    data.idx    a line per blob, written after the blob itself:
                "<xxh3-128 hex> <offset> <size> <kind> <MAC>\n"
A blob's name is the hash of its bytes, so equal bytes are stored once and every read is verified.
Whatever a kill leaves half-written is a tail that no complete line refers to.

That hash tells damage, not malice. So a line carries a MAC (see seal.py): of the line itself where the bytes
are but numbers (kind "r", raw: tensors, files), of the bytes too where they are code to whoever loads
them (kind "s", sealed: all that is unmarshalled or unpickled). What was not sealed is never given as sealed.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import xxhash

from .appending import Appender
from .errors import StoreError
from .seal import Seal

ALIGNMENT = 64  # bytes: what vector units and direct I/O like
GATHERED_BYTES = 1 << 20  # small blobs are written together, up to this size: some disks are very slow
PACK, INDEX = "data.pack", "data.idx"


class DamagedBlob(StoreError):
    """A blob that is missing, cut short or altered."""


class Entry(NamedTuple):
    """A line of the index."""

    offset: int
    size: int
    sealed: bool
    mac: str


# sizes of more than 18 digits are no sizes
_LINE = re.compile(rb"([0-9a-f]{32}) ([0-9]{1,18}) ([0-9]{1,18}) ([rs]) ([0-9a-f]{32})")


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
                found[key] = Entry(int(offset), int(size), kind == "s", mac)
    return found


def _head(key: str, offset: int, size: int, sealed: bool) -> bytes:
    """The part of an index line that its MAC is of."""
    return f"{key} {offset} {size} {'s' if sealed else 'r'}".encode("ascii")


def index_line(seal: Seal, key: str, offset: int, data: Any, sealed: bool) -> bytes:
    """A whole line of the index."""
    head = _head(key, offset, len(data), sealed)
    return b"%s %s\n" % (head, seal.blob(head, data if sealed else b"").encode("ascii"))


def _is_torn(index: Path) -> bool:
    text = index.read_bytes()
    return bool(text) and not text.endswith(b"\n")


class BlobWriter:
    """Appends blobs to a run's pack. Small ones wait for `flush`; nothing may name them before."""

    def __init__(self, folder: Path, seal: Seal) -> None:
        self._seal = seal
        self._pack, self._index = Appender(folder / PACK), Appender(folder / INDEX)
        self._known: dict[str, Entry] = {}
        self._recall(folder)
        if _is_torn(folder / INDEX):
            self._index.write(b"\n")  # what a kill left of the last line stays a line of its own
        self._failed = False
        self._end = self._pack.size()  # once all that waits is written
        self._waiting = bytearray()
        self._lines: list[bytes] = []
        self.written = 0  # bytes given to the disk
        self.logical = 0  # bytes asked to be kept

    @property
    def count(self) -> int:
        """How many different blobs there are."""
        return len(self._known)

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

    def put(self, data: Any, key: str | None = None, *, sealed: bool = False) -> str:
        """Keep the bytes of a buffer; its hash. Known bytes are not written again.

        sealed: whoever reads them will load them as code.
        """
        key = key or xxhash.xxh3_128_hexdigest(data)
        self.logical += len(data)
        known = self._known.get(key)
        if known is None or (sealed and not known.sealed):
            self._append(memoryview(data).cast("B") if len(data) else memoryview(b""), key, known, sealed)
        return key

    def _append(self, data: memoryview, key: str, known: Entry | None, sealed: bool) -> None:
        """Take what is new: the bytes and their line; of known bytes, that are now sealed, a line only."""
        padding = -self._end % ALIGNMENT
        offset, size = self._end + padding if known is None else known.offset, len(data)
        if known is None:
            self._waiting += bytes(padding)
            if size > GATHERED_BYTES:
                self._write_waiting()
                self._write(self._pack, data)
            else:
                self._waiting += data
            self._end = offset + size
            self.written += size + padding
        self._lines.append(index_line(self._seal, key, offset, data, sealed))
        self._known[key] = Entry(offset, size, sealed, "")
        if len(self._waiting) > GATHERED_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write what waits: the bytes, then their lines. Nothing may name a blob before this is done."""
        if self._lines:
            self._write_waiting()
            lines, self._lines = b"".join(self._lines), []
            self._write(self._index, lines)

    def _write_waiting(self) -> None:
        if self._waiting:
            waiting, self._waiting = self._waiting, bytearray()
            self._write(self._pack, waiting)

    def _write(self, file: Appender, data: Any) -> None:
        """Append, or take no more: what comes after half a blob would lie elsewhere than its line says."""
        if self._failed:
            raise OSError(errno.EIO, "an earlier write to the store failed")
        try:
            file.write(data)
        except OSError:
            self._failed = True
            self._lines.clear()
            raise

    def sync(self) -> None:
        self.flush()
        self._pack.sync()
        self._index.sync()

    def close(self) -> None:
        self.flush()
        self._pack.close()
        self._index.close()


class BlobReader:
    """Reads and verifies a run's blobs. Without a seal only checksums are looked at, and none is sealed."""

    def __init__(self, folder: Path, seal: Seal | None) -> None:
        self.folder = folder
        self._seal = seal
        self._index = read_index(folder)
        self._fd: int | None = None

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
        data = b"".join(self._pieces(entry))
        if len(data) != entry.size or xxhash.xxh3_128_hexdigest(data) != key:
            raise self._damaged(entry)
        if self._seal is not None:
            head = _head(key, entry.offset, entry.size, entry.sealed)
            if self._seal.blob(head, data if entry.sealed else b"") != entry.mac:
                raise self._damaged(entry, "its seal is broken")
        return data

    def get_sealed(self, key: str) -> bytes:
        """The bytes of a blob that was sealed when it was written. Raises DamagedBlob for all others."""
        entry = self.entry(key)
        if self._seal is None or not entry.sealed:
            raise self._damaged(entry, "it is not sealed")
        return self.get(key)

    def _damaged(self, entry: Entry, why: str = "") -> DamagedBlob:
        place = f"{PACK} at byte {entry.offset}" + (f": {why}" if why else "")
        return DamagedBlob(f"a payload of run {self.folder.name} is damaged ({place})")

    def _pieces(self, entry: Entry) -> Iterator[bytes]:
        """The bytes as far as they are there; pread returns at most 2 GiB at once."""
        done = 0
        try:
            if self._fd is None:
                self._fd = os.open(self.folder / PACK, os.O_RDONLY | os.O_CLOEXEC)
            while done < entry.size:
                piece = os.pread(self._fd, entry.size - done, entry.offset + done)
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
