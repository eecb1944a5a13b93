"""Memory to which the training thread copies what has changed, while the disk is written from there.

A few slots, kept and used again: a copy into memory that has been touched is three times as fast as one
into new memory, and the process does not grow from checkpoint to checkpoint. Forked processes (loader
workers) do not get it: the next write would copy each page that they share. Its pages are small ones: a
virtual machine that has not been up for long has no huge ones that its host need not find first.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import resource
import weakref
from contextlib import suppress
from time import perf_counter  # the real one, whatever stands in `time` later
from typing import Any

import xxhash

from .appending import BLOCK

SLOTS = 2  # snapshots in flight: one that is being written, one that waits
ROOM = 1.25  # times what is needed: the next may be a little larger, and pages not touched cost nothing
SPARE = 4  # a slot may be so many times larger than what is needed
IDLE = 16  # a slot that so many snapshots did not need gives its memory back: the first one holds all
CHUNK = 1 << 18  # bytes that stay in a core's own cache between copying them and reading them again
SHARE = 4  # a snapshot may take the so-manieth part of the memory that is free
_POPULATE_WRITE = 23  # MADV_POPULATE_WRITE of <linux/mman.h>, since Linux 5.14; OSError before
_MEMINFO, _CGROUP = "/proc/meminfo", "/sys/fs/cgroup"


class Slot:
    """One piece of staging memory.

    Attributes:
        making: seconds that new memory took at the last `fill`, 0 where there was no need of it. What a slot
            costs once says nothing of what the next checkpoint will cost.
    """

    __slots__ = ("idle", "making", "memory")

    def __init__(self) -> None:
        self.memory: mmap.mmap | None = None
        self.idle = 0
        self.making = 0.0

    @property
    def size(self) -> int:
        return 0 if self.memory is None else len(self.memory)

    def suits(self, size: int) -> bool:
        return size <= self.size <= max(SPARE * size, mmap.PAGESIZE)

    def prepare(self, size: int) -> None:
        """Have memory of this size; what the slot held is gone. OSError where the system gives none."""
        self.making = 0.0
        if self.memory is None or not self.suits(size):
            self._make(size)

    def _make(self, size: int) -> None:
        started = perf_counter()
        self.memory = None  # the old one goes before the new one comes
        self.memory = _memory(int(size * ROOM))
        with suppress(OSError, ValueError):
            self.memory.madvise(_POPULATE_WRITE, 0, size)
        self.making = perf_counter() - started

    def fill(self, parts: list[Placed], size: int, there: list[Placed] | None = None) -> memoryview:
        """Copy buffers to their places; what is there, valid until the slot is filled again.

        there: what a `Copies` of this slot has copied already.
        """
        self.making = 0.0
        if there is None:
            self.prepare(size)
        elif size > self.size:
            self._make(size)  # the old memory stays as long as somebody looks at it
            parts = there + parts
        assert self.memory is not None
        view = memoryview(self.memory)
        for place, data in parts:
            view[place : place + len(data)] = data
        return view[:size]


Placed = tuple[int, Any]  # place in a slot's memory, buffer


class Copies:
    """Copies that are made while their hash is computed: what has been copied is read from the core's cache.

    Worth it for what will have to be written: what is known already has been copied in vain.

    Args:
        slot: where to; prepared.
    """

    def __init__(self, slot: Slot) -> None:
        self.slot = slot
        self.end = 0
        self.places: dict[str, int] = {}  # by hash
        self._memory = memoryview(b"" if slot.memory is None else slot.memory)

    def hashed(self, data: Any) -> str:
        """The hash of a buffer, and a copy of just these bytes if there is room."""
        size, start = len(data), self.end + -self.end % BLOCK
        if start + size > len(self._memory):
            return xxhash.xxh3_128_hexdigest(data)
        source, target = memoryview(data).cast("B"), self._memory[start : start + size]
        state = xxhash.xxh3_128()
        for at in range(0, size, CHUNK):
            piece = target[at : at + CHUNK]
            piece[:] = source[at : at + CHUNK]
            state.update(piece)
        key = state.hexdigest()
        if key not in self.places:
            self.places[key] = start
            self.end = start + size
        return key

    def copy(self, key: str, size: int) -> memoryview | None:
        """The copy of bytes with this hash, if one was made."""
        place = self.places.get(key)
        return None if place is None else self._memory[place : place + size]


class Staging:
    """The slots. `take` gives one that is free, `give` brings it back."""

    def __init__(self) -> None:
        self._free = [Slot() for _ in range(SLOTS)]

    @property
    def has_room(self) -> bool:
        return bool(self._free)

    def take(self, size: int = 0) -> Slot:
        """The free slot that suits best; IndexError if there is none."""
        free = sorted(self._free, key=lambda slot: (not slot.suits(size), slot.size))
        found = free.pop(0)
        self._free.remove(found)  # the thread may give another one back meanwhile
        found.idle = 0
        for slot in free:
            slot.idle += 1
            if slot.idle > IDLE:
                slot.memory = None
        return found

    def give(self, slot: Slot) -> None:
        self._free.append(slot)


def _memory(size: int) -> mmap.mmap:
    """New memory that no forked process gets."""
    if hasattr(mmap, "MADV_DONTFORK"):
        found = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        try:
            found.madvise(mmap.MADV_DONTFORK)
        except OSError:
            found.close()
        else:
            _not_in_children.add(found)
            return found
    return mmap.mmap(-1, size)  # shared with forked processes: nothing is copied when it is written


_not_in_children: weakref.WeakSet[mmap.mmap] = weakref.WeakSet()


def _let_be() -> None:
    """In a forked process: never unmap what is not there, something else may be in its place."""
    for memory in _not_in_children:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(memory))


os.register_at_fork(after_in_child=_let_be)


def fits(size: int) -> bool:
    """True if staging memory of this size leaves the program enough."""
    return size * SHARE <= free_memory()


def free_memory() -> int:
    """Bytes that this process may still take, as the system, its control group and its own limit say."""
    found = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    with suppress(OSError, ValueError, IndexError), open(_MEMINFO) as lines:
        found += [int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:")]
    with suppress(OSError, ValueError):
        limit = _number(f"{_CGROUP}/memory.max")
        found.append(limit - _number(f"{_CGROUP}/memory.current"))
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY:
        with suppress(OSError, ValueError):
            found.append(limit - _taken())
    return max(min(found), 0)


def _taken() -> int:
    """Bytes of this process's address space that are in use."""
    with open("/proc/self/statm") as stream:
        return int(stream.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def _number(path: str) -> int:
    with open(path) as stream:
        return int(stream.read())
