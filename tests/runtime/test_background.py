"""The thread that writes: in order, at a low priority, taking no signals; nobody waits for it."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import pytest

from florc.runtime.background import NICER, PIECE, Background, Disk, Job, in_pieces


class Held(Disk):
    """A disk in memory. While the gate is closed, the thread waits in its first write."""

    def __init__(self, fails: int = 0) -> None:
        self.bytes = bytearray(4 * PIECE)
        self.calls: list[tuple[Any, str]] = []
        self.gate = threading.Event()
        self.entered = threading.Event()
        self.main = threading.get_ident()
        self.fails = fails
        self.niceness: list[int] = []
        self.mask: set[int] = set()

    def write_bytes(self, place: int, data: memoryview) -> None:
        who = "main" if threading.get_ident() == self.main else "thread"
        if who == "thread":
            self.niceness.append(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))
            self.mask = set(signal.pthread_sigmask(signal.SIG_BLOCK, ()))
            self.entered.set()
            self.gate.wait(30)
        self.calls.append((place, who))
        if len(self.calls) == self.fails:
            raise OSError(errno.ENOSPC, "no space left on device")
        self.bytes[place : place + len(data)] = data

    def write_lines(self, lines: bytes) -> None:
        self.calls.append((lines, "main" if threading.get_ident() == self.main else "thread"))


def job(place: int, size: int, mark: int = 7, after: Any = lambda: None) -> Job:
    return Job(memoryview(bytes([mark]) * size), in_pieces(0, size, place), b"line of %d\n" % place, after)


def waited(one: Job) -> Job:
    one.wait()
    return one


def test_a_job_is_written_by_the_thread_its_lines_last():
    disk, freed = Held(), []
    disk.gate.set()
    background = Background(disk)
    one = job(10, 2 * PIECE + 1, after=lambda: freed.append(True))
    background.start(one)
    assert waited(one).done and one.error is None and freed == [True]
    assert [place for place, _ in disk.calls] == [10, 10 + PIECE, 10 + 2 * PIECE, b"line of 10\n"]
    assert {who for _, who in disk.calls} == {"thread"}
    assert disk.bytes[9 : 12 + 2 * PIECE] == b"\0" + b"\7" * (2 * PIECE + 1) + b"\0"
    assert one.seconds > 0
    background.close()


@pytest.mark.skipif(sys.platform != "linux", reason="threads have no priorities of their own there")
def test_the_thread_yields_to_everybody_and_takes_no_signals():
    disk = Held()
    disk.gate.set()
    background, before = Background(disk), os.getpriority(os.PRIO_PROCESS, 0)
    background.start(one := job(0, 10))
    waited(one)
    assert disk.niceness == [before + NICER] and os.getpriority(os.PRIO_PROCESS, 0) == before
    assert {signal.SIGINT, signal.SIGALRM, signal.SIGTERM, signal.SIGCHLD} <= disk.mask
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    background.close()


def test_threading_does_not_know_the_thread():
    disk = Held()
    disk.gate.set()
    before = threading.active_count()
    background = Background(disk)
    background.start(one := job(0, 10))
    waited(one)
    assert threading.active_count() == before
    background.close()


def test_to_start_a_job_does_not_wait_for_the_disk():
    disk = Held()
    background = Background(disk)
    first, second = job(0, 10), job(100, 10)
    background.start(first)
    background.start(second)
    assert disk.entered.wait(30)
    assert not first.done and not second.done and disk.calls == []
    disk.gate.set()
    background.close()
    assert first.done and second.done


def test_who_cannot_wait_takes_part():
    """The thread is stuck in one piece; the main thread writes all others."""
    disk = Held()
    background = Background(disk)
    one, two = job(0, PIECE + 5), job(2 * PIECE, 5)
    background.start(one)
    assert disk.entered.wait(30)
    background.start(two)
    opener = threading.Timer(0.2, disk.gate.set)
    opener.start()
    background.finish()
    assert one.done and two.done
    assert (PIECE, "main") in disk.calls and (2 * PIECE, "main") in disk.calls
    assert (0, "thread") in disk.calls
    background.close()


@pytest.mark.parametrize("failing", [1, 2, 3])
def test_a_job_that_fails_says_so_and_names_nothing(failing):
    disk, freed = Held(fails=failing), []
    disk.gate.set()
    background = Background(disk)
    background.start(one := job(0, 2 * PIECE + 1, after=lambda: freed.append(True)))
    error = waited(one).error
    assert error is not None and error.errno == errno.ENOSPC
    assert not any(isinstance(call, bytes) for call, _ in disk.calls) and freed == [True]
    background.close()


def test_where_there_can_be_no_thread_it_is_done_at_once(monkeypatch):
    def refuse(*_: Any) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("_thread.start_new_thread", refuse)
    disk = Held()
    Background(disk).start(one := job(3, 10))
    assert one.done and {who for _, who in disk.calls} == {"main"} and disk.bytes[3:13] == b"\7" * 10


ASLEEP = """
import signal, sys, time
from florc.runtime.background import Background, Disk, Job, Piece
class Slow(Disk):
    def write_bytes(self, place, data): time.sleep(3)
    def write_lines(self, lines): pass
signal.signal(signal.SIGALRM, lambda *_: print("rang"))
background = Background(Slow())
background.start(Job(memoryview(b"x"), [Piece(0, 1)], b"", lambda: None))
signal.setitimer(signal.ITIMER_REAL, 0.2)
signal.pause()
print("woke")
"""


def test_a_signal_wakes_the_programs_own_thread(tmp_path):
    started = time.monotonic()
    done = subprocess.run([sys.executable, "-c", ASLEEP], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("rang\nwoke\n", ""), time.monotonic() - started
