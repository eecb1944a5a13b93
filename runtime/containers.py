"""Kinds of Python's containers and of values that carry attributes."""

from __future__ import annotations

import importlib
import sys
from collections import OrderedDict, deque
from typing import TYPE_CHECKING, Any

from . import atoms
from .errors import CannotRestore
from .kind import Kind, class_ref, follow_attribute, read_attributes, write_attributes

if TYPE_CHECKING:
    from .graph import Walk
    from .restore import Build


class Sequence(Kind):
    """list and deque, and their subclasses."""

    def __init__(self, base: Any) -> None:
        self.base = base
        self.tag = base.__name__

    def read(self, obj: Any, walk: Walk) -> tuple[Any, ...]:
        ref = walk.ref
        items = [ref(item, ("k", i)) for i, item in enumerate(self.base.__iter__(obj))]
        if type(obj) is list:
            return (self.tag, items)
        limit = obj.maxlen if self.base is deque else None
        if type(obj) is self.base:
            return (self.tag, items, limit)
        return (self.tag, items, limit, class_ref(obj, walk), read_attributes(obj, walk))

    def follow(self, holder: Any, edge: Any) -> Any:
        return self.base.__getitem__(holder, edge[1]) if edge[0] == "k" else follow_attribute(holder, edge)

    def make(self, content: Any, build: Build) -> Any:
        cls = build.get(content[3]) if len(content) > 3 else self.base
        made = self.base.__new__(cls)
        if self.base is deque:
            deque.__init__(made, (), content[2])
        return made

    def write(self, obj: Any, content: Any, build: Build) -> None:
        items = [build.get(ref) for ref in content[1]]
        self.base.clear(obj)
        self.base.extend(obj, items)
        if len(content) > 3:
            write_attributes(obj, content[4], build)


class Mapping(Kind):
    """dict, OrderedDict, defaultdict, Counter and other subclasses of dict."""

    tag = "dict"

    def read(self, obj: Any, walk: Walk) -> tuple[Any, ...] | None:
        ref, plain = walk.ref, atoms.PLAIN
        pairs: list[Any] = []
        ids = False
        for i, (key, value) in enumerate(self._items(obj)):
            if type(key) in plain:
                ids = ids or (type(key) is int and key > sys.maxsize >> 24)
                pairs.append((key, ref(value, ("d", key))))
            else:
                pairs.append((ref(key, ("dk", i)), ref(value, ("dv", i))))
        if ids and walk.later():
            return None
        if ids:
            pairs = [(self._by_id(key, walk), value) for key, value in pairs]
        if type(obj) is dict:
            return (self.tag, pairs)
        factory = walk.ref(obj.default_factory, ("f",)) if hasattr(obj, "default_factory") else None
        return (self.tag, pairs, class_ref(obj, walk), factory, read_attributes(obj, walk))

    @staticmethod
    def _items(obj: Any) -> Any:
        return OrderedDict.items(obj) if isinstance(obj, OrderedDict) else dict.items(obj)

    @staticmethod
    def _by_id(key: Any, walk: Walk) -> Any:
        """A key that is some node's id() (GradScaler keeps states so) is that node, not a number."""
        number = walk.number_of_id(key) if type(key) is int else None
        return key if number is None else ("id", number)

    def follow(self, holder: Any, edge: Any) -> Any:
        if edge[0] == "d":
            return dict.__getitem__(holder, edge[1])
        if edge[0] == "f":
            return holder.default_factory
        if edge[0] in ("dk", "dv"):
            return list(self._items(holder))[edge[1]][edge[0] == "dv"]
        return follow_attribute(holder, edge)

    def make(self, content: Any, build: Build) -> Any:
        if len(content) == 2:
            return {}
        cls = build.get(content[2])
        made = cls.__new__(cls)
        if isinstance(made, OrderedDict):
            OrderedDict.__init__(made)
        return made

    def write(self, obj: Any, content: Any, build: Build) -> None:
        pairs = [(self._key(key, build), build.get(ref)) for key, ref in content[1]]
        base: Any = OrderedDict if isinstance(obj, OrderedDict) else dict
        base.clear(obj)
        for key, value in pairs:
            base.__setitem__(obj, key, value)
        if len(content) > 2:
            if hasattr(obj, "default_factory"):
                obj.default_factory = build.get(content[3])
            write_attributes(obj, content[4], build)

    @staticmethod
    def _key(key: Any, build: Build) -> Any:
        if type(key) is tuple and key[0] == "id":
            return id(build.get((key[1],)))
        return build.whole(key)  # it is hashed at once


class Set(Kind):
    """set and frozenset. Of plain values the order in which they iterate is state too."""

    tag = "set"

    def read(self, obj: Any, walk: Walk) -> tuple[Any, ...]:
        items = [walk.ref(item, ("e", i)) for i, item in enumerate(obj)]
        if any(type(item) is tuple for item in items):  # hashed by address, say: the order means nothing
            return (self.tag, sorted(items, key=repr), class_ref(obj, walk), read_attributes(obj, walk))
        if len(items) > 1 and list(type(obj)(list(obj))) != list(obj) and type(obj) in (set, frozenset):
            walk.lost.append((walk.current, "a set whose order depends on how it grew"))
        return (self.tag, items, class_ref(obj, walk), read_attributes(obj, walk))

    def follow(self, holder: Any, edge: Any) -> Any:
        return list(holder)[edge[1]] if edge[0] == "e" else follow_attribute(holder, edge)

    def make(self, content: Any, build: Build) -> Any:
        cls = build.get(content[2])
        if issubclass(cls, frozenset):
            return cls([build.whole(ref) for ref in content[1]])
        return cls.__new__(cls)

    def write(self, obj: Any, content: Any, build: Build) -> None:
        items = [build.whole(ref) for ref in content[1]]  # they are hashed at once
        if isinstance(obj, set):
            set.clear(obj)
            set.update(obj, items)
        if not any(type(ref) is tuple for ref in content[1]) and list(obj) != items:
            raise CannotRestore("a set does not come back in its order")
        write_attributes(obj, content[3], build)


class Tuple(Kind):
    """tuple, named tuples and other immutable sequences: made whole, never written."""

    tag = "tuple"

    def read(self, obj: Any, walk: Walk) -> tuple[Any, ...]:
        items = [walk.ref(item, ("k", i)) for i, item in enumerate(tuple.__iter__(obj))]
        if type(obj) is tuple:
            return (self.tag, items)
        return (self.tag, items, class_ref(obj, walk), read_attributes(obj, walk))

    def follow(self, holder: Any, edge: Any) -> Any:
        return tuple.__getitem__(holder, edge[1]) if edge[0] == "k" else follow_attribute(holder, edge)

    def make(self, content: Any, build: Build) -> Any:
        items = [build.get(ref) for ref in content[1]]
        return tuple(items) if len(content) == 2 else tuple.__new__(build.get(content[2]), items)

    def write(self, obj: Any, content: Any, build: Build) -> None:
        if len(content) > 2:
            write_attributes(obj, content[3], build)


class Buffer(Kind):
    """bytearray and array.array, and their subclasses: bytes that are written in place."""

    def __init__(self, tag: str) -> None:
        self.tag = tag

    def read(self, obj: Any, walk: Walk) -> tuple[Any, ...]:
        code = getattr(obj, "typecode", "")
        data = memoryview(obj).tobytes()
        if type(obj).__module__ in ("builtins", "array"):
            return (self.tag, code, data)
        return (self.tag, code, data, class_ref(obj, walk), read_attributes(obj, walk))

    def follow(self, holder: Any, edge: Any) -> Any:
        return follow_attribute(holder, edge)

    def make(self, content: Any, build: Build) -> Any:
        cls = build.get(content[3]) if len(content) > 3 else self._base()
        return cls.__new__(cls, content[1]) if content[1] else bytearray.__new__(cls)

    def write(self, obj: Any, content: Any, build: Build) -> None:
        if getattr(obj, "typecode", "") != content[1]:
            raise CannotRestore(f"a {self.tag} of another type stands there")
        new = self._base()(content[1], content[2]) if content[1] else content[2]
        try:
            self._base().__setitem__(obj, slice(None), new)
        except BufferError as error:
            raise CannotRestore(f"a {self.tag} cannot be put back in place: {error}") from None
        if len(content) > 3:
            write_attributes(obj, content[4], build)

    def _base(self) -> Any:
        return bytearray if self.tag == "bytearray" else importlib.import_module("array").array


class PlainSubclass(Kind):
    """Instances of subclasses of int, float, str, bytes."""

    tag = "value"

    def read(self, obj: Any, walk: Walk) -> tuple[Any, ...]:
        bases: tuple[Any, ...] = (bool, int, float, complex, str, bytes)
        base = next(base for base in bases if isinstance(obj, base))
        value = base.__new__(base, obj) if base is not str else str.__str__(obj)
        return (self.tag, value, class_ref(obj, walk), read_attributes(obj, walk))

    def make(self, content: Any, build: Build) -> Any:
        base = type(content[1])
        return base.__new__(build.get(content[2]), content[1])

    def write(self, obj: Any, content: Any, build: Build) -> None:
        write_attributes(obj, content[3], build)
