"""The bytes of one run: a pack of content-addressed blobs, appended and never rewritten.

Layout in the run's folder:
    data.pack   blobs one after the other, each starting at a multiple of 64 bytes
    data.idx    a line per blob: "<xxh3-128 hex> <offset> <size>\n", written after the blob itself
A blob's name is the hash of its bytes, so equal bytes are stored once and every read is verified.
Whatever a kill leaves half-written is a tail that no complete line refers to.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import xxhash

from .errors import StoreError

ALIGNMENT = 64  # bytes: what vector units and direct I/O like
PACK, INDEX = "data.pack", "data.idx"


class DamagedBlob(StoreError):
    """A blob that is missing, cut short or altered."""


def read_index(folder: Path) -> dict[str, tuple[int, int]]:
    """(offset, size) of every blob by its hash; a torn last line is ignored."""
    found: dict[str, tuple[int, int]] = {}
    try:
        text = (folder / INDEX).read_bytes()
    except FileNotFoundError:
        return found
    for line in text.split(b"\n")[:-1]:
        fields = line.split()
        if len(fields) == 3 and fields[1].isdigit() and fields[2].isdigit():
            found[fields[0].decode("ascii", "replace")] = (int(fields[1]), int(fields[2]))
    return found


def _is_torn(index: Path) -> bool:
    text = index.read_bytes()
    return bool(text) and not text.endswith(b"\n")


class BlobWriter:
    """Appends blobs to a run's pack."""

    def __init__(self, folder: Path) -> None:
        self._pack = os.open(folder / PACK, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._index = os.open(folder / INDEX, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._known = read_index(folder)
        if _is_torn(folder / INDEX):
            os.write(self._index, b"\n")  # what a kill left of the last line stays a line of its own
        self._end = os.fstat(self._pack).st_size
        self.written = 0  # bytes given to the disk
        self.logical = 0  # bytes asked to be kept

    def put(self, data: Any, key: str | None = None) -> str:
        """Keep the bytes of a buffer; its hash. Known bytes are not written again."""
        key = key or xxhash.xxh3_128_hexdigest(data)
        size = len(data)
        self.logical += size
        if key not in self._known:
            self._append(data, size, key)
        return key

    def _append(self, data: Any, size: int, key: str) -> None:
        padding = -self._end % ALIGNMENT
        offset = self._end + padding
        view = memoryview(data).cast("B") if size else memoryview(b"")
        self._write_all(self._pack, b"\0" * padding)
        self._write_all(self._pack, view)
        self._end = offset + size
        self._write_all(self._index, f"{key} {offset} {size}\n".encode("ascii"))
        self._known[key] = (offset, size)
        self.written += size + padding

    @staticmethod
    def _write_all(fd: int, data: Any) -> None:
        view = memoryview(data)
        while len(view):
            view = view[os.write(fd, view) :]

    def sync(self) -> None:
        os.fsync(self._pack)
        os.fsync(self._index)

    def close(self) -> None:
        os.close(self._pack)
        os.close(self._index)


class BlobReader:
    """Reads and verifies a run's blobs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._index = read_index(folder)
        self._fd: int | None = None

    def __contains__(self, key: str) -> bool:
        return key in self._index

    def keys(self) -> list[str]:
        return list(self._index)

    def size(self, key: str) -> int:
        return self._index[key][1]

    def get(self, key: str) -> bytes:
        """The bytes of a blob. Raises DamagedBlob if they are not what was written."""
        if key not in self._index:
            raise DamagedBlob(f"a payload of run {self.folder.name} is missing", "the run was cut short")
        offset, size = self._index[key]
        try:
            if self._fd is None:
                self._fd = os.open(self.folder / PACK, os.O_RDONLY)
            data = os.pread(self._fd, size, offset)
        except (OSError, OverflowError) as error:
            raise DamagedBlob(f"a payload of run {self.folder.name} cannot be read: {error}") from None
        while len(data) < size:  # pread returns at most 2 GiB at once
            more = os.pread(self._fd, size - len(data), offset + len(data))
            if not more:
                break
            data += more
        if len(data) != size or xxhash.xxh3_128_hexdigest(data) != key:
            raise DamagedBlob(f"a payload of run {self.folder.name} is damaged ({PACK} at byte {offset})")
        return data
