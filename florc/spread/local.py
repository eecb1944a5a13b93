"""Workers as processes of this machine."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace

from florc import overlays

from . import shares
from .places import Ended, Files, Running
from .shares import Share

POLL_S = 0.02  # between looks at what the workers have written
GRACE_S = 2.0  # a program that handles SIGTERM may tidy up for so long, then it is killed


class Process:
    """One attempt: the command of this process again, its text in files."""

    def __init__(self, share: Share, files: Files) -> None:
        told = replace(share, summary=str(files.summary), parent=os.getpid())
        with open(files.out, "wb") as out, open(files.err, "wb") as err:
            self._process = subprocess.Popen(
                [sys.executable, *sys.orig_argv[1:]],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env={**os.environ, shares.VARIABLE: told.handed()},
            )

    @property
    def ended(self) -> Ended | None:
        code = self._process.poll()
        return None if code is None else Ended.with_code(code)

    def stop(self) -> None:
        end(self._process)


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process: asked first, then killed."""
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class Local:
    """This machine."""

    def __init__(self) -> None:
        self._started: list[Process] = []

    def slots(self) -> int:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

    def start(self, share: Share, files: Files, apart_from: Running | None) -> Running:
        del apart_from  # there is one machine
        self._started.append(Process(share, files))
        return self._started[-1]

    def wait(self) -> None:
        time.sleep(POLL_S)

    def close(self) -> None:
        running = [process for process in self._started if process.ended is None]
        for process in running:
            process.stop()
        if running:
            overlays.sweep()  # a process that is ended so takes nothing away itself
