"""Objects whose end a program can see: they must end when the program lets go of them, not when florc does.

A guard holds the objects of its entry state so that ids are not reused. An object that has a finalizer
(`__del__`, a suspended generator's `finally`, a file's buffer) or a weak reference to it is held loosely
instead, and so is what leads to it: by a weak reference, or where there are none to such objects (lists,
dicts, tuples) not at all. Whether a list found later is the one from before or a new one in its place
cannot be told then: it counts as new, with a hint which one it may be. A restore follows the hint: if it is
wrong, nobody holds the old one any more.
"""

from __future__ import annotations

import ctypes
import types
import weakref
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

# they live as long as their module, and have weak references of Python's own
_LASTING = (type, types.ModuleType)


class OwnRef(weakref.ref[Any]):
    """florc's weak references are told from the program's."""

    __slots__ = ()


class Loose:
    """An object that is known but not held.

    sure: it can be told from another one that has got its id.
    """

    __slots__ = ("_ref", "_type", "sure")

    def __init__(self, obj: Any) -> None:
        self._type = type(obj)
        try:
            self._ref: OwnRef | None = OwnRef(obj)
        except TypeError:
            self._ref = None
        self.sure = self._ref is not None

    def may_be(self, obj: Any) -> bool:
        """Whether an object with this id is the one, as far as can be told."""
        return type(obj) is self._type if self._ref is None else self._ref() is obj


def has_finalizer(obj: Any) -> bool:
    """True if something happens when the object ends."""
    return hasattr(type(obj), "__del__")


def _is_watched(obj: Any) -> bool:
    if obj is None or isinstance(obj, _LASTING):
        return False
    if has_finalizer(obj):
        return True
    return weakref.getweakrefcount(obj) > 0 and any(type(r) is not OwnRef for r in weakref.getweakrefs(obj))


def loosely(objects: Sequence[Any], links: Iterable[tuple[int, int]]) -> dict[int, Loose]:
    """By number: the objects whose end can be seen, and those that hold them.

    links: (object, object it refers to), by numbers; those beyond `objects` are no entry objects. Iterators
    without weak references are held all the same: no new one could be put in their place.
    """
    waiting = [number for number, obj in enumerate(objects) if number and _is_watched(obj)]
    if not waiting:
        return {}
    holders: dict[int, list[int]] = defaultdict(list)
    for holder, held in links:
        holders[held].append(holder)
    found = set(waiting)
    while waiting:
        for holder in holders[waiting.pop()]:
            if holder not in found and 0 < holder < len(objects) and objects[holder] is not None:
                found.add(holder)
                waiting.append(holder)
    loose = {n: Loose(objects[n]) for n in found if not isinstance(objects[n], _LASTING)}
    return {n: one for n, one in loose.items() if one.sure or not hasattr(objects[n], "__next__")}


def without_end(objects: Iterable[Any]) -> None:
    """Let these objects never end: what their end does has been done, in the recorded run."""
    for obj in objects:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(obj))
