"""Writing past the system's cache: what a recording writes, nobody reads soon."""

from __future__ import annotations

import ctypes
import os
import sys
from contextlib import suppress
from time import perf_counter  # the real one, whatever stands in `time` later

from .appending import BLOCK, Appender, close_own, identity, moved_up

WORTH_BYTES = 1 << 18  # to open the file once more takes as long as to copy some tens of kilobytes
QUICK = 100e6  # bytes a second
TRIED_BYTES = 64 << 20  # before the disk is judged
# a write gives Python's lock away and takes it back so often; another thread may have it for the interval
TAKINGS = 5
_SCHEDULED = "/proc/thread-self/schedstat"  # nanoseconds on a core, waiting for one; how often


class PastCache:
    """Writes past the system's cache, as long as the disk is quick that way.

    The copy in the cache takes the processor longer than the disk (on a virtual machine, ten times as long:
    its host has to find the memory), and pushes the program's own files out, though nobody reads it soon.
    Of a slow disk it would take bursts.
    """

    def __init__(self) -> None:
        self._works = True
        self._bytes, self._seconds = 0, 0.0

    def write(self, file: Appender, place: int, data: memoryview) -> None:
        """Write all of a buffer at a place of a file, its whole blocks past the cache."""
        size = len(data) // BLOCK * BLOCK
        if self._works and size >= WORTH_BYTES and place % BLOCK == 0 and _begins_with_a_block(data):
            started = _now()
            try:
                file.write_past_cache(place, data[:size])
            except OSError:
                self._works = False  # if it is the disk that fails, the usual way will tell
            else:
                self._saw(size, _now() - started)
                place, data = place + size, data[size:]
        file.write_at(place, data)

    def _saw(self, size: int, seconds: float) -> None:
        """Judge the disk, by what was not waiting for Python's lock."""
        self._bytes += size
        self._seconds += max(seconds - TAKINGS * sys.getswitchinterval(), 0.0)
        self._works = self._bytes < TRIED_BYTES or self._bytes >= QUICK * self._seconds


def _now() -> float:
    """Seconds, less those for which this thread has waited for a core: they say nothing of the disk."""
    waited = 0.0
    with suppress(OSError, ValueError, IndexError):
        fd = moved_up(os.open(_SCHEDULED, os.O_RDONLY | os.O_CLOEXEC))  # out of the program's files' way
        file = identity(fd)
        try:
            waited = int(os.read(fd, 64).split()[1]) * 1e-9
        finally:
            close_own(fd, file)
    return perf_counter() - waited


def _begins_with_a_block(data: memoryview) -> bool:
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(data)) % BLOCK == 0
    except TypeError:
        return False  # memory that may not be written does not tell where it is
