"""Run one command and account for all that its process tree uses.

CPU seconds are the kernel's, of the process, its threads, its children and what these leave behind: this
process adopts orphans (`PR_SET_CHILD_SUBREAPER`) and waits for them. Wall seconds are taken here, where no
recorder stands in for the clock; the script's marks come through a pipe (workloads/marks.py).
"""
from __future__ import annotations

import ctypes
import mmap
import os
import pickle
import resource
import subprocess
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import NoReturn

MARKS_FD = 57  # a number no script uses; always the same, so that recorded environments do not differ
SAMPLE_SECONDS = 0.05  # between looks at the memory: costs 0.1 % of a core
WARM_BYTES = 2 << 30  # more than any two of the measured processes take
ORPHAN_SECONDS = 30  # what a recorder leaves running ends by then, or is not waited for
_PR_SET_CHILD_SUBREAPER = 36
_POPULATE_WRITE = 23  # MADV_POPULATE_WRITE of <linux/mman.h>
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Mark:
    """A place the script reached: when, and CPU seconds of the process, its main thread, ended children."""

    place: str
    wall: float
    cpu: float
    main: float
    children: float


@dataclass(frozen=True)
class Usage:
    """What one command used. CPU and wall seconds until all its processes ended; memory in MiB."""

    code: int
    out: str
    err: str
    wall: float
    cpu: float
    marks: tuple[Mark, ...] = ()
    memory: tuple[float, ...] = field(default=(), repr=False)  # resident, every SAMPLE_SECONDS

    def mark(self, place: str) -> Mark | None:
        """The first time the script reached the place."""
        return next((mark for mark in self.marks if mark.place == place), None)

    def between(self, place: str, following: str) -> list[tuple[float, float]]:
        """Wall and main-thread CPU seconds from each such mark to the next one, if that is `following`."""
        return [(after.wall - before.wall, after.main - before.main)
                for before, after in pairwise(self.marks)
                if (before.place, after.place) == (place, following)]

    @property
    def loop_cpu(self) -> float | None:
        """CPU seconds from the loop's start to the end of everything, background work included."""
        start = self.mark("loop-start")
        return None if start is None else self.cpu - start.cpu - start.children

    @property
    def loop_wall(self) -> float | None:
        start = self.mark("loop-start")
        return None if start is None else self.wall - start.wall

    @property
    def start_cpu(self) -> float | None:
        """CPU seconds until the loop's start."""
        start = self.mark("loop-start")
        return None if start is None else start.cpu + start.children

    @property
    def main_in_loop(self) -> float | None:
        """CPU seconds of the main thread between the loop's start and its end."""
        start, end = self.mark("loop-start"), self.mark("loop-end")
        return None if start is None or end is None else end.main - start.main

    @property
    def cpu_in_loop(self) -> float | None:
        """CPU seconds of all threads and ended children between the loop's start and its end."""
        start, end = self.mark("loop-start"), self.mark("loop-end")
        return None if start is None or end is None else end.cpu + end.children - start.cpu - start.children

    @property
    def wall_in_loop(self) -> float | None:
        """Wall seconds between the loop's start and its end."""
        start, end = self.mark("loop-start"), self.mark("loop-end")
        return None if start is None or end is None else end.wall - start.wall


def adopt_orphans() -> None:
    """Become the parent of what ended commands leave running, so that it can be waited for."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def together(works: Sequence[Callable[[], Usage]], first: int = 0) -> list[Usage]:
    """Do works at the same time, each held to a core of its own: what slows the machine slows them all.

    Two equal runs one after the other differ by 3 to 5 % in CPU seconds on a virtual machine, two at the
    same time by 1 to 2 %. Where there are fewer cores than works, they are done one after the other.

    Args:
        first: the core of the first work, counted among those there are; the others get the next ones.
    """
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < len(works):
        return [work() for work in works]
    os.sync()
    warm_memory()
    started = []
    for number, work in enumerate(works):
        read, write = os.pipe()
        pid = os.fork()
        if not pid:
            os.close(read)
            _do(work, cores[(first + number) % len(cores)], write)
        os.close(write)
        started.append((pid, read))
    done: list[Usage] = []
    for pid, read in started:
        with open(read, "rb") as stream:
            answer = stream.read()
        os.waitpid(pid, 0)
        if not answer:
            raise RuntimeError("a measured run broke off; see what it wrote to standard error")
        done.append(pickle.loads(answer))
    return done


def warm_memory() -> None:
    """Use memory that the works will use, and give it back.

    A virtual machine's host may take free memory away; who needs it next waits until the host has found
    some, ten times as long as for memory that is there. It is the larger of two processes that would pay.
    """
    size = min(WARM_BYTES, os.sysconf("SC_AVPHYS_PAGES") * _PAGE // 2)
    if not (pid := os.fork()):
        with suppress(OSError, ValueError):
            mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).madvise(_POPULATE_WRITE)
        os._exit(0)
    os.waitpid(pid, 0)


def _do(work: Callable[[], Usage], core: int, pipe: int) -> NoReturn:
    """In a forked child: do the work on one core and write what it used to the pipe."""
    try:
        os.sched_setaffinity(0, [core])
        adopt_orphans()
        with open(pipe, "wb") as stream:
            pickle.dump(work(), stream)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def run(command: Sequence[str], folder: Path, env: Mapping[str, str], timeout: float = 600) -> Usage:
    """Run a command in a folder and return what it used. `adopt_orphans` must have been called once.

    Earlier writes are synced first, so that nobody pays for another's.
    """
    os.sync()
    before = _children_cpu()
    read, write = os.pipe()
    out, err = folder.with_suffix(".out"), folder.with_suffix(".err")
    os.dup2(write, MARKS_FD, inheritable=True)
    os.close(write)
    start = time.perf_counter()
    with out.open("wb") as stdout, err.open("wb") as stderr:
        process = subprocess.Popen(list(command), cwd=folder, env={**env, "BENCH_MARKS": str(MARKS_FD)},
                                   stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr,
                                   pass_fds=(MARKS_FD,))
    os.close(MARKS_FD)
    marks: list[Mark] = []
    memory: list[float] = []
    ended = threading.Event()
    watchers = [threading.Thread(target=_listen, args=(read, start, marks), daemon=True),
                threading.Thread(target=_sample, args=(process.pid, memory, ended), daemon=True)]
    for watcher in watchers:
        watcher.start()
    try:
        process.wait(timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    ended.set()
    _wait_for_orphans()
    wall = time.perf_counter() - start
    watchers[0].join(1.0)
    os.close(read)
    return Usage(process.returncode, out.read_text(errors="replace"), err.read_text(errors="replace"), wall,
                 _children_cpu() - before, tuple(marks), tuple(memory))


def _children_cpu() -> float:
    use = resource.getrusage(resource.RUSAGE_CHILDREN)
    return use.ru_utime + use.ru_stime


def _wait_for_orphans() -> None:
    """Wait for adopted processes; their CPU seconds count when they are waited for."""
    until = time.perf_counter() + ORPHAN_SECONDS
    while time.perf_counter() < until:
        try:
            if os.waitpid(-1, os.WNOHANG) == (0, 0):
                time.sleep(0.02)
        except ChildProcessError:
            return


def _listen(pipe: int, start: float, marks: list[Mark]) -> None:
    """Note the marks as they come. One write, shorter than PIPE_BUF, arrives in one piece."""
    rest = b""
    while True:
        try:
            data = os.read(pipe, 65536)
        except OSError:
            return
        now = time.perf_counter() - start
        if not data:
            return
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            place, cpu, main, children, _ = line.decode().split()
            marks.append(Mark(place, now, float(cpu), float(main), float(children)))


def _sample(pid: int, memory: list[float], ended: threading.Event) -> None:
    """Note the resident memory of the process, and of its children, while it runs."""
    while not ended.wait(SAMPLE_SECONDS):
        try:
            children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            pages = sum(int(Path(f"/proc/{one}/statm").read_text().split()[1]) for one in (pid, *children))
        except (OSError, IndexError):
            continue
        memory.append(pages * _PAGE / 2**20)
