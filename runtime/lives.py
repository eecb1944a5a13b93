"""Objects whose end a program can see: they must end when the program lets go of them, not when florc does.

A guard holds the objects of its entry state so that ids are not reused. An object that has a finalizer
(`__del__`, a suspended generator's `finally`, a file's buffer) or a weak reference to it is held loosely
instead, and so is what leads to it: by a weak reference, or where there are none to such objects (lists,
dicts, tuples) by its id and type. A new object that takes the place of a dead one passes for it then,
which is right: nobody holds the dead one any more.
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


class Loose:
    """An object that is known but not held."""

    __slots__ = ("_ref", "_type")

    def __init__(self, obj: Any) -> None:
        self._type = type(obj)
        try:
            self._ref: weakref.ref[Any] | None = weakref.ref(obj)
        except TypeError:
            self._ref = None

    def is_it(self, obj: Any) -> bool:
        """Whether an object with this id is the one."""
        return type(obj) is self._type if self._ref is None else self._ref() is obj


def has_finalizer(obj: Any) -> bool:
    """True if something happens when the object ends."""
    return hasattr(type(obj), "__del__")


def _is_watched(obj: Any) -> bool:
    if obj is None or isinstance(obj, _LASTING):
        return False
    return has_finalizer(obj) or weakref.getweakrefcount(obj) > 0


def loosely(objects: Sequence[Any], links: Iterable[tuple[int, int]]) -> dict[int, Loose]:
    """By number: the objects whose end can be seen, and those that hold them.

    links: (object, object it refers to), by numbers; those beyond `objects` are no entry objects.
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
    return {number: Loose(objects[number]) for number in found if not isinstance(objects[number], _LASTING)}


def without_end(objects: Iterable[Any]) -> None:
    """Let these objects never end: what their end does has been done, in the recorded run."""
    for obj in objects:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(obj))
