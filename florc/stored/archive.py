"""A run as one file: a plain tar of the files a run has, and nothing else.

After the four that each run has come what replays have noted in it, then its large payloads, in the order of
their names.
Reading believes nothing: a member is a regular file of a known name, met once, of the size it declares.
Links, devices, folders, other names (absolute ones, `..`), sparse files and extended headers are refused
before anything is written. The archive is not compressed, so that nothing in it can grow.
"""

from __future__ import annotations

import os
import stat
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from florc.errors import EXIT_REFUSED, FlorcError
from florc.runtime import answers, description, journal, large, private, store

FOLDER = "florc-run"  # of all members: short, so that no name needs an extended header
# the description first: whoever reads can stop there
NAMES = (description.FILE, journal.NAME, store.INDEX, store.PACK)
ANSWERS = answers.NAME  # only of a run that was replayed with `florc.log` in added lines
BLOCK = tarfile.BLOCKSIZE
CHUNK = 1 << 20  # bytes copied at a time


def pack(folder: Path, out: BinaryIO) -> None:
    """Write a run's files as an archive. OSError where that fails."""
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name in _names(folder):
            with open(folder / name, "rb") as stream:
                _add(tar, name, stream)
        for key in large_of(folder):
            path = folder / large.FOLDER / key
            if path.is_file():  # else who imports it is told that it is missing
                with large.opened(path) as fd, os.fdopen(os.dup(fd), "rb") as stream:
                    _add(tar, f"{large.FOLDER}/{key}", stream)


def _add(tar: tarfile.TarFile, name: str, stream: BinaryIO) -> None:
    member = tarfile.TarInfo(f"{FOLDER}/{name}")
    status = os.fstat(stream.fileno())
    member.size, member.mtime = status.st_size, int(status.st_mtime)
    member.mode = private.FILE_MODE
    tar.addfile(member, stream)


def large_of(folder: Path) -> list[str]:
    """The large payloads that a run's index names."""
    return sorted(key for key, entry in store.read_index(folder).items() if entry.apart)


def unpack(file: Path, folder: Path, described: Callable[[], None]) -> None:
    """Unpack an archive into an empty folder; FlorcError for one that is not what `pack` makes.

    described: called once the description lies there, before anything else is written; it may raise.
    """
    with _open(file) as stream:
        left = os.fstat(stream.fileno()).st_size
        expected = _Expected(file, folder)
        while (head := stream.read(BLOCK)).strip(b"\0"):
            name, size = _header(head, file)
            left -= BLOCK + size
            expected.meet(name)
            if left < 0:
                raise refused(file, f"{name} is said to have {size} bytes, more than there are")
            _copy(stream, size, folder / name)
            left -= len(stream.read(-size % BLOCK))
            if name == description.FILE:
                described()
        expected.ended()
        while rest := stream.read(CHUNK):
            if rest.strip(b"\0"):
                raise refused(file, "something follows its last file")


class _Expected:
    """Which members may come next: the four files of each run in their order, answers, large payloads."""

    def __init__(self, file: Path, folder: Path) -> None:
        self._file, self._folder = file, folder
        self._missing = list(NAMES)
        self._answered = False
        self._large: list[str] | None = None  # known once there is an index

    def meet(self, name: str) -> None:
        """Take a member's name; FlorcError if it may not come here."""
        if self._missing:
            if name == self._missing[0]:
                del self._missing[0]
                return
        elif name == ANSWERS and not self._answered and self._large is None:
            self._answered = True
            return
        elif name in (payloads := self._payloads()):
            del payloads[: payloads.index(name) + 1]
            return
        raise refused(self._file, f"{name!r} has no place in it, or not this one")

    def _payloads(self) -> list[str]:
        """The large payloads that may still come."""
        if self._large is None:
            self._large = [f"{large.FOLDER}/{key}" for key in large_of(self._folder)]
            if self._large:
                private.make_folder(self._folder / large.FOLDER)
        return self._large

    def ended(self) -> None:
        """FlorcError if one of the four is missing. Of payloads the import tells."""
        if self._missing:
            raise refused(self._file, f"{self._missing[0]} is missing")


def copy(source: Path, folder: Path, described: Callable[[], None]) -> None:
    """Copy a run's folder into an empty one, under the same rules."""
    names = sorted(os.listdir(source))
    known = (*NAMES, ANSWERS, large.FOLDER)
    strange = [name for name in names if name not in known and not _is_leftover(name)]
    if strange:
        raise refused(source, f"{strange[0]!r} has no place in it")
    for name in _names(source):
        _copy_file(source, folder, name)
        if name == description.FILE:
            described()
    _copy_large(source, folder)


def _copy_large(source: Path, folder: Path) -> None:
    """Copy the large payloads that the index names; others are what kills have left."""
    keys = large_of(folder)
    if not keys or not os.path.lexists(source / large.FOLDER):
        return
    if not stat.S_ISDIR((source / large.FOLDER).lstat().st_mode):
        raise refused(source, f"{large.FOLDER!r} is no folder")
    private.make_folder(folder / large.FOLDER)
    for key in keys:
        if os.path.lexists(source / large.FOLDER / key):
            _copy_file(source, folder, f"{large.FOLDER}/{key}")


def _copy_file(source: Path, folder: Path, name: str) -> None:
    with _open(source / name, follow=False) as stream:
        _copy(stream, os.fstat(stream.fileno()).st_size, folder / name)


def _names(folder: Path) -> tuple[str, ...]:
    """The files that a run's folder has."""
    return (*NAMES, ANSWERS) if os.path.lexists(folder / ANSWERS) else NAMES


def _is_leftover(name: str) -> bool:
    """A description, or answers, that a kill left half-written."""
    stem, _, pid = name.rpartition(".")
    return stem in (description.FILE, ANSWERS) and pid.isdigit()


def _open(file: Path, follow: bool = True) -> BinaryIO:
    """A regular file; links are followed for an archive that the user names, not within a run's folder."""
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW)
    try:
        stream = os.fdopen(os.open(file, flags), "rb")
    except OSError as error:
        raise refused(file, f"it cannot be read: {error.strerror}") from None
    if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        stream.close()
        raise refused(file, "it is no regular file")
    return stream


def _header(head: bytes, file: Path) -> tuple[str, int]:
    """Name and size of a member of the one kind there may be."""
    try:
        member = tarfile.TarInfo.frombuf(head, "ascii", "strict")
    except (tarfile.HeaderError, ValueError):
        raise refused(file, "it is no plain tar file, or damaged") from None
    folder, _, name = member.name.partition("/")
    if member.type != tarfile.REGTYPE or member.linkname or member.size < 0:
        raise refused(file, f"{member.name!r} is no plain file")
    inner, _, key = name.rpartition("/")
    is_payload = inner == large.FOLDER and large.NAME.fullmatch(key)
    if folder != FOLDER or not (name in (*NAMES, ANSWERS) or is_payload):
        raise refused(file, f"{member.name!r} has no place in it")
    return name, member.size


def _copy(stream: BinaryIO, size: int, target: Path) -> None:
    fd = private.open_file(target, os.O_WRONLY | os.O_EXCL)
    with os.fdopen(fd, "wb") as out:
        while size:
            data = stream.read(min(size, CHUNK))
            if not data:
                raise refused(target, "it is shorter than it says")
            out.write(data)
            size -= len(data)
        out.flush()
        os.fsync(out.fileno())


def refused(file: Path, why: str) -> FlorcError:
    """Why a file or folder is not taken."""
    message = f"{file} is no run of florc: {why}"
    return FlorcError(message, hint="nothing was imported", exit_code=EXIT_REFUSED)
