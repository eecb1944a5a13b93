"""Kinds that live on: moved forward, or left as they are, never made anew."""

from __future__ import annotations

import ctypes
import functools
import gc
import itertools
import logging
import operator
import os
import re
import sys
import threading
import types
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from time import monotonic  # the real one, whatever stands in `time` later
from typing import TYPE_CHECKING, Any

from . import atoms, shown
from .errors import CannotRestore
from .kind import Kind, unseen
from .lost import Lost
from .roots import is_hidden

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


def held_by(obj: Any) -> list[Any]:
    """What an iterator or a suspended generator holds: its variables and what its loops run over.

    Of a tqdm bar's generator only the iterator beneath counts: the rest says when to draw next. zip and
    enumerate keep a tuple for reuse besides, with what they gave when nobody else held it: that is no state.
    """
    if type(obj) is zip:
        return list(obj.__reduce__()[1])
    if type(obj) is enumerate:
        return [obj.__reduce__()[1][0]]
    held = gc.get_referents(obj)
    if _shows_variables(obj):
        held = [item for item in held if item is not None]  # None stands for no error on its way
        if sys.version_info < (3, 13):
            snapshot = obj.gi_frame.f_locals  # a dict that Python keeps once somebody has looked
            shown.cleared(snapshot)
            held = [item for item in held if item is not snapshot]
    if sys.version_info < (3, 11) and isinstance(obj, types.GeneratorType):
        frame = obj.gi_frame  # what is in the frame hangs on the frame there
        around = (frame.f_globals, frame.f_builtins) if frame is not None else ()
        held = [item for item in gc.get_referents(frame) if not any(item is one for one in around)]
    if _is_bar(obj):
        return [item for item in held if hasattr(type(item), "__next__")]
    skipped = (types.CodeType, types.FunctionType, types.FrameType, type)
    return [item for item in held if not isinstance(item, skipped) and not _is_own(item)]


def _is_bar(obj: Any) -> bool:
    """True for the generator of a tqdm bar."""
    return isinstance(obj, types.GeneratorType) and f"{os.sep}tqdm{os.sep}" in obj.gi_code.co_filename


def _is_own(obj: Any) -> bool:
    """True for a guard: the frame of a generator in the middle of a guarded loop holds it."""
    return type(obj).__module__.startswith("florc.runtime.")


def position(obj: Any, depth: int = 8) -> Any:
    """Where an iterator or generator stands, as a nested tuple of plain values."""
    if depth == 0:
        return None
    if isinstance(obj, types.GeneratorType):
        frame = obj.gi_frame
        if frame is None:
            return ("ended",)
        held = held_by(obj)
        inner = [position(item, depth - 1) for item in held if type(item) not in atoms.PLAIN]
        # plain values are no part of it: its variables are put back once it stands there. Only where
        # something that it runs over does not tell how far it has come they stand for that
        if any(_is_vague(place) for place in inner if place is not None):
            inner = [position(item, depth - 1) for item in held]
        return (_place(frame), tuple(item for item in inner if item is not None))
    if type(obj) in atoms.PLAIN:
        return ("=", obj) if not isinstance(obj, (str, bytes)) or len(obj) < 64 else None
    if type(obj).__qualname__ in ITERATORS:
        hint = _index(obj)
        inner = [position(item, depth - 1) for item in gc.get_referents(obj)]
        return (type(obj).__qualname__, hint, tuple(item for item in inner if item is not None))
    return None


# (code file name, line) -> the recorded line; a replay puts its own here, since an edit moves lines
recorded_line: Callable[[str, int], int | None] | None = None


def _place(frame: types.FrameType) -> int:
    """Where a generator's frame stands: its line, by which marks and probes make no difference."""
    line = recorded_line(frame.f_code.co_filename, frame.f_lineno) if recorded_line else None
    return frame.f_lineno if line is None else line


def _is_vague(place: tuple[Any, ...]) -> bool:
    """True if a position is not known to differ from that of the same iterator some turns on."""
    if place[0] == "=" or place == ("ended",):
        return False
    if type(place[0]) is int:
        return any(map(_is_vague, place[1]))
    return any(map(_is_vague, place[2])) or (place[1] in (None, ()) and not place[2])


def _shows_variables(obj: Any) -> bool:
    """True for a suspended generator; not where it asks for its locals(), which a look would change."""
    if not isinstance(obj, types.GeneratorType) or obj.gi_frame is None or obj.gi_running or _is_bar(obj):
        return False
    return not {"locals", "vars"}.intersection(obj.gi_code.co_names)


def variables(obj: Any) -> dict[str, Any]:
    """The variables of a suspended generator: not its cells, which are objects of their own, nor florc's."""
    if not _shows_variables(obj):
        return {}
    code = obj.gi_code
    own = set(code.co_varnames).difference(code.co_cellvars)
    names = obj.gi_frame.f_locals
    found = {name: names[name] for name in sorted(own) if name in names and not is_hidden(name)}
    if sys.version_info < (3, 13):
        shown.cleared(names)
    return found


def set_variables(obj: Any, values: dict[str, Any]) -> None:
    """Give a suspended generator's variables these values; others of its own become unbound."""
    if not _shows_variables(obj):
        return
    frame = obj.gi_frame
    gone = variables(obj).keys() - values.keys()
    names = frame.f_locals
    names.update(values)
    if sys.version_info < (3, 13):  # later ones write through, and unbind nothing
        for name in gone:
            del names[name]
        ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(1))
        shown.cleared(names)


_LIST_ITERATOR: Any = type(iter([]))


def set_lists(obj: Any, wanted: Any) -> None:
    """Set what runs over lists, in an iterator that stands where it is to stand, forward or back.

    One that has come to its end stays there. Whether the lists are the record's, the comparison tells.
    """
    if isinstance(obj, _LIST_ITERATOR):
        here = operator.length_hint(obj)
        if wanted[0] == "list_iterator" and here != wanted[1]:
            items = obj.__reduce__()[1][0]
            if wanted[1] <= len(items):
                obj.__setstate__(len(items) - wanted[1])
    elif isinstance(obj, types.GeneratorType):
        if obj.gi_frame is not None and wanted[0] == _place(obj.gi_frame):
            _set_inner(held_by(obj), wanted[1])
    elif type(obj).__qualname__ in ITERATORS and wanted[0] == type(obj).__qualname__:
        _set_inner(gc.get_referents(obj), wanted[2])


def _set_inner(items: list[Any], wanted: tuple[Any, ...]) -> None:
    """Set these, as far as they have a position; plain values have theirs in vain."""
    placed = [item for item in items if type(item) not in atoms.PLAIN and position(item) is not None]
    for item, place in zip(placed, [place for place in wanted if place[0] != "="], strict=False):
        set_lists(item, place)


def _index(obj: Any) -> Any:
    """How far a built-in iterator has come, as it tells itself."""
    if type(obj) is itertools.cycle:
        return _turn(obj)
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


def _turn(obj: Any) -> Any:
    """Where an itertools.cycle stands: in its first pass, or at which of what it has saved."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            parts = obj.__reduce__()
            inner = parts[1][0].__reduce__()
        except (TypeError, IndexError, AttributeError):
            return None
    state = [len(part) if isinstance(part, (list, tuple)) else part for part in parts[2]]
    return (*state, *(part for part in inner[1:] if type(part) is int), operator.length_hint(parts[1][0], -1))


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
# next() calls, and seconds, before an iterator is given up: an endless one may never come to the place
MAX_ADVANCE, MAX_ADVANCE_SECONDS = 1_000_000, 20.0
MAX_RETURNS = 100  # to one place: then it goes round in a circle (places do not show all of an iterator)
# around the calls: a replay lets nothing out that the iterator writes on its way
quietly: Callable[[], AbstractContextManager[None]] = nullcontext


class Iterator(Kind):
    """Generators and iterators: put back by moving the live one forward, never made anew.

    What a generator's variables hold is then set. What it holds besides, a list that its loop runs over or
    a loader's iterator, is written in place, as far as that can be done (see Build).
    """

    tag = "iterator"

    def read(self, obj: Any, walk: Walk) -> tuple[Any, ...]:
        if walk.current >= walk.first_new and not walk.hangs_on(Iterator):
            walk.lost.append((walk.current, f"a {type(obj).__name__} that was started in the loop"))
        refs = [walk.ref(item, ("r", i)) for i, item in enumerate(held_by(obj))]
        names = [(name, walk.ref(value, ("v", name))) for name, value in variables(obj).items()]
        return (self.tag, type(obj).__qualname__, position(obj), refs, names)

    def follow(self, holder: Any, edge: Any) -> Any:
        return variables(holder)[edge[1]] if edge[0] == "v" else held_by(holder)[edge[1]]

    def make(self, content: Any, build: Build) -> Any:
        return Lost(f"a {content[1]} that was started in the loop")

    def write(self, obj: Any, content: Any, build: Build) -> None:
        """Set a generator's variables: `advance` has moved it before anything is written."""
        if content[4] or variables(obj):
            set_variables(obj, {name: build.get(ref) for name, ref in content[4]})

    @staticmethod
    def advance(obj: Any, wanted: Any) -> None:
        """Call next() until the iterator stands where the record's stood.

        One that comes back to the same place again and again never gets there: its `send` was called, say.
        """
        until = monotonic() + MAX_ADVANCE_SECONDS
        mark, returns = None, 0
        with quietly():
            for turn in range(MAX_ADVANCE):
                set_lists(obj, wanted)
                now = position(obj)
                if now == wanted:
                    return
                returns += now == mark
                if returns > MAX_RETURNS:
                    break
                if turn & (turn - 1) == 0:  # at each power of two: sooner or later inside any circle
                    mark = now
                try:
                    next(obj)
                except StopIteration:
                    break
                if turn % 64 == 0 and monotonic() > until:
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
