"""Run one program twice: recorded, then replayed with some of its parts skipped."""
from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from florc.runtime.files import FileRecorder, FileReplayer

LIMIT = 1000


class Bench:
    """A user's folder, a store beside it, and the two ways to run a program in it.

    A program takes the bench and says its parts: `if bench.enter("loop"): ...; bench.leave("loop")`.
    What it tells is collected by bench.tell(...).
    """

    def __init__(self, root: Path, limit: int = LIMIT) -> None:
        self.home = root / "home"
        self.libraries = root / "libraries"  # nothing in there is recorded
        self.home.mkdir()
        self.overlay = root / "store" / "overlay"
        self.kept: dict[str, bytes] = {}
        self.events: list[tuple[int, tuple[Any, ...]]] = []
        self.ends: dict[str, int] = {}
        self.told: list[Any] = []
        self.reports: list[str] = []
        self.probing = False
        self._skip: set[str] = set()
        self._replayer: FileReplayer | None = None
        self._limit = limit

    def path(self, name: str) -> str:
        """The real path of a name in the user's folder."""
        return os.path.realpath(self.home / name)

    def kinds(self, name: str = "") -> list[str]:
        """The kinds of the events that concern a path, in order."""
        return [event[0] for _, event in self.events if not name or self.path(name) in event]

    def tell(self, value: Any) -> None:
        """What a real program would print."""
        self.told.append(value)

    def enter(self, part: str) -> bool:
        """Whether to run this part; when not, the replay jumps over it."""
        if part not in self._skip:
            return True
        assert self._replayer is not None
        self._replayer.skip_to(self.ends[part])
        return False

    def leave(self, part: str) -> None:
        """The end of a part."""
        if self._replayer is None:
            self.ends[part] = len(self.events)

    def probe(self, look: Callable[[], Any]) -> None:
        """Run added code: nothing in the recorded run, told under replay."""
        if self._replayer is not None:
            self.probing = True
            try:
                self.tell(look())
            finally:
                self.probing = False

    def _ignore(self, path: str) -> bool:
        return path.startswith(f"{self.libraries}/")

    def _keep(self, contents: bytes) -> str:
        key = hashlib.sha256(contents).hexdigest()[:16]
        self.kept[key] = contents
        return key

    def recorder(self) -> FileRecorder:
        """A recorder that fills this bench."""
        def emit(event: tuple[Any, ...]) -> None:
            self.events.append((len(self.events) + 1, event))

        return FileRecorder(emit, self._keep, self._ignore, self._limit)

    def replayer(self) -> FileReplayer:
        """A replayer of what was recorded."""
        return FileReplayer(self.overlay, self.events, self.kept.__getitem__, lambda: self.probing,
                            self.reports.append, self._ignore)

    def plain(self, program: Callable[[Bench], None]) -> list[Any]:
        """What the program tells without florc."""
        self.told = []
        self._run(None, program, ())
        return self.told

    def record(self, program: Callable[[Bench], None], modules: Iterable[Any] = ()) -> list[Any]:
        """What the recorded program tells."""
        self.told = []
        recorder = self.recorder()
        self._run(recorder, program, modules)
        return self.told

    def replay(self, program: Callable[[Bench], None], *skip: str, modules: Iterable[Any] = ()) -> list[Any]:
        """What the replayed program tells; checks that the user's files are as before."""
        self.told, self._skip = [], set(skip)
        before = snapshot(self.home)
        self._replayer = self.replayer()
        try:
            self._run(self._replayer, program, modules)
        finally:
            self._replayer = None
        after = snapshot(self.home)
        assert after == before
        return self.told

    def _run(self, files: Any, program: Callable[[Bench], None], modules: Iterable[Any]) -> None:
        cwd = os.getcwd()
        os.chdir(self.home)
        if files is not None:
            files.install()
        for module in modules:
            files.patch_module(module)
        try:
            program(self)
        finally:
            if files is not None:
                files.uninstall()
            os.chdir(cwd)


def snapshot(root: Path) -> dict[str, Any]:
    """Every path below root: contents and time of change of files, targets of links."""
    found: dict[str, Any] = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.is_symlink():
            found[name] = os.readlink(path)
        elif path.is_dir():
            found[name] = "folder"
        else:
            found[name] = (path.read_bytes(), path.stat().st_mtime_ns)
    return found
