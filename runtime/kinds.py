"""Kinds of objects: how each is read into comparable content, written back in place, made anew.

A kind is chosen by type, once per type. `read` returns a tuple whose first element is the kind's
tag; `write` puts a content into a live object of that kind, keeping its identity; `make` returns a
new, still empty (or, for immutable kinds, complete) object that `write` then fills. What cannot be
made or written raises `CannotRestore` with the reason in words.
"""
from __future__ import annotations

import collections
import functools
import gc
import io
import logging
import operator
import pickle
import random
import re
import sys
import threading
import types
import weakref
from collections import OrderedDict, deque
from typing import TYPE_CHECKING, Any

from . import atoms
from .errors import CannotRestore
from .lost import Lost
from .roots import Namespace, Root

if TYPE_CHECKING:
    from .graph import Walk
    from .restore import Build

MISSING = object()


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


# -- attributes -------------------------------------------------------------------------------
@functools.lru_cache(maxsize=4096)
def slot_names(cls: type) -> tuple[tuple[str, Any], ...]:
    """The slots that Python classes in cls's hierarchy declare, with their descriptors."""
    found = []
    for klass in reversed(cls.__mro__):
        if klass.__flags__ & (1 << 9):  # heap types: made by a class statement (or C's type specs)
            if "__slots__" in vars(klass):
                found += [(name, d) for name, d in vars(klass).items()
                          if type(d) is types.MemberDescriptorType]
    return tuple(found)


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
    slots = []
    for name, descriptor in slot_names(type(obj)):
        try:
            slots.append((name, walk.ref(descriptor.__get__(obj), ("a", name))))
        except AttributeError:
            continue
    return held, slots


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
        return object.__new__(cls)
    except TypeError as error:
        raise CannotRestore(f"a {cls.__qualname__} cannot be made: {error}") from None


# -- roots ------------------------------------------------------------------------------------
class RootKind(Kind):
    tag = "root"

    def read(self, obj: Root, walk: Walk) -> tuple[Any, ...]:
        frame = [(name, walk.ref(value, ("n", name, ""))) for name, value in obj.pick("", obj.frame)]
        spaces = [(space.name, walk.ref(space, ("ns", space.name))) for space in obj.modules]
        return (self.tag, frame, spaces)

    def follow(self, holder: Root, edge: Any) -> Any:
        if edge[0] == "n":
            return holder.frame[edge[1]]
        return next(space for space in holder.modules if space.name == edge[1])

    def write(self, obj: Root, content: Any, build: Build) -> None:
        """The frame's names are put back by the instrumented text: nothing to do in place."""


class NamespaceKind(Kind):
    tag = "globals"

    def read(self, obj: Namespace, walk: Walk) -> tuple[Any, ...]:
        picked = walk.root.pick(obj.name, obj.names)
        return (self.tag, [(name, walk.ref(value, ("n", name, obj.name))) for name, value in picked])

    def follow(self, holder: Namespace, edge: Any) -> Any:
        return holder.names[edge[1]]

    def write(self, obj: Namespace, content: Any, build: Build) -> None:
        values = {name: build.get(ref) for name, ref in content[1]}
        for name in build.allowed.get(obj.name, ()):
            if name in values:
                obj.names[name] = values[name]
            else:
                obj.names.pop(name, None)


# -- containers -------------------------------------------------------------------------------
class Sequence(Kind):
    """list and deque, and their subclasses."""

    def __init__(self, base: type) -> None:
        self.base = base
        self.tag = base.__name__

    def read(self, obj: Any, walk: Walk) -> tuple[Any, ...]:
        ref = walk.ref
        items = [ref(item, ("k", i)) for i, item in enumerate(self.base.__iter__(obj))]  # type: ignore[attr-defined]
        if type(obj) is list:
            return (self.tag, items)
        limit = obj.maxlen if self.base is deque else None
        if type(obj) is self.base:
            return (self.tag, items, limit)
        return (self.tag, items, limit, class_ref(obj, walk), read_attributes(obj, walk))

    def follow(self, holder: Any, edge: Any) -> Any:
        return self.base.__getitem__(holder, edge[1]) if edge[0] == "k" else follow_attribute(holder, edge)  # type: ignore[attr-defined]

    def make(self, content: Any, build: Build) -> Any:
        cls = build.get(content[3]) if len(content) > 3 else self.base
        made = self.base.__new__(cls)
        if self.base is deque:
            deque.__init__(made, (), content[2])
        return made

    def write(self, obj: Any, content: Any, build: Build) -> None:
        items = [build.get(ref) for ref in content[1]]
        self.base.clear(obj)  # type: ignore[attr-defined]
        self.base.extend(obj, items)  # type: ignore[attr-defined]
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
        return build.get(key)


class Set(Kind):
    """set and frozenset: the order in which they iterate is state too."""

    tag = "set"

    def read(self, obj: Any, walk: Walk) -> tuple[Any, ...]:
        items = [walk.ref(item, ("e", i)) for i, item in enumerate(obj)]
        if len(items) > 1 and list(type(obj)(list(obj))) != list(obj) and type(obj) in (set, frozenset):
            walk.lost.append((walk.current, "a set whose order depends on how it grew"))
        return (self.tag, items, class_ref(obj, walk), read_attributes(obj, walk))

    def follow(self, holder: Any, edge: Any) -> Any:
        return list(holder)[edge[1]] if edge[0] == "e" else follow_attribute(holder, edge)

    def make(self, content: Any, build: Build) -> Any:
        cls = build.get(content[2])
        if issubclass(cls, frozenset):
            return cls([build.get(ref) for ref in content[1]])
        return cls.__new__(cls)

    def write(self, obj: Any, content: Any, build: Build) -> None:
        items = [build.get(ref) for ref in content[1]]
        if isinstance(obj, set):
            set.clear(obj)
            set.update(obj, items)
        if list(obj) != items:
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


class ByteArray(Kind):
    tag = "bytearray"

    def read(self, obj: Any, walk: Walk) -> tuple[Any, ...]:
        return (self.tag, bytes(obj))

    def make(self, content: Any, build: Build) -> Any:
        return bytearray()

    def write(self, obj: Any, content: Any, build: Build) -> None:
        obj[:] = content[1]


class PlainSubclass(Kind):
    """Instances of subclasses of int, float, str, bytes."""

    tag = "value"

    def read(self, obj: Any, walk: Walk) -> tuple[Any, ...]:
        base = next(base for base in (bool, int, float, complex, str, bytes) if isinstance(obj, base))
        value = base.__new__(base, obj) if base is not str else str.__str__(obj)
        return (self.tag, value, class_ref(obj, walk), read_attributes(obj, walk))

    def make(self, content: Any, build: Build) -> Any:
        base = type(content[1])
        return base.__new__(build.get(content[2]), content[1])

    def write(self, obj: Any, content: Any, build: Build) -> None:
        write_attributes(obj, content[3], build)


# -- objects ----------------------------------------------------------------------------------
class Instance(Kind):
    """Instances of Python classes: their attributes, no user code run."""

    tag = "object"

    def read(self, obj: Any, walk: Walk) -> tuple[Any, ...]:
        return (self.tag, class_ref(obj, walk), read_attributes(obj, walk))

    def make(self, content: Any, build: Build) -> Any:
        return new_instance(content[1], build)

    def write(self, obj: Any, content: Any, build: Build) -> None:
        write_attributes(obj, content[2], build)


class ErrorInstance(Kind):
    """Exceptions: their arguments and attributes."""

    tag = "exception"

    def read(self, obj: Any, walk: Walk) -> tuple[Any, ...]:
        return (self.tag, class_ref(obj, walk), walk.ref(obj.args, ("args",)), read_attributes(obj, walk))

    def follow(self, holder: Any, edge: Any) -> Any:
        return holder.args if edge[0] == "args" else follow_attribute(holder, edge)

    def make(self, content: Any, build: Build) -> Any:
        cls = build.get(content[1])
        return cls.__new__(cls, *build.get(content[2]))

    def write(self, obj: Any, content: Any, build: Build) -> None:
        obj.args = build.get(content[2])
        write_attributes(obj, content[3], build)


class Cell(Kind):
    """The variable that a closure shares with its function."""

    tag = "cell"

    def read(self, obj: types.CellType, walk: Walk) -> tuple[Any, ...]:
        try:
            return (self.tag, walk.ref(obj.cell_contents, ("a", "cell_contents")))
        except ValueError:
            return (self.tag,)

    def follow(self, holder: Any, edge: Any) -> Any:
        return holder.cell_contents

    def make(self, content: Any, build: Build) -> Any:
        return types.CellType()

    def write(self, obj: types.CellType, content: Any, build: Build) -> None:
        if len(content) > 1:
            obj.cell_contents = build.get(content[1])
        else:
            del obj.cell_contents


class Function(Kind):
    """Functions with state: closure cells, defaults, attributes. Their code is not state."""

    tag = "function"

    def read(self, obj: types.FunctionType, walk: Walk) -> tuple[Any, ...]:
        if _is_machinery(obj.__module__ or ""):
            return (self.tag, obj.__module__, obj.__qualname__)
        code = obj.__code__
        cells = [(name, walk.ref(cell, ("cell", name)))
                 for name, cell in zip(code.co_freevars, obj.__closure__ or ())]
        if walk.current >= walk.first_new:
            walk.lost.append((walk.current, f"the function `{obj.__qualname__}` was made in the loop"))
        return (self.tag, obj.__module__ or "", obj.__qualname__, cells,
                walk.ref(obj.__defaults__, ("a", "__defaults__")),
                walk.ref(obj.__kwdefaults__, ("a", "__kwdefaults__")),
                read_attributes(obj, walk))

    def follow(self, holder: Any, edge: Any) -> Any:
        if edge[0] == "cell":
            return dict(zip(holder.__code__.co_freevars, holder.__closure__))[edge[1]]
        return getattr(holder, edge[1])

    def make(self, content: Any, build: Build) -> Any:
        return Lost(f"the function `{content[2]}`, which was made in the loop")

    def write(self, obj: Any, content: Any, build: Build) -> None:
        if isinstance(obj, Lost) or len(content) == 3:
            return
        obj.__defaults__ = build.get(content[4])
        obj.__kwdefaults__ = build.get(content[5])
        write_attributes(obj, content[6], build)


class Method(Kind):
    """Bound methods, of Python classes and of built-in ones."""

    tag = "method"

    def read(self, obj: Any, walk: Walk) -> tuple[Any, ...]:
        if isinstance(obj, types.MethodType):
            return (self.tag, walk.ref(obj.__func__, ("a", "__func__")), walk.ref(obj.__self__, ("a", "__self__")))
        return (self.tag, obj.__name__, walk.ref(obj.__self__, ("a", "__self__")))

    def follow(self, holder: Any, edge: Any) -> Any:
        return getattr(holder, edge[1])

    def make(self, content: Any, build: Build) -> Any:
        owner = build.get(content[2])
        if isinstance(content[1], str):
            return getattr(owner, content[1])
        return types.MethodType(build.get(content[1]), owner)

    def write(self, obj: Any, content: Any, build: Build) -> None:
        """Immutable."""


class Partial(Kind):
    tag = "partial"

    def read(self, obj: Any, walk: Walk) -> tuple[Any, ...]:
        return (self.tag, walk.ref(obj.func, ("a", "func")), walk.ref(obj.args, ("a", "args")),
                walk.ref(obj.keywords, ("a", "keywords")))

    def follow(self, holder: Any, edge: Any) -> Any:
        return getattr(holder, edge[1])

    def make(self, content: Any, build: Build) -> Any:
        return functools.partial(build.get(content[1]), *build.get(content[2]), **build.get(content[3]))

    def write(self, obj: Any, content: Any, build: Build) -> None:
        """Immutable but for its keywords, which are a node of their own."""


class ProjectClass(Kind):
    """A class of the project: its data attributes are state, its functions are code."""

    tag = "class"
    _CODE = (types.FunctionType, staticmethod, classmethod, property, types.GetSetDescriptorType,
             types.MemberDescriptorType, functools.cached_property,
             type(vars(collections.namedtuple("_", "field"))["field"]))

    def read(self, obj: type, walk: Walk) -> tuple[Any, ...]:
        data = []
        for name, value in vars(obj).items():
            if name.startswith("__") or name == "_abc_impl":
                continue
            if isinstance(value, self._CODE):
                function = getattr(value, "__func__", value)
                if type(function) is types.FunctionType:
                    walk.ref(function, ("a", name))
                continue
            data.append((name, walk.ref(value, ("a", name))))
        for i, base in enumerate(obj.__bases__):
            walk.ref(base, ("base", i))
        return (self.tag, obj.__module__, obj.__qualname__, data)

    def follow(self, holder: Any, edge: Any) -> Any:
        if edge[0] == "base":
            return holder.__bases__[edge[1]]
        value = vars(holder)[edge[1]]
        return getattr(value, "__func__", value)

    def make(self, content: Any, build: Build) -> Any:
        found = atoms.lookup(content[1], content[2], load=True)
        return found if found is not None else Lost(f"the class `{content[2]}`, which was made in the loop")

    def write(self, obj: Any, content: Any, build: Build) -> None:
        if isinstance(obj, Lost):
            return
        values = {name: build.get(ref) for name, ref in content[3]}
        for name, value in values.items():
            if vars(obj).get(name, MISSING) is not value:
                type.__setattr__(obj, name, value)


class WeakReference(Kind):
    tag = "weakref"

    def read(self, obj: Any, walk: Walk) -> tuple[Any, ...]:
        target = obj()
        return (self.tag, None if target is None else walk.ref(target, ("target",)))

    def follow(self, holder: Any, edge: Any) -> Any:
        return holder()

    def make(self, content: Any, build: Build) -> Any:
        target = build.get(content[1])
        return Lost("a weak reference") if target is None else weakref.ref(target)

    def write(self, obj: Any, content: Any, build: Build) -> None:
        """Immutable."""


class PythonRandom(Kind):
    """random.Random and subclasses."""

    tag = "random"

    def read(self, obj: random.Random, walk: Walk) -> tuple[Any, ...]:
        version, internal, gauss = random.Random.getstate(obj)
        return (self.tag, version, tuple(internal), gauss, class_ref(obj, walk), read_attributes(obj, walk))

    def make(self, content: Any, build: Build) -> Any:
        cls = build.get(content[4])
        return cls.__new__(cls)

    def write(self, obj: Any, content: Any, build: Build) -> None:
        write_attributes(obj, content[5], build)
        random.Random.setstate(obj, (content[1], content[2], content[3]))


# -- things that move but cannot be made again ------------------------------------------------
def position(obj: Any, depth: int = 8) -> Any:
    """Where an iterator or generator stands, as a nested tuple of plain values."""
    if depth == 0:
        return None
    if isinstance(obj, types.GeneratorType):
        frame = obj.gi_frame
        if frame is None:
            return ("ended",)
        inner = [position(item, depth - 1) for item in gc.get_referents(obj)
                 if not isinstance(item, (types.CodeType, types.FunctionType, types.FrameType))]
        return (frame.f_lasti, tuple(item for item in inner if item is not None))
    if type(obj) in atoms.PLAIN:
        return ("=", obj) if not isinstance(obj, (str, bytes)) or len(obj) < 64 else None
    if type(obj).__qualname__ in ITERATORS:
        hint = _index(obj)
        inner = [position(item, depth - 1) for item in gc.get_referents(obj)]
        return (type(obj).__qualname__, hint, tuple(item for item in inner if item is not None))
    return None


def _index(obj: Any) -> Any:
    """How far a built-in iterator has come, as it tells itself."""
    hint = operator.length_hint(obj, -1)
    if hint >= 0:
        return hint
    try:
        reduced = obj.__reduce__()
    except TypeError:
        return None
    return tuple(part for part in reduced[1:] if type(part) is int) + tuple(
        part for part in reduced[1] if type(part) is int)


ITERATORS = frozenset({
    "list_iterator", "list_reverseiterator", "tuple_iterator", "range_iterator", "longrange_iterator", "str_iterator",
    "str_ascii_iterator", "bytes_iterator", "bytearray_iterator", "dict_keyiterator", "dict_valueiterator",
    "dict_itemiterator", "set_iterator", "iterator", "enumerate", "zip", "map", "filter", "reversed",
    "callable_iterator", "count", "cycle", "repeat", "islice", "chain", "starmap", "accumulate",
    "takewhile", "dropwhile", "product", "permutations", "combinations", "batched", "pairwise", "generator"})
MAX_ADVANCE = 10_000_000  # next() calls tried before an iterator is given up


class Iterator(Kind):
    """Generators and iterators: put back by moving the live one forward, never made anew."""

    tag = "iterator"

    def read(self, obj: Any, walk: Walk) -> tuple[Any, ...]:
        if walk.current >= walk.first_new and not isinstance(kind_of(type(walk.parent())), Iterator):
            walk.lost.append((walk.current, f"a {type(obj).__name__} that was started in the loop"))
        children = [item for item in gc.get_referents(obj)
                    if not isinstance(item, (types.CodeType, types.FunctionType, types.FrameType, type))]
        refs = [walk.ref(item, ("r", i)) for i, item in enumerate(children)]
        return (self.tag, type(obj).__qualname__, position(obj), refs)

    def follow(self, holder: Any, edge: Any) -> Any:
        return [item for item in gc.get_referents(holder)
                if not isinstance(item, (types.CodeType, types.FunctionType, types.FrameType, type))][edge[1]]

    def make(self, content: Any, build: Build) -> Any:
        return Lost(f"a {content[1]} that was started in the loop")

    def write(self, obj: Any, content: Any, build: Build) -> None:
        """Moved by `advance` before anything is written."""

    @staticmethod
    def advance(obj: Any, wanted: Any) -> None:
        """Call next() until the iterator stands where the record's stood."""
        for _ in range(MAX_ADVANCE):
            if position(obj) == wanted:
                return
            try:
                next(obj)
            except StopIteration:
                break
        if position(obj) != wanted:
            raise CannotRestore(f"a {type(obj).__qualname__} cannot be brought to where it stood")


class File(Kind):
    """Open files: the position of one that is read is state; one that is written stays as it lives."""

    tag = "file"

    def read(self, obj: Any, walk: Walk) -> tuple[Any, ...]:
        if walk.current >= walk.first_new:
            walk.lost.append((walk.current, "a file that was opened in the loop"))
        return (self.tag, self._place(obj, walk))

    @staticmethod
    def _place(obj: Any, walk: Walk) -> Any:
        try:
            if obj.closed:
                return "closed"
            if not obj.readable() or obj.writable() or not obj.seekable():
                return "live"
            return obj.tell()
        except (OSError, ValueError):
            unseen(obj, walk, "a file that is being iterated over")
            return "unknown"

    def make(self, content: Any, build: Build) -> Any:
        return Lost("a file that was opened in the loop")

    def write(self, obj: Any, content: Any, build: Build) -> None:
        if isinstance(content[1], int):
            obj.seek(content[1])


class Live(Kind):
    """Locks, loggers, threads, handles: left as they live."""

    tag = "live"

    def read(self, obj: Any, walk: Walk) -> tuple[Any, ...]:
        if walk.current >= walk.first_new:
            walk.lost.append((walk.current, f"a {type(obj).__qualname__} that was made in the loop"))
        return (self.tag, type(obj).__qualname__)

    def make(self, content: Any, build: Build) -> Any:
        return Lost(f"a {content[1]} that was made in the loop")

    def write(self, obj: Any, content: Any, build: Build) -> None:
        """Left as it lives."""


class Logger(Kind):
    """logging.Logger: its level and handlers; the tree of loggers around it is left alone."""

    tag = "logger"

    def read(self, obj: logging.Logger, walk: Walk) -> tuple[Any, ...]:
        return (self.tag, obj.name, obj.level, obj.disabled, obj.propagate,
                walk.ref(obj.handlers, ("a", "handlers")), walk.ref(obj.filters, ("a", "filters")))

    def make(self, content: Any, build: Build) -> Any:
        return logging.getLogger(content[1])

    def write(self, obj: logging.Logger, content: Any, build: Build) -> None:
        obj.setLevel(content[2])
        obj.disabled, obj.propagate = content[3], content[4]
        obj.handlers[:], obj.filters[:] = build.whole(content[5]), build.whole(content[6])


class Bar(Kind):
    """A tqdm bar: how far it has come. When it was last drawn is no state."""

    tag = "bar"

    def read(self, obj: Any, walk: Walk) -> tuple[Any, ...]:
        if walk.current >= walk.first_new:
            walk.lost.append((walk.current, "a progress bar that was made in the loop"))
        return (self.tag, getattr(obj, "n", None), getattr(obj, "total", None), getattr(obj, "desc", None),
                walk.ref(getattr(obj, "iterable", None), ("a", "iterable")))

    def make(self, content: Any, build: Build) -> Any:
        return Lost("a progress bar that was made in the loop")

    def write(self, obj: Any, content: Any, build: Build) -> None:
        if content[1] is not None:
            obj.n, obj.total, obj.desc = content[1:4]


class LostKind(Kind):
    """A stand-in from an earlier restore: compares equal to what it stands for."""

    tag = "lost"

    def read(self, obj: Any, walk: Walk) -> tuple[Any, ...]:
        return object.__getattribute__(obj, "_content")

    def write(self, obj: Any, content: Any, build: Build) -> None:
        """Nothing to write."""


class _Pickler(pickle.Pickler):
    """Pickles an object of a C type; what is a node of its own goes in by number."""

    def __init__(self, stream: io.BytesIO, walk: Walk) -> None:
        super().__init__(stream, 4)
        self.fast = True  # no memo: equal values give equal bytes, whoever shares them
        self._walk = walk
        self._first = True

    def persistent_id(self, obj: Any) -> Any:
        if self._first:
            self._first = False
            return None
        if type(obj) in atoms.PLAIN:
            return None
        number = self._walk.number_of_id(id(obj))
        return None if number is None else (number,)


class _Unpickler(pickle.Unpickler):
    def __init__(self, data: bytes, build: Build) -> None:
        super().__init__(io.BytesIO(data))
        self._build = build

    def persistent_load(self, pid: Any) -> Any:
        return self._build.whole(pid)


class Reduced(Kind):
    """Objects of C types: through the pickle protocol; otherwise what they hold cannot be seen."""

    tag = "reduced"

    def read(self, obj: Any, walk: Walk) -> tuple[Any, ...]:
        stream = io.BytesIO()
        try:
            _Pickler(stream, walk).dump(obj)
        except Exception:
            unseen(obj, walk, f"a {type(obj).__module__}.{type(obj).__qualname__}")
            return (self.tag, type(obj).__qualname__, None)
        return (self.tag, type(obj).__qualname__, stream.getvalue())

    def make(self, content: Any, build: Build) -> Any:
        if content[2] is None:
            return Lost(f"a {content[1]} that was made in the loop")
        return _Unpickler(content[2], build).load()

    def write(self, obj: Any, content: Any, build: Build) -> None:
        if content[2] is None or build.is_new(obj):
            return
        reduced = _Unpickler(content[2], build).load().__reduce_ex__(4)
        state = reduced[2] if len(reduced) > 2 else None
        if state is not None and hasattr(obj, "__setstate__"):
            obj.__setstate__(state)
        elif isinstance(state, dict) and instance_dict(obj) is not None:
            obj.__dict__.clear()
            obj.__dict__.update(state)
        else:
            raise CannotRestore(f"a {content[1]} cannot be put back in place")


# -- choosing ---------------------------------------------------------------------------------
# Packages whose objects are machinery or sinks: what they hold is no state of the training.
LIVE_MODULES = ("wandb", "mlflow", "tensorboard", "tensorboardX", "torch.utils.tensorboard", "rich", "torch._dynamo",
                "torch._inductor", "torch._functorch", "torch._guards", "torch.autograd.profiler", "torch.profiler",
                "torch._ops", "torch._classes", "importlib", "_frozen_importlib", "_frozen_importlib_external",
                "zipimport", "abc", "_abc", "typing", "contextvars", "torch.cuda.streams")
# Immutable, or without a state that a program could see.
LIVE_TYPES = (types.CodeType, types.FrameType, types.TracebackType, types.MappingProxyType, types.ModuleType,
              property, staticmethod, classmethod, types.GetSetDescriptorType, types.MemberDescriptorType,
              types.MethodDescriptorType, types.WrapperDescriptorType, types.MethodWrapperType,
              types.GenericAlias, types.UnionType, functools.cached_property, super,
              types.ClassMethodDescriptorType, type(threading.Lock()), type(threading.RLock()),
              type(functools.lru_cache(len)), re.Match, type({}.keys()), type({}.values()), type({}.items()))
_LIVE_NAMES = frozenset({"ScriptFunction", "torch._C.ScriptFunction", "torch._C.Event"})


_KINDS: dict[type, Kind] = {
    Root: RootKind(), Namespace: NamespaceKind(), list: Sequence(list), deque: Sequence(deque), dict: Mapping(),
    set: Set(), frozenset: Set(), tuple: Tuple(), bytearray: ByteArray(), types.CellType: Cell(),
    types.FunctionType: Function(), types.MethodType: Method(), functools.partial: Partial(), Lost: LostKind(),
    types.BuiltinMethodType: Method(), types.GeneratorType: Iterator(), random.Random: PythonRandom(),
    weakref.ref: WeakReference(),
}
_REDUCED, _LIVE, _INSTANCE, _FILE, _ITERATOR = Reduced(), Live(), Instance(), File(), Iterator()
_LOGGER, _BAR = Logger(), Bar()
_BASES: tuple[tuple[type | tuple[type, ...], Kind], ...] = (
    (type, ProjectClass()), (list, _KINDS[list]), (deque, _KINDS[deque]), (dict, _KINDS[dict]), ((set, frozenset), _KINDS[set]),
    (tuple, _KINDS[tuple]), (bytearray, _KINDS[bytearray]), (random.Random, _KINDS[random.Random]),
    (weakref.ref, _KINDS[weakref.ref]), (functools.partial, _KINDS[functools.partial]),
    (BaseException, ErrorInstance()), ((int, float, complex, str, bytes), PlainSubclass()),
)


def kind_of(cls: type) -> Kind:
    """The kind for objects of a class."""
    kind = _KINDS.get(cls)
    if kind is None:
        kind = _KINDS[cls] = _choose(cls)
    return kind


def _choose(cls: type) -> Kind:
    for choose in _LIBRARY_CHOOSERS:
        kind = choose(cls)
        if kind is not None:
            return kind
    if issubclass(cls, io.IOBase):
        return _FILE if not issubclass(cls, (io.StringIO, io.BytesIO)) else _REDUCED
    if cls.__module__.partition(".")[0] == "pandas":
        return _REDUCED  # its own pickle leaves out caches and engines
    if issubclass(cls, logging.Logger):
        return _LOGGER
    if any(klass.__module__.partition(".")[0] == "tqdm" for klass in cls.__mro__):
        return _BAR
    if _is_live(cls):
        return _LIVE
    for base, kind in _BASES:
        if issubclass(cls, base):
            return kind
    if cls.__qualname__ in ITERATORS and cls.__module__ in ("builtins", "itertools"):
        return _ITERATOR
    return _INSTANCE if _is_python_class(cls) else _REDUCED


def _is_live(cls: type) -> bool:
    module = cls.__module__
    if issubclass(cls, LIVE_TYPES) or f"{module}.{cls.__qualname__}" in _LIVE_NAMES:
        return True
    nn = sys.modules.get("torch.nn")
    if nn is not None and issubclass(cls, nn.Module):
        return False  # a compiled or traced module is a module all the same
    return _is_machinery(module)


def _is_machinery(module: str) -> bool:
    return any(module == name or module.startswith(name + ".") for name in LIVE_MODULES)


def _is_python_class(cls: type) -> bool:
    """True if nothing but Python's own `object` lies under cls, so its attributes are all its state."""
    made_by_statement = 1 << 9
    return all(klass is object or klass.__module__ in ("typing", "abc") or (
        klass.__flags__ & made_by_statement and ("__module__" in vars(klass)) and _has_python_body(klass))
        for klass in cls.__mro__)


def _has_python_body(klass: type) -> bool:
    names = vars(klass)
    return "__dict__" in names or "__slots__" in names or any(
        "__dict__" in vars(base) for base in klass.__mro__[1:])


_LIBRARY_CHOOSERS: list[Any] = []
LIBRARY_KINDS: list[Kind] = []


def add_library(choose: Any, kinds: list[Kind]) -> None:
    """Let a library's file (tensors, arrays) claim its types."""
    _LIBRARY_CHOOSERS.append(choose)
    LIBRARY_KINDS.extend(kinds)
    for cls in [cls for cls in _KINDS if cls.__module__.partition(".")[0] in ("torch", "numpy")]:
        del _KINDS[cls]


def load_libraries() -> None:
    """Know the types of the libraries that the program has imported by now."""
    if "numpy" in sys.modules and "arrays" not in _loaded and hasattr(sys.modules["numpy"], "random"):
        _loaded.add("arrays")
        from . import arrays  # noqa: F401  (registers its kinds)
    if "torch" in sys.modules and "tensors" not in _loaded and hasattr(sys.modules["torch"], "nn"):
        _loaded.add("tensors")
        from . import tensors  # noqa: F401


_loaded: set[str] = set()
