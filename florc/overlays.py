"""The folders that take what replayed programs write, each for as long as its replay lives.

A replay that is killed leaves its folder behind; the next one takes it away. Alive is who holds the
folder's lock, which the system takes back when a process and all that it has forked are gone.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
from pathlib import Path

from .runtime import scratch

PREFIX = "florc-replay-"
_TRIES = 10  # another replay may sweep a new folder away before its lock is held

_held: dict[Path, int] = {}


def make() -> Path:
    """A new folder, its lock held; those of killed replays are taken away. OSError where none can be made."""
    sweep()
    for _ in range(_TRIES):
        # tempfile's own generator of names is the program's to begin: it draws them as the recorded run did
        folder = Path(scratch.folder(), PREFIX + os.urandom(8).hex())
        folder.mkdir(mode=0o700)
        lock = _lock(folder)
        if lock is not None:
            _held[folder] = lock
            return folder
    raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN), scratch.folder())


def remove(folder: Path) -> None:
    """Take a folder away, and let its lock go."""
    lock = _held.pop(folder, None)
    if lock is not None and _is(lock, folder):
        os.close(lock)
    shutil.rmtree(folder, ignore_errors=True)


def sweep() -> None:
    """Take away the folders of this user's replays that were killed."""
    for folder in Path(scratch.folder()).glob(PREFIX + "*"):
        take_away(folder)


def abandoned() -> list[Path]:
    """The folders that a sweep would take away."""
    found = []
    for folder in sorted(Path(scratch.folder()).glob(PREFIX + "*")):
        lock = _lock(folder)
        if lock is not None:
            os.close(lock)
            found.append(folder)
    return found


def take_away(folder: Path) -> None:
    """Take a folder away, unless its replay lives."""
    lock = _lock(folder)
    if lock is not None:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _lock(folder: Path) -> int | None:
    """Hold a folder of this user's; None if another process does, or it is not there (any more)."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        pass
    else:
        if os.fstat(descriptor).st_uid == os.geteuid() and _is(descriptor, folder):
            return descriptor
    os.close(descriptor)
    return None


def _is(descriptor: int, folder: Path) -> bool:
    """True if a descriptor stands for the folder: the program may have closed it, and opened another."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(folder))
    except OSError:
        return False
