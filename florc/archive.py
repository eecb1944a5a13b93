"""A run as one file: a plain tar of the files a run has, and nothing else.

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

from .errors import EXIT_REFUSED, FlorcError
from .runtime import answers, description, journal, private, store

FOLDER = "florc-run"  # of all members: short, so that no name needs an extended header
# the description first: whoever reads can stop there
NAMES = (description.FILE, journal.NAME, store.INDEX, store.PACK)
LAST = answers.NAME  # of a run that somebody has replayed with `florc.log` in added lines; others have none
BLOCK = tarfile.BLOCKSIZE
CHUNK = 1 << 20  # bytes copied at a time


def pack(folder: Path, out: BinaryIO) -> None:
    """Write a run's files as an archive. OSError where that fails."""
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name in _names(folder):
            with open(folder / name, "rb") as stream:
                member = tarfile.TarInfo(f"{FOLDER}/{name}")
                status = os.fstat(stream.fileno())
                member.size, member.mtime = status.st_size, int(status.st_mtime)
                member.mode = private.FILE_MODE
                tar.addfile(member, stream)


def unpack(file: Path, folder: Path, described: Callable[[], None]) -> None:
    """Unpack an archive into an empty folder; FlorcError for one that is not what `pack` makes.

    described: called once the description lies there, before anything else is written; it may raise.
    """
    with _open(file) as stream:
        left = os.fstat(stream.fileno()).st_size
        missing = [*NAMES, LAST]
        while (head := stream.read(BLOCK)).strip(b"\0"):
            name, size = _header(head, file)
            left -= BLOCK + size
            if name != missing[0]:
                raise refused(file, f"{name!r} has no place in it, or not this one")
            if left < 0:
                raise refused(file, f"{name} is said to have {size} bytes, more than there are")
            _copy(stream, size, folder / name)
            left -= len(stream.read(-size % BLOCK))
            del missing[0]
            if name == description.FILE:
                described()
            if not missing:
                break
        if missing not in ([], [LAST]):
            raise refused(file, f"{missing[0]} is missing")
        while rest := stream.read(CHUNK):
            if rest.strip(b"\0"):
                raise refused(file, "something follows its last file")


def copy(source: Path, folder: Path, described: Callable[[], None]) -> None:
    """Copy a run's folder into an empty one, under the same rules."""
    names = sorted(os.listdir(source))
    strange = [name for name in names if name not in (*NAMES, LAST) and not _is_leftover(name)]
    if strange:
        raise refused(source, f"{strange[0]!r} has no place in it")
    for name in _names(source):
        with _open(source / name) as stream:
            _copy(stream, os.fstat(stream.fileno()).st_size, folder / name)
        if name == description.FILE:
            described()


def _names(folder: Path) -> tuple[str, ...]:
    """The files that a run's folder has."""
    return (*NAMES, LAST) if os.path.lexists(folder / LAST) else NAMES


def _is_leftover(name: str) -> bool:
    """A description, or answers, that a kill left half-written."""
    stem, _, pid = name.rpartition(".")
    return stem in (description.FILE, LAST) and pid.isdigit()


def _open(file: Path) -> BinaryIO:
    """A regular file; links are followed for an archive that the user names, not within a run's folder."""
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (os.O_NOFOLLOW if file.name in (*NAMES, LAST) else 0)
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
    if folder != FOLDER or name not in (*NAMES, LAST):
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
