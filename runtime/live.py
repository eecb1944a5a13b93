"""Kinds that live on: set, or left as they are, never made anew."""

from __future__ import annotations

import functools
import logging
import re
import sys
import threading
import types
from typing import TYPE_CHECKING, Any

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
    "triton",
)
# Immutable, or without a state that a program could see.
LIVE_TYPES: tuple[Any, ...] = (
    types.CodeType,
    types.FrameType,
    types.TracebackType,
    types.MappingProxyType,
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
    re.Match,
    type({}.keys()),
    type({}.values()),
    type({}.items()),
)
_LIVE_NAMES = frozenset({"_csv.writer", "torch._C.ScriptFunction", "torch._C.Event"})
# Shared libraries and their functions: what they hold are addresses of this process
_ADDRESSES = frozenset({"ctypes.CDLL", "ctypes.LibraryLoader", "_ctypes.CFuncPtr"})


def is_live(cls: type) -> bool:
    module = cls.__module__
    if issubclass(cls, LIVE_TYPES) or _name(cls) in _LIVE_NAMES:
        return True
    if not _ADDRESSES.isdisjoint(map(_name, cls.__mro__)):
        return True
    nn = sys.modules.get("torch.nn")
    if nn is not None and issubclass(cls, nn.Module):
        return False  # a compiled or traced module is a module all the same
    return is_machinery(module)


def _name(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def is_machinery(module: str) -> bool:
    return any(module == name or module.startswith(name + ".") for name in LIVE_MODULES)


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


class Memo(Kind):
    """functools.lru_cache around a function: what it remembers cannot be seen, but how often it was asked."""

    tag = "memo"

    def read(self, obj: Any, walk: Walk) -> tuple[Any, ...]:
        module = str(getattr(obj, "__module__", ""))
        info = tuple(obj.cache_info()) if walk.is_project(module) else ()
        return (self.tag, module, str(getattr(obj, "__qualname__", "")), info)

    def make(self, content: Any, build: Build) -> Any:
        return Lost(f"the memo of {content[2]}")

    def write(self, obj: Any, content: Any, build: Build) -> None:
        raise CannotRestore(f"what the memo of {content[2]} remembers cannot be put back")


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


def let_bars_be() -> None:
    """Have tqdm's bars close without a word: those of loops that were skipped are still open.

    What closes them at the very end of Python finds tqdm itself taken apart, and tells of that.
    """
    bars = getattr(getattr(sys.modules.get("tqdm"), "tqdm", None), "_instances", ())
    for bar in list(bars):
        bar.disable = True


class Machinery(Kind):
    """Processes, pools, connections: what they hold lives elsewhere too. Never written, never compared."""

    tag = "machinery"

    def read(self, obj: Any, walk: Walk) -> tuple[Any, ...]:
        unseen(obj, walk, f"a {type(obj).__module__}.{type(obj).__qualname__}")
        return (self.tag, type(obj).__qualname__)

    def make(self, content: Any, build: Build) -> Any:
        return Lost(f"a {content[1]} that was made in the loop")

    def write(self, obj: Any, content: Any, build: Build) -> None:
        """Left as it lives."""


# packages whose objects have a part outside this process, and modules of them whose objects have none
OUTSIDE = ("multiprocessing", "concurrent.futures", "subprocess", "socket", "asyncio", "_multiprocessing")
NOT_OUTSIDE = ("multiprocessing.context",)
PROCESS = "multiprocessing.process"  # what all kinds of processes come from, those of a context too


def reaches_outside(cls: type) -> bool:
    """True for classes whose objects have a part outside this process."""
    module = cls.__module__
    outside = any(module == name or module.startswith(name + ".") for name in OUTSIDE)
    return (outside and module not in NOT_OUTSIDE) or any(base.__module__ == PROCESS for base in cls.__mro__)


class LostKind(Kind):
    """A stand-in from an earlier restore: compares equal to what it stands for, and leads to the same."""

    tag = "lost"

    def read(self, obj: Any, walk: Walk) -> tuple[Any, ...]:
        content, held = self._parts(obj)
        if not held:
            return content
        refs = [walk.ref(item, edge) for item, edge in zip(held, _edges(content), strict=True)]
        renewed: tuple[Any, ...] = (content[0], *_renewed(content[1:], iter(refs)))
        return renewed

    def follow(self, holder: Any, edge: Any) -> Any:
        content, held = self._parts(holder)
        return dict(zip(_edges(content), held, strict=True))[tuple(edge)]

    def write(self, obj: Any, content: Any, build: Build) -> None:
        object.__setattr__(obj, "_held", tuple(build.get(ref) for ref in _node_refs(content[1:])))

    @staticmethod
    def _parts(obj: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        return object.__getattribute__(obj, "_content"), object.__getattribute__(obj, "_held")


def _is_node_ref(part: Any) -> bool:
    return type(part) is tuple and len(part) == 1 and type(part[0]) is int


def _node_refs(part: Any) -> list[Any]:
    """The references to other nodes in a content, in their order."""
    if _is_node_ref(part):
        return [part]
    return [ref for item in part for ref in _node_refs(item)] if type(part) in (tuple, list) else []


def _renewed(part: Any, refs: Any) -> Any:
    """The content with other references, one for each."""
    if _is_node_ref(part):
        return next(refs)
    return type(part)(_renewed(item, refs) for item in part) if type(part) in (tuple, list) else part


def _edges(content: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """Of each node that a content refers to, the edge by which a walk comes to it."""
    if content[0] != "function" or len(content) < 7:
        return [("lost", number) for number in range(len(_node_refs(content[1:])))]
    cells, defaults, named, (attributes, slots) = content[3:7]
    pairs = [(ref, ("cell", name)) for name, ref in cells]
    pairs += [(defaults, ("a", "__defaults__")), (named, ("a", "__kwdefaults__"))]
    pairs += [(ref, ("a", name)) for name, ref in [*(attributes or ()), *slots]]
    return [edge for ref, edge in pairs if _is_node_ref(ref)]
