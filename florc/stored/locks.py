"""Who uses a run's folder: a replay holds it together with others, what removes it has it alone.

The system lets go of a lock when its process ends, however it ends. Where there are no locks (some network
file systems), nobody waits and nobody is refused.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from florc.runtime.appending import moved_up


def share(folder: Path) -> None:
    """Hold a run's folder until this process ends."""
    with suppress(OSError):
        fcntl.flock(moved_up(_open(folder)), fcntl.LOCK_SH | fcntl.LOCK_NB)


@contextmanager
def alone(folder: Path) -> Iterator[bool]:
    """Hold a run's folder for a while; False if others use it."""
    fd = _open(folder)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        except OSError:
            pass  # no locks here
        yield True
    finally:
        os.close(fd)


def _open(folder: Path) -> int:
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
