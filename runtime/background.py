"""Writes what has been staged while the program trains, in a thread that takes little of what others want.

The thread holds Python's lock for as short as can be: a job is a few large pieces of memory and one text,
whatever the number of blobs in it. It runs at a low priority, takes no signals (they belong to the
program's main thread) and is not one of `threading`'s: the program does not see it. The main thread can
take part, piece by piece: so it never waits for more than the piece that the thread has in hand.
"""

from __future__ import annotations

import _thread
import itertools
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from time import thread_time  # the real one, whatever stands in `time` later
from typing import NamedTuple

PIECE = 4 << 20  # bytes: a few milliseconds of writing
# Where all cores are busy, it gets a tenth of one, and a checkpoint is through in a second. At the lowest
# priority it would get a sixtieth, and the next checkpoint would find it at work.
NICER = 10
LOWEST = 19


class Piece(NamedTuple):
    """A part of a job's bytes, written at once: to a place of the pack, or, with a key, to its own file."""

    start: int
    end: int
    place: int = 0
    key: str = ""


def in_pieces(start: int, end: int, place: int) -> list[Piece]:
    """What lies from start to end in memory, for a place of the pack."""
    return [Piece(at, min(at + PIECE, end), place + at - start) for at in range(start, end, PIECE)]


class Job:
    """Bytes, where each of their pieces goes, and the lines of the index that name them.

    Attributes:
        seconds: processor time that the thread has taken for it.
        error: why it was not written.
    """

    __slots__ = ("data", "pieces", "lines", "seconds", "error", "_left", "_done", "_after")

    def __init__(
        self, data: memoryview, pieces: Sequence[Piece], lines: bytes, after: Callable[[], None]
    ) -> None:
        self.data, self.pieces, self.lines = data, pieces, lines
        self.seconds = 0.0
        self.error: OSError | None = None
        self._after = after
        self._left = itertools.count(len(pieces) - 1, -1)  # next() is one step: no thread comes between
        self._done = _thread.allocate_lock()
        self._done.acquire()

    @property
    def done(self) -> bool:
        """True once it is written, or has failed."""
        return not self._done.locked()

    def wait(self) -> None:
        """Wait for the piece that another thread has in hand."""
        with self._done:
            pass

    def write(self, piece: Piece, disk: Disk, clock: Callable[[], float] | None = None) -> None:
        """Write one piece; with the last one, the lines. The clock tells what a thread of its own takes."""
        before = clock() if clock else 0.0
        data = self.data[piece.start : piece.end]
        if piece.key:
            self._try(lambda: disk.write_large(piece.key, data))
        else:
            self._try(lambda: disk.write_bytes(piece.place, data))
        is_last = not next(self._left)
        if is_last:
            self._try(lambda: disk.write_lines(self.lines))
            self.data = memoryview(b"")
        if clock:
            self.seconds += clock() - before
        if is_last:
            self._after()
            self._done.release()

    def _try(self, action: Callable[[], None]) -> None:
        """Do it unless something has failed before."""
        try:
            if self.error is None:
                action()
        except OSError as error:
            self.error = error


class Disk:
    """Where jobs are written to. All methods raise OSError."""

    def write_bytes(self, place: int, data: memoryview) -> None:
        raise NotImplementedError

    def write_large(self, key: str, data: memoryview) -> None:
        raise NotImplementedError

    def write_lines(self, lines: bytes) -> None:
        raise NotImplementedError


Task = tuple[Job, Piece]


class Background:
    """The thread; it starts with the first job."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._tasks: SimpleQueue[Task | None] = SimpleQueue()
        self._runs = False
        self._open: list[Job] = []

    def start(self, job: Job) -> None:
        """Have a job written. Where there can be no thread, it is done on return."""
        self._open = [*(one for one in self._open if not one.done), job]
        for piece in job.pieces:
            self._tasks.put((job, piece))
        if not self._runs and not self._run():
            self.finish()

    def finish(self) -> None:
        """Write what waits, here and now."""
        with suppress(Empty):
            while True:
                task = self._tasks.get_nowait()
                if task is not None:
                    task[0].write(task[1], self._disk)
        for job in self._open:
            job.wait()
        self._open.clear()

    def close(self) -> None:
        """End the thread."""
        self.finish()
        if self._runs:
            self._runs = False
            self._tasks.put(None)

    def _run(self) -> bool:
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            _thread.start_new_thread(self._work, ())
            self._runs = True
        except RuntimeError:  # the system gives no more threads
            return False
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        return True

    def _work(self) -> None:
        if sys.platform == "linux":  # elsewhere a process has one priority for all its threads
            with suppress(OSError):
                niceness = min(os.getpriority(os.PRIO_PROCESS, 0) + NICER, LOWEST)
                os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), niceness)
        while True:
            task = self._tasks.get()
            if task is None:
                return
            task[0].write(task[1], self._disk, thread_time)
