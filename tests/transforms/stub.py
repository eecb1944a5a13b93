"""Stand-ins for the runtime: one that lets guarded loops run, one that skips them and puts names back."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from types import CodeType, FrameType, SimpleNamespace
from typing import Any

from florc.runtime import shown

UNBOUND = object()


@dataclass
class Exit:
    """How a loop ended: what its names were, and what it returned if it did."""

    values: dict[str, Any] = field(default_factory=dict)
    returned: bool = False
    result: Any = None


class LiveGuard:
    """A guard under record: every loop runs, nothing is put back."""

    skipped = live = done = False

    def __init__(self, runtime: Record, block: str, names: tuple[str, ...], frame: FrameType) -> None:
        self.runtime, self.block, self.names, self.frame = runtime, block, names, frame
        self.exit = Exit()

    def over(self, iterable: Iterable[Any]) -> Iterable[Any]:
        return iterable

    def boundary(self) -> bool:
        raise AssertionError("boundary is asked only while the guard is live")

    def returning(self, value: Any) -> Any:
        self._note()
        self.exit.returned, self.exit.result = True, value
        return value

    def leave(self) -> bool:
        self._note()
        return False

    def _note(self) -> None:
        present = self.frame.f_locals
        self.exit.values = {name: present[name] for name in self.names if name in present}


class SkippingGuard:
    """A guard under replay whose loop is over before it begins."""

    skipped = True
    live = False

    def __init__(self, names: tuple[str, ...], recorded: Exit) -> None:
        self.values = tuple(recorded.values.get(name, UNBOUND) for name in names)
        self.returned = recorded.result
        self.exit = recorded

    def lacks(self, name: str) -> bool:
        return name not in self.exit.values

    def leave(self) -> bool:
        return self.exit.returned


class Record:
    """A runtime under which loops run as written; ``exits`` keeps how each outermost one ended."""

    def __init__(self) -> None:
        self.open: list[LiveGuard] = []
        self.exits: list[Exit] = []
        self.ids: list[str] = []

    def loop(self, block: str, *names: str, skippable: bool = True) -> Any:
        return self._live(block, names, sys._getframe(1))

    def marks(self, file: str, count: int) -> bytearray:
        return bytearray(count)

    def listed(self, found: Any, alias: str) -> Any:
        return shown.listed(found, alias, sys._getframe(1), apart=False)

    def snapshot(self, found: Any, alias: str) -> Any:
        return shown.snapshot(found, alias, sys._getframe(1), apart=False)

    def _live(self, block: str, names: tuple[str, ...], frame: FrameType) -> LiveGuard:
        guard = LiveGuard(self, block, names, frame)
        if not self._is_inside(block, frame):
            self.exits.append(guard.exit)
        self.ids.append(block)
        self.open.append(guard)
        return guard

    def _is_inside(self, block: str, frame: FrameType) -> bool:
        callers = set(_callers(frame))
        self.open = [
            guard
            for guard in self.open
            if guard.frame in callers or (guard.frame is frame and block.startswith(guard.block + "/"))
        ]
        return bool(self.open)


class Replay(Record):
    """A runtime that skips each outermost loop it may, and puts back what ``record`` saw at its end."""

    def __init__(self, record: Record) -> None:
        super().__init__()
        self.record = record
        self.skipped = 0

    def loop(self, block: str, *names: str, skippable: bool = True) -> Any:
        frame = sys._getframe(1)
        if self._is_inside(block, frame):
            return self._live(block, names, frame)
        if not skippable:
            return self._live(block, names, frame)
        recorded = self.record.exits[len(self.exits)]
        self.exits.append(recorded)
        self.skipped += 1
        return SkippingGuard(names, recorded)


def _callers(frame: FrameType) -> Iterator[FrameType]:
    above = frame.f_back
    while above is not None:
        yield above
        above = above.f_back


def run(code: CodeType, runtime: object) -> dict[str, Any]:
    """Execute a module with ``runtime`` in the place of florc.runtime; return its globals."""

    def importing(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "florc.runtime":
            return SimpleNamespace(runtime=runtime)
        return builtins.__import__(name, *args, **kwargs)

    namespace: dict[str, Any] = {"__name__": "program"}
    namespace["__builtins__"] = {**vars(builtins), "__import__": importing}
    exec(code, namespace)
    return namespace
