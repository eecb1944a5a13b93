"""Stores that fill up, fail, become read-only or answer slowly: training never notices."""

from __future__ import annotations

import ctypes
import os
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from tests.harness import Outcome, check

from .bench import DENSE, PREFIX, Bench, Fault

VERSIONS = ("outer.py", "inner.py")
ERRORS = ("ENOSPC", "EDQUOT", "EIO", "EROFS")
PAGE = 4096
SLOW_S = 0.05  # what each write to the store takes longer on a slow disk
SLOW_MOST = 40  # so many a record may then make: some for each of its files, its first checkpoint, its end


def failing_writes(bench: Bench, chance: Random) -> str:
    """From a random write to the store on, all fail, the first in its middle."""
    return _failing(bench.lay(), chance, "fail")


def failing_once(bench: Bench, chance: Random) -> str:
    """A single write to the store fails."""
    return _failing(bench.lay(), chance, "fail-once")


def _failing(bench: Bench, chance: Random, act: str) -> str:
    at = chance.randint(1, bench.store_writes(*DENSE))
    done, happened = bench.record_until(at, act, errno=chance.choice(ERRORS))
    if not happened:
        bench.must_be_plain(done)
        return bench.judge(chance.choice(VERSIONS), done.out)
    return _told(bench, chance, done, last_words=act != "fail")


def _told(bench: Bench, chance: Random, done: Outcome, last_words: bool = True) -> str:
    """The record is as plain Python, with one warning; the replay is exact or says that it is not.

    last_words: the store could still take why recording stopped; else it looks like that of a killed run.
    """
    bench.must_be_plain(done)
    warnings = done.err.count("florc: warning:")
    check(warnings == 1, f"{warnings} warnings, want 1: {done.err}")
    if last_words:
        verdict = bench.judge(chance.choice(VERSIONS), done.out)
        check(verdict != PREFIX, "the replay ends early as if the run had been killed")
        return verdict
    return bench.judge(chance.choice(VERSIONS), "")


def file_limit(bench: Bench, chance: Random) -> str:
    """No file may grow beyond a random size (RLIMIT_FSIZE)."""
    bench.lay()
    size = chance.randint(1500, 90_000)
    done = bench.record(
        options=DENSE, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    )
    if not done.err:
        bench.must_be_plain(done)
        return bench.judge("outer.py", done.out)
    return _told(bench, chance, done)


def small_disk(bench: Bench, chance: Random) -> str:
    """The store lies on a disk of its own, of a random small size."""
    bench.lay()
    with mounted(bench.store, "tmpfs", f"mode=0700,size={chance.randint(3, 30) * PAGE}"):
        done = bench.record(options=DENSE)
        if not done.err:
            bench.must_be_plain(done)
            return bench.judge("outer.py", done.out)
        return _told(bench, chance, done)


def store_in_a_file(bench: Bench, chance: Random) -> str:
    """Where the store should be made is a file, or a folder that takes nothing."""
    bench.lay()
    if chance.random() < 0.5:
        bench.store.write_text("in the way")
        done = bench.record()
        check("recording is off" in done.err, f"no warning: {done.err}")
        bench.store.unlink()
    else:
        with mounted(bench.store, "tmpfs", "mode=0700,size=1m,ro"):
            done = bench.record()
            check("recording is off" in done.err, f"no warning: {done.err}")
    bench.must_be_plain(done)
    return bench.judge("outer.py", "")


def slow_disk(bench: Bench, chance: Random) -> str:
    """Each write to the store takes 50 ms longer."""
    bench.lay()
    count = bench.work / "count"
    done = bench.record(world={"slow": SLOW_S, "count": str(count)})
    bench.must_be_plain(done)
    slow = int(count.read_text())
    check(slow <= SLOW_MOST, f"{slow} slow writes and syncs, {bench.store_writes()} on a sound disk")
    return bench.judge(chance.choice(VERSIONS), done.out)


MS_RDONLY, MNT_DETACH = 1, 2
_libc = ctypes.CDLL(None, use_errno=True)


def _mount(source: str, target: Path, kind: str, flags: int, data: str) -> None:
    done = _libc.mount(source.encode(), os.fsencode(target), kind.encode(), flags, data.encode())
    if done:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(target))


@contextmanager
def mounted(folder: Path, kind: str, data: str) -> Iterator[None]:
    """A file system of its own at `folder`."""
    folder.mkdir()
    flags = MS_RDONLY if data.endswith(",ro") else 0
    _mount("none", folder, kind, flags, data.removesuffix(",ro"))
    try:
        yield
    finally:
        _libc.umount2(os.fsencode(folder), MNT_DETACH)
        folder.rmdir()


def _no_mounts() -> str:
    """Why no disk can be mounted here; "" where one can."""
    if not hasattr(_libc, "mount") or os.geteuid() != 0:
        return "only root may mount a disk"
    done = subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False)
    return "" if done.returncode == 0 else "mounting is not allowed"


FAULTS = [
    Fault(
        "failing-writes",
        "the store fails, for good",
        "from a random write on: ENOSPC, EDQUOT, EIO or EROFS, the first write half done",
        failing_writes,
    ),
    Fault(
        "failing-once",
        "one write to the store fails",
        "a random write raises ENOSPC, EDQUOT, EIO or EROFS",
        failing_once,
    ),
    Fault("file-limit", "no file may grow further", "RLIMIT_FSIZE of a random size", file_limit),
    Fault("small-disk", "the disk is full", "the store on a tmpfs of 3 to 30 pages", small_disk, _no_mounts),
    Fault(
        "no-store",
        "no store can be made",
        "a file in its place, or a read-only disk",
        store_in_a_file,
        _no_mounts,
        most=6,
    ),
    Fault("slow-disk", "the disk is slow", "50 ms longer for each write and sync", slow_disk, most=4),
]
