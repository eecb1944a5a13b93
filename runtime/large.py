"""Large payloads: a file each, which all runs of a store that hold the same bytes share.

    runs/<run>/large/<hash>   a run's own name for the file
    objects/<hash>            the store's name for it, where a recording looks before it writes

Both are hard links. A run needs nothing but its own names: who removes another run, or all of `objects`,
takes no byte from it, and nobody counts who uses what, for the file system does. A file gets its names once
it is whole, and is never written again. Where there are no hard links each run has files of its own.

What lies in `objects` is not believed. A recording takes a file for its own bytes only after it has linked
it, found that it is this user's alone, and compared it with the bytes at hand, all of them: a hash that
somebody has made to fit, or a damaged file, leads to a file of the recording's own. Imported runs leave
nothing there.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from . import private
from .appending import Appender, close_own, identity, moved_up
from .past_cache import PastCache

LARGE_BYTES = 1 << 20  # to make a file takes some tenths of a millisecond: little beside writing so much
COMPARED_BYTES = 1 << 18  # at a time: Python's lock is held for less than a tenth of a millisecond
FOLDER, OBJECTS = "large", "objects"
NAME = re.compile(r"[0-9a-f]{32}")
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


@contextmanager
def opened(path: str | Path) -> Iterator[int]:
    """A descriptor of a large payload, for a while; OSError if it is no plain file of this user's."""
    fd = moved_up(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC))
    file = identity(fd)
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
            raise OSError(errno.EPERM, os.strerror(errno.EPERM), str(path))
        yield fd
    finally:
        close_own(fd, file)


class LargeFiles:
    """The large payloads of a run that is being recorded. Any thread may use it."""

    def __init__(self, folder: Path, objects: Path, past_cache: PastCache | None = None) -> None:
        self._own, self._objects = os.path.abspath(folder / FOLDER), os.path.abspath(objects)
        self._unsynced: list[str] = []
        self._past_cache = past_cache or PastCache()
        self.written = 0  # bytes given to the disk: not those that were there

    def keep(self, key: str, data: memoryview) -> None:
        """Have a payload under the run's own name; OSError where it cannot be written."""
        _make_folder(self._own)
        if not self._take(key, data):
            self._write(key, data)
            with suppress(OSError):  # no hard links here, or no room for a name: nobody shares it
                self._publish(key, data)
        self._unsynced.append(key)

    def _aside(self, key: str) -> str:
        return f"{self._own}/.{key}.{os.getpid()}"

    def _take(self, key: str, data: memoryview) -> bool:
        """Link the store's file of this name, if it holds just these bytes and is this user's alone.

        The link comes before the look: what was looked at is what is kept.
        """
        aside = self._aside(key)
        try:
            os.link(f"{self._objects}/{key}", aside, follow_symlinks=False)
            if not _holds(aside, data):
                return False
            os.rename(aside, f"{self._own}/{key}")
        except OSError:
            return False
        finally:
            with suppress(OSError):
                os.unlink(aside)
        return True

    def _write(self, key: str, data: memoryview) -> None:
        aside = self._aside(key)
        with suppress(FileNotFoundError):
            os.unlink(aside)
        file = Appender(Path(aside), os.O_EXCL, placed=True)
        try:
            self._past_cache.write(file, 0, data)
            os.rename(aside, f"{self._own}/{key}")
        except OSError:
            with suppress(OSError):
                os.unlink(aside)  # half a file on a full disk is in everybody's way
            raise
        finally:
            file.close()
        self.written += len(data)

    def _publish(self, key: str, data: memoryview) -> None:
        """Let others find the file just written; use theirs instead if they were quicker."""
        own, common = f"{self._own}/{key}", f"{self._objects}/{key}"
        _make_folder(self._objects)
        try:
            os.link(own, common)
        except FileExistsError:
            if not self._take(key, data):  # damaged, or it can take no more links: ours comes in its place
                aside = f"{self._objects}/.{key}.{os.getpid()}"
                os.link(own, aside)
                os.replace(aside, common)

    def sync(self) -> None:
        """Bring to the disk what was kept since the last time, shared files too."""
        keys, self._unsynced = self._unsynced, []
        for key in keys:
            with opened(f"{self._own}/{key}") as fd:
                os.fsync(fd)


def _make_folder(path: str) -> None:
    """Make a private folder if it is not there; those above it must be: a removed run is not made again."""
    with suppress(FileExistsError):
        os.mkdir(path, private.FOLDER_MODE)
        os.chmod(path, private.FOLDER_MODE)  # an odd umask may have taken more than others' rights


def _holds(path: str, data: memoryview) -> bool:
    """True if a file is this user's alone and holds these bytes."""
    with opened(path) as fd:
        status = os.fstat(fd)
        if status.st_size != len(data) or status.st_mode & _OTHERS_WRITE:
            return False
        for start in range(0, len(data), COMPARED_BYTES):
            piece = bytes(data[start : start + COMPARED_BYTES])  # two `bytes` are compared at memory's speed
            if os.pread(fd, len(piece), start) != piece:
                return False
    return True


# -- tidying ------------------------------------------------------------------------------
def names(folder: Path) -> list[Path]:
    """The files in a run's folder of large payloads, leftovers too; none if it has none."""
    try:
        return sorted(folder.joinpath(FOLDER).iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []


def holders(file: Path, objects: Path) -> int:
    """How many runs hold a file: its names but the store's."""
    status = file.lstat()
    return status.st_nlink - _is_same(objects / file.name, status)


def release(file: Path, objects: Path) -> None:
    """Remove a run's name of a file; the store's too where no other run has one.

    A recording that links the file meanwhile has its own name, and misses the store's at most.
    """
    with suppress(OSError):
        status = file.lstat()
        if status.st_nlink == 2 and _is_same(objects / file.name, status):
            os.unlink(objects / file.name)
    file.unlink(missing_ok=True)


def unheld(objects: Path) -> list[Path]:
    """The files that no run holds."""
    found = []
    with suppress(FileNotFoundError, NotADirectoryError):
        for entry in sorted(objects.iterdir()):
            with suppress(FileNotFoundError):
                if entry.lstat().st_nlink == 1:
                    found.append(entry)
    return found


def _is_same(path: Path, status: os.stat_result) -> bool:
    try:
        return os.path.samestat(path.lstat(), status)
    except OSError:
        return False


def sizes(folder: Path, objects: Path) -> Iterator[tuple[tuple[int, int], int, int]]:
    """Of each large payload of a run: which file, its bytes, how many runs hold it."""
    for file in names(folder):
        with suppress(FileNotFoundError):
            status: Any = file.lstat()
            yield (status.st_dev, status.st_ino), status.st_size, holders(file, objects)
