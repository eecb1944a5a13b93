"""Files of a run that only grow, and the last words' room on a full disk.

A program may close descriptors that are not its own (a daemon closes all there are), and its next file
then gets the number of one of ours. What belongs to the run must never go there: so each use looks whether
the number still stands for the file, and opens the file again where it does not. The numbers are high ones:
the system gives a new file the lowest that is free, so none of the program's gets ours between look and use.
"""

from __future__ import annotations

import errno
import fcntl
import os
import resource
from contextlib import suppress
from pathlib import Path
from typing import Any

from . import private

BLOCK = 4096  # bytes: what goes past the cache begins and ends with one, in memory and in the file
_PAST_CACHE = getattr(os, "O_DIRECT", 0)  # not on macOS
HIGH_FD = 500  # no program opens so many files within a microsecond; half the usual limit is left to it
RESERVE_BYTES = 1 << 14  # for the words that tell why recording stopped, and the run's description


def moved_up(fd: int) -> int:
    """The same open file under a number far from those that the program's files get."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    lowest = HIGH_FD if limit < 0 else min(HIGH_FD, limit // 2)
    try:
        high = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, lowest)
    except OSError:
        return fd  # all numbers up there are taken
    os.close(fd)
    return high


def identity(fd: int) -> tuple[int, int]:
    """Which file a descriptor stands for."""
    status = os.fstat(fd)
    return status.st_dev, status.st_ino


def close_own(fd: int, file: tuple[int, int]) -> None:
    """Close a descriptor, if it still stands for this file."""
    with suppress(OSError):
        if identity(fd) == file:
            os.close(fd)


class Appender:
    """Appends to a private file, or, with `placed`, writes at given places. Any thread may use it.

    flags: further ones for opening it the first time (O_EXCL: it must be new).
    """

    def __init__(self, path: Path, flags: int = 0, *, placed: bool = False) -> None:
        self._path = os.path.abspath(path)  # the program may change the folder
        self._mode = os.O_WRONLY | (0 if placed else os.O_APPEND)
        self._fd = moved_up(private.open_file(path, self._mode | flags))
        self._file = identity(self._fd)

    def _own(self) -> int:
        """The file's descriptor, opened again if it has become another's; OSError if the file is gone."""
        try:
            if identity(self._fd) == self._file:
                return self._fd
        except OSError:
            pass  # closed by the program
        fd = moved_up(os.open(self._path, self._mode | os.O_NOFOLLOW | os.O_CLOEXEC))
        if identity(fd) != self._file:
            os.close(fd)
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE), self._path)
        self._fd = fd
        return fd

    def write(self, data: Any) -> None:
        """Append all of a buffer; OSError where only a part of it, or nothing, is written."""
        fd, left = self._own(), memoryview(data)
        while len(left):
            left = left[os.write(fd, left) :]

    def write_at(self, place: int, data: Any) -> None:
        """Write all of a buffer at a place of a `placed` file; OSError as `write` raises it."""
        fd, left = self._own(), memoryview(data)
        while len(left):
            done = os.pwrite(fd, left, place)
            left, place = left[done:], place + done

    def write_past_cache(self, place: int, data: memoryview) -> None:
        """Write whole blocks to a place of a `placed` file, straight to the disk.

        The place and the memory must be at the beginning of a block. OSError where the disk, or what lies
        between, does not take that; a part may be written then.
        """
        if not _PAST_CACHE:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), self._path)
        fd = moved_up(os.open(self._path, self._mode | _PAST_CACHE | os.O_NOFOLLOW | os.O_CLOEXEC))
        try:
            if identity(fd) != self._file:
                raise OSError(errno.ESTALE, os.strerror(errno.ESTALE), self._path)
            while len(data):
                done = os.pwrite(fd, data, place)
                data, place = data[done:], place + done
        finally:
            close_own(fd, self._file)

    def size(self) -> int:
        return os.fstat(self._own()).st_size

    def truncate(self, size: int) -> None:
        os.ftruncate(self._own(), size)

    def sync(self) -> None:
        os.fsync(self._own())

    def close(self) -> None:
        """Close the descriptor, if it still is the file's."""
        close_own(self._fd, self._file)


class Reserve:
    """A little room on the disk, held by a file without a name until the last words need it."""

    NAME = "reserve"  # before the process's number, for a moment

    def __init__(self, folder: Path) -> None:
        self._fd: int | None = None
        with suppress(OSError):  # then the disk is as good as full, and the words may get lost
            self._hold(folder / f"{self.NAME}.{os.getpid()}")

    def _hold(self, path: Path) -> None:
        fd = private.open_file(path, os.O_WRONLY | os.O_EXCL)
        os.unlink(path)
        self._fd, self._file = fd, identity(fd)
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(fd, 0, RESERVE_BYTES)
        else:
            os.write(fd, bytes(RESERVE_BYTES))

    def release(self) -> None:
        """Give the room back."""
        fd, self._fd = self._fd, None
        if fd is not None:
            close_own(fd, self._file)
