"""Writing past the system's cache: what a recording writes, nobody reads soon."""

from __future__ import annotations

import ctypes
from time import perf_counter  # the real one, whatever stands in `time` later

from .appending import BLOCK, Appender

WORTH_BYTES = 1 << 18  # to open the file once more takes as long as to copy some tens of kilobytes
QUICK = 100e6  # bytes a second, once TRIED_BYTES have been written: the thread may have to wait for a core
TRIED_BYTES = 64 << 20


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
            started = perf_counter()
            try:
                file.write_past_cache(place, data[:size])
            except OSError:
                self._works = False  # if it is the disk that fails, the usual way will tell
            else:
                self._bytes += size
                self._seconds += perf_counter() - started
                self._works = self._bytes < TRIED_BYTES or self._bytes >= QUICK * self._seconds
                place, data = place + size, data[size:]
        file.write_at(place, data)


def _begins_with_a_block(data: memoryview) -> bool:
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(data)) % BLOCK == 0
    except TypeError:
        return False  # memory that may not be written does not tell where it is
