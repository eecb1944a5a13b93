"""What a kind of object is, and what all kinds share: attributes, classes, things not seen.

A kind is chosen by type, once per type (kinds.py). `read` returns a tuple whose first element is the
kind's tag; `write` puts a content into a live object of that kind, keeping its identity; `make` returns a
new, still empty (or, for immutable kinds, complete) object that `write` then fills. What cannot be made or
written raises `CannotRestore` with the reason in words.
"""

from __future__ import annotations

import functools
import types
from typing import TYPE_CHECKING, Any

from .errors import CannotRestore

if TYPE_CHECKING:
    from .graph import Walk
    from .restore import Build

HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: made by a class statement (or from a type spec in C)


class Kind:
    """One kind of object. Subclasses are stateless; one instance of each exists."""

    tag = ""

    def read(self, obj: Any, walk: Walk) -> tuple[Any, ...] | None:
        raise NotImplementedError

    def follow(self, holder: Any, edge: Any) -> Any:
        """The live child that `edge` names."""
        return follow_attribute(holder, edge)

    def make(self, content: Any, build: Build) -> Any:
        raise CannotRestore(f"a new {self.tag} cannot be made again")

    def write(self, obj: Any, content: Any, build: Build) -> None:
        raise CannotRestore(f"a {self.tag} cannot be put back in place")


def unseen(obj: Any, walk: Walk, words: str) -> None:
    """Note an object that cannot be looked into: one that was there at the entry may change unseen."""
    if walk.current < walk.first_new:
        walk.opaque.append((walk.current, words))
    else:
        walk.lost.append((walk.current, words))


@functools.cache
def _slot_names(cls: Any) -> tuple[tuple[str, Any], ...]:
    """The slots that Python classes in cls's hierarchy declare, with their descriptors."""
    found = []
    for klass in reversed(cls.__mro__):
        if klass.__flags__ & HEAP_TYPE and "__slots__" in vars(klass):
            found += [(name, d) for name, d in vars(klass).items() if type(d) is types.MemberDescriptorType]
    return tuple(found)


def slot_names(cls: Any) -> tuple[tuple[str, Any], ...]:
    """The slots that Python classes in cls's hierarchy declare, with their descriptors."""
    return _slot_names(cls)


def instance_dict(obj: Any) -> dict[str, Any] | None:
    """obj's own __dict__, without running the user's code."""
    try:
        found = object.__getattribute__(obj, "__dict__")
    except AttributeError:
        return None
    return found if type(found) is dict else None


def read_attributes(obj: Any, walk: Walk) -> tuple[Any, Any]:
    """(pairs of the instance dict, pairs of the slots), values as references."""
    names = instance_dict(obj)
    held = None
    if names is not None:
        held = [(str(name), walk.ref(value, ("a", name))) for name, value in names.items()]
    return held, read_slots(obj, walk)


def read_slots(obj: Any, walk: Walk) -> list[tuple[str, Any]]:
    slots = []
    for name, descriptor in slot_names(type(obj)):
        try:
            slots.append((name, walk.ref(descriptor.__get__(obj), ("a", name))))
        except AttributeError:
            continue
    return slots


def write_attributes(obj: Any, attributes: tuple[Any, Any], build: Build) -> None:
    held, slots = attributes
    if held is not None:
        values = {name: build.get(ref) for name, ref in held}
        names = instance_dict(obj)
        if names is None:
            raise CannotRestore(f"{type(obj).__qualname__} has no __dict__ any more")
        names.clear()
        names.update(values)
    bound = dict(slots)
    for name, descriptor in slot_names(type(obj)):
        if name in bound:
            descriptor.__set__(obj, build.get(bound[name]))
        else:
            try:
                descriptor.__delete__(obj)
            except AttributeError:
                continue


def follow_attribute(holder: Any, edge: Any) -> Any:
    if edge[0] == "t":
        return type(holder)
    if edge[0] == "a":
        names = instance_dict(holder)
        if names is not None and edge[1] in names:
            return names[edge[1]]
        return dict(slot_names(type(holder)))[edge[1]].__get__(holder)
    raise KeyError(edge)


def class_ref(obj: Any, walk: Walk) -> Any:
    return walk.ref(type(obj), ("t",))


def new_instance(content_class: Any, build: Build) -> Any:
    cls = build.get(content_class)
    if not isinstance(cls, type):
        raise CannotRestore("its class is not there any more")
    try:
        return cls.__new__(cls) if cls is types.SimpleNamespace else object.__new__(cls)
    except TypeError as error:
        raise CannotRestore(f"a {cls.__qualname__} cannot be made: {error}") from None
