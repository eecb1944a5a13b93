"""Choosing the kind for a type: exact types first, then libraries, then what lies below the class."""

from __future__ import annotations

import functools
import io
import logging
import queue
import random
import sys
import threading
import types
import weakref
from collections import deque
from collections.abc import Callable

from .containers import Buffer, Mapping, PlainSubclass, Sequence, Set, Tuple
from .iterators import ITERATORS, Iterator
from .kind import HEAP_TYPE, Kind
from .live import (
    Bar,
    File,
    Live,
    Logger,
    LostKind,
    Machinery,
    Memo,
    is_live,
    reaches_outside,
)
from .lost import Lost
from .objects import (
    Cell,
    Condition,
    ErrorInstance,
    Function,
    Instance,
    Method,
    ModuleByHand,
    NamespaceKind,
    Partial,
    ProjectClass,
    PythonRandom,
    Reduced,
    RootKind,
    Thread,
    WeakReference,
    WorkQueue,
)
from .roots import Namespace, Root

_KINDS: dict[type, Kind] = {
    Root: RootKind(),
    Namespace: NamespaceKind(),
    list: Sequence(list),
    deque: Sequence(deque),
    dict: Mapping(),
    set: Set(),
    frozenset: Set(),
    tuple: Tuple(),
    bytearray: Buffer("bytearray"),
    types.CellType: Cell(),
    types.FunctionType: Function(),
    type(functools.lru_cache(len)): Memo(),
    types.MethodType: Method(),
    functools.partial: Partial(),
    Lost: LostKind(),
    types.BuiltinMethodType: Method(),
    types.SimpleNamespace: Instance(),
    threading.Condition: Condition(),
    types.ModuleType: ModuleByHand(),
    types.GeneratorType: Iterator(),
    random.Random: PythonRandom(),
    weakref.ref: WeakReference(),
}
_REDUCED, _LIVE, _INSTANCE, _FILE, _ITERATOR = Reduced(), Live(), Instance(), File(), Iterator()
_LOGGER, _BAR, _MACHINERY, _ARRAY = Logger(), Bar(), Machinery(), Buffer("array.array")
_BASES: tuple[tuple[type | tuple[type, ...], Kind], ...] = (
    (type, ProjectClass()),
    (list, _KINDS[list]),
    (deque, _KINDS[deque]),
    (dict, _KINDS[dict]),
    ((set, frozenset), _KINDS[set]),
    (tuple, _KINDS[tuple]),
    (bytearray, _KINDS[bytearray]),
    (random.Random, _KINDS[random.Random]),
    (weakref.ref, _KINDS[weakref.ref]),
    (functools.partial, _KINDS[functools.partial]),
    (queue.Queue, WorkQueue()),
    (BaseException, ErrorInstance()),
    (threading.Thread, Thread()),
    ((int, float, complex, str, bytes), PlainSubclass()),
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
    if any(klass.__module__ == "array" for klass in cls.__mro__):
        return _ARRAY
    if cls.__module__.partition(".")[0] == "pandas":
        return _REDUCED  # its own pickle leaves out caches and engines
    if issubclass(cls, logging.Logger):
        return _LOGGER
    if any(klass.__module__.partition(".")[0] == "tqdm" for klass in cls.__mro__):
        return _BAR
    if reaches_outside(cls):
        return _MACHINERY
    if is_live(cls):
        return _LIVE
    for base, kind in _BASES:
        if issubclass(cls, base):
            return kind
    if cls.__qualname__ in ITERATORS and cls.__module__ in ("builtins", "itertools"):
        return _ITERATOR
    if not _is_python_class(cls):
        return _REDUCED
    return next((kind for choose in _INSTANCE_CHOOSERS if (kind := choose(cls)) is not None), _INSTANCE)


def _is_python_class(cls: type) -> bool:
    """True if nothing but Python's own `object` lies under cls, so its attributes are all its state."""
    return all(
        klass is object
        or klass.__module__ in ("typing", "abc")
        or (klass.__flags__ & HEAP_TYPE and ("__module__" in vars(klass)) and _has_python_body(klass))
        for klass in cls.__mro__
    )


def _has_python_body(klass: type) -> bool:
    names = vars(klass)
    return (
        "__dict__" in names
        or "__slots__" in names
        or any("__dict__" in vars(base) for base in klass.__mro__[1:])
    )


_LIBRARY_CHOOSERS: list[Callable[[type], Kind | None]] = []
_INSTANCE_CHOOSERS: list[Callable[[type], Kind | None]] = []
LIBRARY_KINDS: list[Kind] = []


def add_library(choose: Callable[[type], Kind | None], kinds: list[Kind]) -> None:
    """Let a library's file (tensors, arrays) claim its types."""
    _LIBRARY_CHOOSERS.append(choose)
    LIBRARY_KINDS.extend(kinds)
    for cls in [cls for cls in _KINDS if cls.__module__.partition(".")[0] in ("torch", "numpy")]:
        del _KINDS[cls]


def add_instances(choose: Callable[[type], Kind | None], kinds: list[Kind]) -> None:
    """Let a library's file claim types that are Python classes through and through."""
    _INSTANCE_CHOOSERS.append(choose)
    LIBRARY_KINDS.extend(kinds)
    for cls in [cls for cls, kind in _KINDS.items() if kind is _INSTANCE and choose(cls)]:
        del _KINDS[cls]


def load_libraries() -> None:
    """Know the types of the libraries that the program has imported by now."""
    if "numpy" in sys.modules and "arrays" not in _loaded and hasattr(sys.modules["numpy"], "random"):
        _loaded.add("arrays")
        from . import arrays  # noqa: F401  (registers its kinds)
    if "torch" in sys.modules and "tensors" not in _loaded and hasattr(sys.modules["torch"], "nn"):
        _loaded.add("tensors")
        from . import modules, tensors  # noqa: F401


_loaded: set[str] = set()
