"""Kinds that live on: moved forward, or left as they are, never made anew."""

from __future__ import annotations

import functools
import gc
import logging
import operator
import re
import sys
import threading
import types
from typing import TYPE_CHECKING, Any

from . import atoms
from .errors import CannotRestore
from .kind import Kind, unseen
from .lost import Lost

if TYPE_CHECKING:
    from .graph import Walk
    from .restore import Build


# Packages whose objects are machinery or sinks: what they hold is no state of the training.
LIVE_MODULES = (
    "wandb",
    "mlflow",
    "tensorboard",
    "tensorboardX",
    "torch.utils.tensorboard",
    "rich",
    "torch._dynamo",
    "torch._inductor",
    "torch._functorch",
    "torch._guards",
    "torch.autograd.profiler",
    "torch.profiler",
    "torch._ops",
    "torch._classes",
    "importlib",
    "_frozen_importlib",
    "_frozen_importlib_external",
    "zipimport",
    "abc",
    "_abc",
    "typing",
    "contextvars",
    "torch.cuda.streams",
)
# Immutable, or without a state that a program could see.
LIVE_TYPES: tuple[Any, ...] = (
    types.CodeType,
    types.FrameType,
    types.TracebackType,
    types.MappingProxyType,
    types.ModuleType,
    property,
    staticmethod,
    classmethod,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.MethodWrapperType,
    types.GenericAlias,
    types.UnionType,
    functools.cached_property,
    super,
    types.ClassMethodDescriptorType,
    type(threading.Lock()),
    type(threading.RLock()),
    type(functools.lru_cache(len)),
    re.Match,
    type({}.keys()),
    type({}.values()),
    type({}.items()),
)
_LIVE_NAMES = frozenset({"ScriptFunction", "torch._C.ScriptFunction", "torch._C.Event"})


def is_live(cls: type) -> bool:
    module = cls.__module__
    if issubclass(cls, LIVE_TYPES) or f"{module}.{cls.__qualname__}" in _LIVE_NAMES:
        return True
    nn = sys.modules.get("torch.nn")
    if nn is not None and issubclass(cls, nn.Module):
        return False  # a compiled or traced module is a module all the same
    return is_machinery(module)


def is_machinery(module: str) -> bool:
    return any(module == name or module.startswith(name + ".") for name in LIVE_MODULES)


def position(obj: Any, depth: int = 8) -> Any:
    """Where an iterator or generator stands, as a nested tuple of plain values."""
    if depth == 0:
        return None
    if isinstance(obj, types.GeneratorType):
        frame = obj.gi_frame
        if frame is None:
            return ("ended",)
        inner = [
            position(item, depth - 1)
            for item in gc.get_referents(obj)
            if not isinstance(item, (types.CodeType, types.FunctionType, types.FrameType))
        ]
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
        part for part in reduced[1] if type(part) is int
    )


ITERATORS = frozenset(
    {
        "list_iterator",
        "list_reverseiterator",
        "tuple_iterator",
        "range_iterator",
        "longrange_iterator",
        "str_iterator",
        "str_ascii_iterator",
        "bytes_iterator",
        "bytearray_iterator",
        "dict_keyiterator",
        "dict_valueiterator",
        "dict_itemiterator",
        "set_iterator",
        "iterator",
        "enumerate",
        "zip",
        "map",
        "filter",
        "reversed",
        "callable_iterator",
        "count",
        "cycle",
        "repeat",
        "islice",
        "chain",
        "starmap",
        "accumulate",
        "takewhile",
        "dropwhile",
        "product",
        "permutations",
        "combinations",
        "batched",
        "pairwise",
        "generator",
    }
)
MAX_ADVANCE = 10_000_000  # next() calls tried before an iterator is given up


class Iterator(Kind):
    """Generators and iterators: put back by moving the live one forward, never made anew."""

    tag = "iterator"

    def read(self, obj: Any, walk: Walk) -> tuple[Any, ...]:
        if walk.current >= walk.first_new and not isinstance(walk.kind_of_parent(), Iterator):
            walk.lost.append((walk.current, f"a {type(obj).__name__} that was started in the loop"))
        children = [
            item
            for item in gc.get_referents(obj)
            if not isinstance(item, (types.CodeType, types.FunctionType, types.FrameType, type))
        ]
        refs = [walk.ref(item, ("r", i)) for i, item in enumerate(children)]
        return (self.tag, type(obj).__qualname__, position(obj), refs)

    def follow(self, holder: Any, edge: Any) -> Any:
        return [
            item
            for item in gc.get_referents(holder)
            if not isinstance(item, (types.CodeType, types.FunctionType, types.FrameType, type))
        ][edge[1]]

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
        return (
            self.tag,
            obj.name,
            obj.level,
            obj.disabled,
            obj.propagate,
            walk.ref(obj.handlers, ("a", "handlers")),
            walk.ref(obj.filters, ("a", "filters")),
        )

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
        return (
            self.tag,
            getattr(obj, "n", None),
            getattr(obj, "total", None),
            getattr(obj, "desc", None),
            walk.ref(getattr(obj, "iterable", None), ("a", "iterable")),
        )

    def make(self, content: Any, build: Build) -> Any:
        return Lost("a progress bar that was made in the loop")

    def write(self, obj: Any, content: Any, build: Build) -> None:
        if content[1] is not None:
            obj.n, obj.total, obj.desc = content[1:4]


class LostKind(Kind):
    """A stand-in from an earlier restore: compares equal to what it stands for."""

    tag = "lost"

    def read(self, obj: Any, walk: Walk) -> tuple[Any, ...]:
        content: tuple[Any, ...] = object.__getattribute__(obj, "_content")
        return content

    def write(self, obj: Any, content: Any, build: Build) -> None:
        """Nothing to write."""
