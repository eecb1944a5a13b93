"""Child processes of a recorded program: what of the project ran in them, and that they may write.

A forked child runs instrumented code. Its marks go to memory that it shares with this process, apart from
this process's own: they tell that a region ran somewhere, not in which iteration (a loader runs ahead).
A spawned child runs the plain script: nothing is known of what it runs and writes.
"""

from __future__ import annotations

import mmap
import resource
from typing import Any

from .patches import Patches
from .project import Project

SPAWNING = ("multiprocessing.popen_spawn_posix", "multiprocessing.popen_forkserver")
"""Modules of the ways in which multiprocessing starts a child that is no fork of this process."""

VALUES_LOST = "florc.log was called in another thread or process: values noted there are not kept"


class Flag:
    """One byte that forked children share with this process."""

    def __init__(self) -> None:
        self._shared = mmap.mmap(-1, 1)

    @property
    def value(self) -> int:
        return self._shared[0]

    @value.setter
    def value(self, value: int) -> None:
        self._shared[0] = value


class Children:
    """Whether other processes have run parts of the program: what they reach sets no marks here."""

    def __init__(self) -> None:
        self.forked = False  # told by whoever sees a fork
        self._faults = self._ended()

    @staticmethod
    def _ended() -> int:
        """Page faults of the children that have ended; none does without."""
        return resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt

    def were_there(self) -> bool:
        """True if there were any since this was made."""
        return self.forked or self._ended() != self._faults


class Forked:
    """What runs in forked children."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._shared: dict[str, mmap.mmap] = {}  # file id -> marks of all children
        self._told: dict[str, bytes] = {}

    def prepare(self) -> None:
        """Just before a fork: have memory to share for each file that is loaded by now."""
        for file, marks in self._project.marks.items():
            if file not in self._shared and marks:
                self._shared[file] = mmap.mmap(-1, len(marks))

    def enter(self) -> None:
        """In the child: mark there from now on."""
        shared, marks = self._shared, self._project.marks
        own = {id(marks[file]): shared[file] for file in marks if file in shared}
        for space in self._project.spaces.values():
            for name, value in space.names.items():
                if type(value) is bytearray and id(value) in own:
                    space.names[name] = own[id(value)]

    def news(self) -> dict[str, list[int]]:
        """In the parent: the regions that have run in children and were not told yet, by file."""
        found = {}
        for file, shared in self._shared.items():
            marks, told = shared[:], self._told.get(file, b"")
            if marks != told:
                found[file] = [i for i, hit in enumerate(marks) if hit and not told[i : i + 1].strip(b"\0")]
                self._told[file] = marks
        return {file: regions for file, regions in found.items() if regions}


class Spawned:
    """The spawned children that may still write."""

    def __init__(self) -> None:
        self._patches = Patches()
        self._started: list[Any] = []

    def watch(self, module: Any) -> None:
        """Notice the children that this module of multiprocessing starts."""
        real = module.Popen._launch

        def launch(popen: Any, *args: Any) -> Any:
            started = real(popen, *args)
            self._started.append(popen)
            return started

        self._patches.put(module.Popen, "_launch", launch)

    def remove(self) -> None:
        self._patches.undo()

    def may_have_written(self) -> bool:
        """True if one of them lived since last asked."""
        if not self._started:
            return False
        self._started = [popen for popen in self._started if _is_alive(popen)]
        return True


def _is_alive(popen: Any) -> bool:
    try:
        return popen.poll() is None
    except (OSError, ValueError):  # the program has closed its handle, which it may once the child has ended
        return False
