"""What modules and classes hold, and which of their names have come to hold something else.

Thousands of dicts are looked at again and again, so nothing is done for each in Python while none changes:
CPython keeps a tag in each dict that moves with every change, and all tags are read in one call.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from operator import itemgetter
from typing import Any, NamedTuple

from . import atoms

LONG = 100  # items of a container that are told apart; of longer lists and sets the length must do

_ABSENT = object()
_CONTAINERS: frozenset[type] = frozenset({dict, list, set})
_WORD = 8
_VERSION_OFFSET = 24  # bytes from a dict's address to its tag (CPython 3.10 to 3.13, 64 bit)
# all memory, as words
_MEMORY: Any = (ctypes.c_uint64 * (1 << 59)).from_address(0) if sys.maxsize > 1 << 62 else ()


def _tag(names: dict[Any, Any]) -> int:
    """Where in the memory a dict's tag is."""
    return (id(names) + _VERSION_OFFSET) // _WORD


def _has_versions() -> bool:
    if sys.implementation.name != "cpython" or not _MEMORY or sys.version_info >= (3, 14):
        return False
    probe: dict[str, int] = {"a": 1}
    seen = set()
    for value in range(3):
        probe["a"] = value
        seen.add(_MEMORY[_tag(probe)])
    return len(seen) == 3


HAS_VERSIONS = _has_versions()


class Versions:
    """Tells which of many dicts have changed since the last look, in some 50 nanoseconds each."""

    def __init__(self) -> None:
        self._dicts: list[dict[Any, Any]] = []  # held: the tags are a part of them
        self._tags: list[int] = []
        self._read: Callable[[Any], tuple[int, ...]] = tuple
        self._seen: tuple[int, ...] = ()

    def extend(self, dicts: list[dict[Any, Any]]) -> None:
        """From now on look at these, too; the ones before are not looked at now."""
        self._dicts += dicts
        if HAS_VERSIONS and dicts:
            new = [_tag(names) for names in dicts]
            self._tags += new
            self._read = itemgetter(*self._tags, self._tags[0])  # one place alone would not give a tuple
            self._seen = (*self._seen[: len(self._tags) - len(new)], *(_MEMORY[tag] for tag in new))
            self._seen += (_MEMORY[self._tags[0]],)

    def moved(self) -> list[int]:
        """The numbers of the dicts that may have changed; what they are now is then what is known."""
        if not HAS_VERSIONS or not self._dicts:
            return list(range(len(self._dicts)))
        before, self._seen = self._seen, self._read(_MEMORY)
        if before == self._seen:
            return []
        return [
            number
            for number, (old, new) in enumerate(zip(before[:-1], self._seen[:-1], strict=True))
            if old != new
        ]


class Change(NamedTuple):
    """A holder with public names that hold something else than before: its key, its names, then and now."""

    key: str
    changed: list[str]
    before: dict[str, Any]
    now: dict[str, Any]


class Held:
    """A container that a public name holds, and what it held when last looked at."""

    __slots__ = ("holder", "name", "value", "items")

    def __init__(self, holder: int, name: str, value: Any) -> None:
        self.holder, self.name, self.value = holder, name, value
        self.items: Any = None

    def moved(self) -> bool:
        """True if it holds something else now; that is then what is known."""
        before, self.items = self.items, _items(self.value)
        return bool(before != self.items)


class Inventory:
    """Modules and classes, and what their names were when last looked at."""

    def __init__(self) -> None:
        self._keys: list[str] = []
        self._names: list[dict[str, Any]] = []
        self._before: list[dict[str, Any]] = []
        self._versions = Versions()
        self._held: dict[int, list[Held]] = {}
        self._dicts: list[Held] = []  # those of `_inside`, and some that nobody holds any more
        self._inside = Versions()

    def extend(self, holders: list[tuple[str, dict[str, Any]]]) -> None:
        """Take in holders: a key and the names of each."""
        first = len(self._keys)
        names = [one for _, one in holders]
        self._keys += [key for key, _ in holders]
        self._names += names
        self._versions.extend(names)
        before, has_none = self._before, _CONTAINERS.isdisjoint
        containers = {}
        for number, one in enumerate(names, first):  # all for one before the next: they are not in the cache
            before.append(one.copy())
            if not has_none(map(type, one.values())):
                containers[number] = _containers(one)
        self._hold(containers)

    def _hold(self, containers: dict[int, list[tuple[str, Any]]]) -> None:
        """Take in the containers of holders."""
        new = []
        for number, found in containers.items():
            known = {held.name: held for held in self._held.get(number, ())}
            now = []
            for name, value in found:
                held = known.get(name)
                if held is None or held.value is not value:
                    held = Held(number, name, value)
                    new.append(held)
                now.append(held)
            self._held[number] = now
        dicts = [held for held in new if type(held.value) is dict]
        self._dicts += dicts
        self._inside.extend([held.value for held in dicts])
        for held in new:
            held.moved()

    def changes(self) -> list[Change]:
        """What has changed since last asked."""
        moved = self._versions.moved()
        dicts = [self._dicts[number] for number in self._inside.moved()]
        lists = [held for known in self._held.values() for held in known if type(held.value) is not dict]
        inside: dict[int, list[str]] = {}
        for held in (*dicts, *lists):
            if held.moved() and held in self._held[held.holder]:
                inside.setdefault(held.holder, []).append(held.name)
        found, containers = [], {}
        for number in dict.fromkeys((*moved, *inside)):
            before, now = self._before[number], self._names[number].copy()
            changed = [name for name in {*before, *now} if not _is_same(before, now, name)]
            if changed:
                self._before[number] = now
                containers[number] = _containers(now)
            changed += inside.get(number, [])
            public = [name for name in dict.fromkeys(changed) if type(name) is str and name[:1] != "_"]
            if public:
                found.append(Change(self._keys[number], public, before, now))
        self._hold(containers)
        return found


def _containers(names: dict[str, Any]) -> list[tuple[str, Any]]:
    """The public names that hold containers."""
    found = [(name, value) for name, value in names.items() if type(value) in _CONTAINERS]
    return [(name, value) for name, value in found if type(name) is str and name[:1] != "_"]


def _items(value: Any) -> Any:
    """What a container holds, without holding it."""
    count = len(value)
    if count > LONG:
        return count
    if type(value) is dict:
        return {id(key): id(item) for key, item in value.items()}
    return list(map(id, value))


def _is_same(before: dict[str, Any], now: dict[str, Any], name: str) -> bool:
    old, new = before.get(name, _ABSENT), now.get(name, _ABSENT)
    return old is new or (type(old) is type(new) and type(old) in atoms.PLAIN and old == new)
