"""The audit: does a loop change what no walk looks at, the libraries' own modules and classes?

Checkpoints hold what is reachable from the project (see graph.py). A program may also keep state in a
library: `torch.seen = 0`, `Metric.total += 1` for a class that is not the project's, `lib.OPTIONS["x"] = y`.
The audit looks at the public data names of all imported modules and classes before and after a loop or
iteration. What has changed is watched from then on: it is part of every later checkpoint, and the earlier
ones, which lack it, are not used.

Looked at: plain values, and lists, dicts and sets one level deep. Functions count where a project's
function has been put in their place. Private names are a library's own business.
"""

from __future__ import annotations

import ctypes
import gc
import sys
import types
from collections.abc import Callable, Container, Iterable
from time import perf_counter  # the real one, whatever stands in `time` later
from typing import Any

from . import atoms
from .collector import resting
from .live import is_machinery
from .watched import class_key, module_key

FULL, AUTO, OFF = "full", "auto", "off"
FIRST = 2  # executions of each loop that are always looked at, as far as the budget goes
SHARE = 0.25  # of the overhead's seconds that the audit may take
GRACE_SECONDS = 1.0  # ... of which a short run has as many: an audit that is late finds less
SPACING = 2.0  # later looks at a loop: each after so many times as many executions as the one before
LONG = 100  # items of a container that are told apart; of longer lists and sets the length must do

# what changes in libraries by itself, and what every checkpoint holds anyway (process.py)
NOISE = frozenset(
    {"~sys", "~os", "~posix", "~nt", "~gc", "~threading", "~linecache", "~warnings", "~builtins", "~inspect"}
    | {"~logging", "~atexit", "~torch.utils.hooks:RemovableHandle"}
)
OWN = ("florc", "xxhash", "dill", "_pytest", "pytest")

_ABSENT = object()
_VERSION_OFFSET = 24  # bytes from a dict's address to its version tag (CPython 3.10 to 3.13, 64 bit)


def _has_versions() -> bool:
    if sys.implementation.name != "cpython" or sys.maxsize < 1 << 62 or sys.version_info >= (3, 14):
        return False
    probe: dict[str, int] = {"a": 1}
    seen = set()
    for value in range(3):
        probe["a"] = value
        seen.add(ctypes.c_uint64.from_address(id(probe) + _VERSION_OFFSET).value)
    return len(seen) == 3


HAS_VERSIONS = _has_versions()


class Version:
    """Tells whether a dict has changed since the last look, in a tenth of a microsecond."""

    __slots__ = ("names", "_cell", "_seen")

    def __init__(self, names: dict[Any, Any]) -> None:
        self.names = names  # held: the cell is a part of it
        self._cell = ctypes.c_uint64.from_address(id(names) + _VERSION_OFFSET) if HAS_VERSIONS else None
        self._seen = -1
        self.moved()

    def moved(self) -> bool:
        """True if the dict may have changed; what it is now is then what is known."""
        if self._cell is None:
            return True
        before, self._seen = self._seen, self._cell.value
        return bool(before != self._seen)


class Holder:
    """A module or class: what its names were when last looked at."""

    __slots__ = ("key", "version", "before", "containers")

    def __init__(self, key: str, names: dict[str, Any]) -> None:
        self.key = key
        self.version = Version(names)
        self.remember()

    def remember(self) -> None:
        names = self.version.names
        self.before = names.copy()
        if _CONTAINERS.isdisjoint(map(type, names.values())):  # most classes have none
            self.containers: list[Held] = []
            return
        self.containers = [
            (name, value, Version(value) if type(value) is dict else None, _items(value))
            for name, value in names.items()
            if type(value) in _CONTAINERS and type(name) is str and name[:1] != "_"
        ]

    def changed(self) -> list[str]:
        """The public names that hold something else than when last looked at."""
        if not self.version.moved() and not any(map(_has_moved, self.containers)):
            return []
        now, before = self.version.names, self.before
        other = [name for name in {*before, *now} if not _is_same(before, now, name)]
        other += [container[0] for container in self.containers if _items(container[1]) != container[3]]
        self.remember()
        return [name for name in dict.fromkeys(other) if type(name) is str and name[:1] != "_"]


_CONTAINERS: frozenset[type] = frozenset({dict, list, set})
Held = tuple[str, Any, "Version | None", Any]


def _has_moved(container: Held) -> bool:
    _, value, version, items = container
    return version.moved() if version is not None and HAS_VERSIONS else _items(value) != items


def _items(value: Any) -> Any:
    """What a container held, without holding it."""
    count = len(value)
    if count > LONG:
        return count
    if type(value) is dict:
        return {id(key): id(item) for key, item in value.items()}
    return list(map(id, value))


def _is_same(before: dict[str, Any], now: dict[str, Any], name: str) -> bool:
    old, new = before.get(name, _ABSENT), now.get(name, _ABSENT)
    return old is new or (type(old) is type(new) and type(old) in atoms.PLAIN and old == new)


def _counts(value: Any, was_there: bool, is_own: Callable[[Any], bool]) -> bool:
    """False for what libraries do by themselves: submodules, late imports, functions they wrap."""
    kind = type(value)  # isinstance would ask some libraries' objects, and they warn
    if issubclass(kind, (types.FunctionType, types.MethodType, type)):
        return was_there and is_own(value)
    return not issubclass(kind, (types.ModuleType, types.BuiltinFunctionType))


class Audit:
    """Looks at libraries between two points of a run.

    Args:
        mode: "full" (at each loop and iteration), "auto" (within the overhead) or "off".
        overhead: the user's bound on what recording may add.
        is_project: whether a module's name is one of the project's.
        is_own: whether a function or class is the project's.
        files: the project's files, those that run under another module's name too.
    """

    def __init__(
        self,
        mode: str,
        overhead: float,
        is_project: Callable[[str], bool],
        is_own: Callable[[Any], bool],
        files: Container[str] = (),
    ) -> None:
        self._mode, self._overhead = mode, overhead
        self._is_project, self._is_own, self._files = is_project, is_own, files
        self._holders: dict[int, Holder] = {}
        self._known: set[int] = set()  # modules and classes that have been asked for
        self._looked_at: dict[str, bool] = {}
        self._next: dict[str, int] = {}  # block -> the execution that is looked at next
        self.spent = 0.0
        self._longest = 0.0
        self._modules = 0  # how many were loaded at the last look
        self.looks = 0

    def due(self, block: str, execution: int, elapsed: float) -> bool:
        """True if this execution (from 0) of a block is to be looked at."""
        if self._mode != AUTO:
            return self._mode == FULL
        if execution < self._next.get(block, 0):
            return False
        if self.spent + 2 * self._longest > SHARE * max(GRACE_SECONDS, self._overhead * elapsed):
            return False
        later = execution + 1 if execution + 1 < FIRST else int((execution + 1) * SPACING)
        self._next[block] = later
        return True

    def stop(self) -> None:
        """Look no more."""
        self._mode = OFF

    def look(self) -> dict[str, list[str]]:
        """Key of a module or class -> public names that have changed since the last look.

        Nothing where modules were imported meanwhile; the loops are then due again.
        """
        started = perf_counter()
        found = {}
        for holder in self._holders.values():
            before = holder.before
            names = [
                name
                for name in holder.changed()
                if _counts(holder.version.names.get(name), name in before, self._is_own)
            ]
            if names and holder.key not in NOISE:
                found[holder.key] = names
        if len(sys.modules) != self._modules:
            self._modules = len(sys.modules)
            with resting():
                self._find_new()
            found = {}  # modules that are imported register with others: the next look tells that from state
            self._next.clear()
        took = perf_counter() - started
        self.spent += took
        self._longest = max(self._longest, took) if self.looks else 0.0  # the first look makes the inventory
        self.looks += 1
        return found

    def _find_new(self) -> None:
        """Take in the modules and classes that have come since the last look."""
        for name, module in list(sys.modules.items()):
            if id(module) not in self._known:
                self._known.add(id(module))
                names = getattr(module, "__dict__", None)
                if type(names) is not dict or names.get("__file__") in self._files:
                    continue
                if "._" not in name and self._is_looked_at(name):
                    self._holders[id(names)] = Holder(module_key(name), names)
        for cls in _classes():
            if id(cls) not in self._known:
                self._known.add(id(cls))
                if self._is_looked_at(cls.__module__) and "<" not in cls.__qualname__:
                    names = gc.get_referents(vars(cls))[0]  # public ones are often made in private modules
                    self._holders[id(names)] = Holder(class_key(cls), names)

    def _is_looked_at(self, module: Any) -> bool:
        if type(module) is not str or self._is_project(module):
            return False
        known = self._looked_at.get(module)  # thousands of classes come from a few hundred modules
        if known is None:
            top = module.partition(".")[0]
            known = top not in OWN and not top.startswith("_") and not is_machinery(module)
            self._looked_at[module] = known
        return known


def _classes() -> Iterable[type]:
    """All classes there are."""
    seen: set[type] = set()
    pending: list[type] = [object]
    while pending:
        cls: type
        for cls in type.__subclasses__(pending.pop()):
            if cls not in seen:
                seen.add(cls)
                pending.append(cls)
    return seen
