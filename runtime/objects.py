"""Kinds of objects with state of their own: instances, functions, classes, generators of random numbers."""

from __future__ import annotations

import collections
import enum
import functools
import io
import pickle
import random
import threading
import types
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import atoms
from .errors import CannotRestore
from .kind import (
    Kind,
    class_ref,
    follow_attribute,
    instance_dict,
    new_instance,
    read_attributes,
    unseen,
    write_attributes,
)
from .live import is_machinery
from .lost import Lost
from .roots import Namespace, Root, is_hidden

if TYPE_CHECKING:
    from .graph import Walk
    from .restore import Build

MISSING = object()


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
        allowed = build.allowed.get(obj.name, frozenset())
        for name in allowed.difference(values):
            obj.names.pop(name, None)
        for name in dict.fromkeys((*build.order.get(obj.name, ()), *values)):  # new names in their order
            if name in values and name in allowed:
                obj.names[name] = values[name]


class ModuleByHand(Kind):
    """A module that no import gives (types.ModuleType called, a file loaded under a name of its own)."""

    tag = "module"

    def read(self, obj: Any, walk: Walk) -> tuple[Any, ...]:
        names = [(name, value) for name, value in vars(obj).items() if not is_hidden(name)]
        return (self.tag, obj.__name__, [(name, walk.ref(value, ("a", name))) for name, value in names])

    def make(self, content: Any, build: Build) -> Any:
        return types.ModuleType(content[1])

    def write(self, obj: Any, content: Any, build: Build) -> None:
        values = {name: build.get(ref) for name, ref in content[2]}
        for name in [name for name in vars(obj) if not is_hidden(name) and name not in values]:
            delattr(obj, name)
        vars(obj).update(values)


class Instance(Kind):
    """Instances of Python classes: their attributes, no user code run."""

    tag = "object"

    def read(self, obj: Any, walk: Walk) -> tuple[Any, ...]:
        return (self.tag, class_ref(obj, walk), read_attributes(obj, walk))

    def make(self, content: Any, build: Build) -> Any:
        return new_instance(content[1], build)

    def write(self, obj: Any, content: Any, build: Build) -> None:
        write_attributes(obj, content[2], build)


class Condition(Instance):
    """threading.Condition, also within queues and events. Who waits on it is those threads' own business.

    They wait for locks that stand in a list of its; one taken off by a restore would never be let go.
    """

    tag = "condition"

    def read(self, obj: Any, walk: Walk) -> tuple[Any, ...]:
        names = instance_dict(obj) or {}
        if names.get("_waiters"):
            unseen(obj, walk, "a condition that a thread waits on")
        held = [(name, walk.ref(value, ("a", name))) for name, value in names.items() if name != "_waiters"]
        return (self.tag, class_ref(obj, walk), (held, []))

    def write(self, obj: Any, content: Any, build: Build) -> None:
        waiters = (instance_dict(obj) or {}).get("_waiters", collections.deque())
        write_attributes(obj, content[2], build)
        obj._waiters = waiters


class WorkQueue(Instance):
    """queue.Queue and its like: what is in it while other threads run is theirs to take at any moment.

    No two runs have the same in it then, so that a comparison would call right ones wrong.
    """

    def read(self, obj: Any, walk: Walk) -> tuple[Any, ...]:
        if threading.active_count() == 1:
            return super().read(obj, walk)
        unseen(obj, walk, "a queue that threads may work at")
        return (self.tag, class_ref(obj, walk), ([], []))

    def write(self, obj: Any, content: Any, build: Build) -> None:
        if content[2] != ([], []):
            super().write(obj, content, build)


class Thread(Instance):
    """threading.Thread: what it runs and what its class adds; not how the system numbers, names and locks it.

    One that was started in the loop cannot be made again.
    """

    tag = "thread"
    _RUNS = frozenset({"_target", "_args", "_kwargs"})  # a thread lets go of them when it ends
    _OWN = frozenset(vars(threading.Thread(name="florc")))

    def read(self, obj: Any, walk: Walk) -> tuple[Any, ...]:
        if walk.current >= walk.first_new:
            walk.lost.append((walk.current, "a thread that was made in the loop"))
        names = (instance_dict(obj) or {}).items()
        held = [
            (name, walk.ref(value, ("a", name)))
            for name, value in names
            if name in self._RUNS or name not in self._OWN
        ]
        return (self.tag, class_ref(obj, walk), (held, []))

    def make(self, content: Any, build: Build) -> Any:
        return Lost("a thread that was made in the loop")

    def write(self, obj: Any, content: Any, build: Build) -> None:
        if isinstance(obj, Lost):
            return
        names = instance_dict(obj) or {}
        for name in [name for name in names if name not in self._OWN]:
            del names[name]
        names.update((name, build.get(ref)) for name, ref in content[2][0] if name not in self._OWN)


class ErrorInstance(Kind):
    """Exceptions: their arguments, attributes, what they came of, and by which functions they were raised.

    A traceback cannot be made: an exception that was raised in a loop is lost.
    """

    tag = "exception"

    def read(self, obj: Any, walk: Walk) -> tuple[Any, ...]:
        raised = _functions(obj.__traceback__)
        if raised and walk.current >= walk.first_new:
            walk.lost.append((walk.current, f"a {type(obj).__qualname__} that was raised in the loop"))
        return (
            self.tag,
            class_ref(obj, walk),
            walk.ref(obj.args, ("args",)),
            read_attributes(obj, walk),
            walk.ref(obj.__cause__, ("__cause__",)),
            walk.ref(obj.__context__, ("__context__",)),
            obj.__suppress_context__,
            raised,
        )

    def follow(self, holder: Any, edge: Any) -> Any:
        if edge[0] in ("args", "__cause__", "__context__"):
            return getattr(holder, edge[0])
        return follow_attribute(holder, edge)

    def make(self, content: Any, build: Build) -> Any:
        if content[7]:
            return Lost("an exception that was raised in the loop")
        cls = build.get(content[1])
        build.ran_code = True
        return cls.__new__(cls, *build.get(content[2]))

    def write(self, obj: Any, content: Any, build: Build) -> None:
        if isinstance(obj, Lost):
            return
        if _functions(obj.__traceback__) != content[7]:
            raise CannotRestore("an exception was raised again")
        obj.args = build.get(content[2])
        write_attributes(obj, content[3], build)
        obj.__cause__, obj.__context__ = build.get(content[4]), build.get(content[5])
        obj.__suppress_context__ = content[6]


def _functions(traceback: types.TracebackType | None) -> tuple[str, ...]:
    """The functions that a traceback goes through; their lines may have moved since the record.

    Without florc's own, which stand in for `open` and the like, and are others on replay.
    """
    names = []
    while traceback is not None:
        frame = traceback.tb_frame
        if not str(frame.f_globals.get("__name__")).startswith("florc."):
            names.append(frame.f_code.co_name)
        traceback = traceback.tb_next
    return tuple(names)


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


# code -> the free variables it had in the recorded source, None if it is not from there; set by a replay
recorded_free: Callable[[types.CodeType], frozenset[str] | None] | None = None


class Function(Kind):
    """Functions with state: closure cells, defaults, attributes. Of their code only the name is noted."""

    tag = "function"

    def read(self, obj: types.FunctionType, walk: Walk) -> tuple[Any, ...]:
        if is_machinery(obj.__module__ or ""):
            return (self.tag, obj.__module__, obj.__qualname__)
        code = obj.__code__
        known = recorded_free(code) if recorded_free is not None and code.co_freevars else None
        cells = [
            (name, walk.ref(cell, ("cell", name)))
            for name, cell in zip(code.co_freevars, obj.__closure__ or (), strict=True)
            if known is None or name in known
        ]
        if walk.current >= walk.first_new:
            walk.lost.append((walk.current, f"the function `{obj.__qualname__}` was made in the loop"))
        return (
            self.tag,
            obj.__module__ or "",
            obj.__qualname__,
            cells,
            walk.ref(obj.__defaults__, ("a", "__defaults__")),
            walk.ref(obj.__kwdefaults__, ("a", "__kwdefaults__")),
            read_attributes(obj, walk),
            code.co_name,
        )

    def follow(self, holder: Any, edge: Any) -> Any:
        if edge[0] == "cell":
            return dict(zip(holder.__code__.co_freevars, holder.__closure__, strict=True))[edge[1]]
        return getattr(holder, edge[1])

    def make(self, content: Any, build: Build) -> Any:
        return Lost(f"the function `{content[2]}`, which was made in the loop")

    def write(self, obj: Any, content: Any, build: Build) -> None:
        if isinstance(obj, Lost) or len(content) == 3:
            return
        if obj.__code__.co_name != content[7]:
            raise CannotRestore(f"the code of {content[2]} was replaced")
        obj.__defaults__ = build.get(content[4])
        obj.__kwdefaults__ = build.get(content[5])
        write_attributes(obj, content[6], build)


class Method(Kind):
    """Bound methods, of Python classes and of built-in ones."""

    tag = "method"

    def read(self, obj: Any, walk: Walk) -> tuple[Any, ...]:
        if isinstance(obj, types.MethodType):
            return (
                self.tag,
                walk.ref(obj.__func__, ("a", "__func__")),
                walk.ref(obj.__self__, ("a", "__self__")),
            )
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
        return (
            self.tag,
            walk.ref(obj.func, ("a", "func")),
            walk.ref(obj.args, ("a", "args")),
            walk.ref(obj.keywords, ("a", "keywords")),
        )

    def follow(self, holder: Any, edge: Any) -> Any:
        return getattr(holder, edge[1])

    def make(self, content: Any, build: Build) -> Any:
        return functools.partial(build.get(content[1]), *build.get(content[2]), **build.get(content[3]))

    def write(self, obj: Any, content: Any, build: Build) -> None:
        """Immutable but for its keywords, which are a node of their own."""


class ProjectClass(Kind):
    """A class of the project: its data attributes are state, its functions are code."""

    tag = "class"
    _CODE = (
        types.FunctionType,
        staticmethod,
        classmethod,
        property,
        types.GetSetDescriptorType,
        types.MemberDescriptorType,
        functools.cached_property,
        type(vars(collections.namedtuple("_", "field"))["field"]),
    )

    def read(self, obj: type, walk: Walk) -> tuple[Any, ...]:
        data = [(name, walk.ref(value, ("raw", name))) for name, value in self._data(obj)]
        for name, value in vars(obj).items():
            function = _function_of(value)
            if function is not None and not name.startswith("__"):
                walk.ref(function, ("a", name))
        for i, base in enumerate(obj.__bases__):
            walk.ref(base, ("base", i))
        return (self.tag, obj.__module__, obj.__qualname__, data)

    def _data(self, obj: type) -> list[tuple[str, Any]]:
        """What is state among a class's attributes: data, and methods put there by an assignment."""
        found = []
        for name, value in vars(obj).items():
            if name.startswith("__") or name == "_abc_impl" or _is_enum_machinery(obj, name):
                continue
            function = _function_of(value)
            if function is not None:
                if function.__qualname__ != f"{obj.__qualname__}.{name}":
                    found.append((name, value))
            elif not isinstance(value, self._CODE):
                found.append((name, value))
        return found

    def follow(self, holder: Any, edge: Any) -> Any:
        if edge[0] == "base":
            return holder.__bases__[edge[1]]
        value = vars(holder)[edge[1]]
        return value if edge[0] == "raw" else _function_of(value)

    def make(self, content: Any, build: Build) -> Any:
        found = atoms.lookup(content[1], content[2], load=True)
        return found if found is not None else Lost(f"the class `{content[2]}`, which was made in the loop")

    def write(self, obj: Any, content: Any, build: Build) -> None:
        if isinstance(obj, Lost):
            return
        values = {name: build.get(ref) for name, ref in content[3]}
        now = dict(self._data(obj))
        for name in {*now, *values}:
            value = now.get(name, vars(obj).get(name))
            if _function_of(value) is not None and (name in now) != (name in values):
                raise CannotRestore(f"the method {name} of {obj.__qualname__} was replaced")
            if name not in values:
                type.__delattr__(obj, name)
            elif vars(obj).get(name, MISSING) is not values[name]:
                type.__setattr__(obj, name, values[name])


def _is_enum_machinery(cls: type, name: str) -> bool:
    return issubclass(cls, enum.Enum) and name.startswith("_") and name.endswith("_")


def _function_of(value: Any) -> types.FunctionType | None:
    """The function behind a method, a property, a static or class method."""
    function = getattr(value, "__func__", getattr(value, "fget", value))
    return function if type(function) is types.FunctionType else None



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
        build.ran_code = True
        return _Unpickler(content[2], build).load()

    def write(self, obj: Any, content: Any, build: Build) -> None:
        if content[2] is None or build.is_new(obj):
            return
        build.ran_code = True
        reduced = _Unpickler(content[2], build).load().__reduce_ex__(4)
        state = reduced[2] if len(reduced) > 2 else None
        if state is not None and hasattr(obj, "__setstate__"):
            obj.__setstate__(state)
        elif isinstance(state, dict) and instance_dict(obj) is not None:
            obj.__dict__.clear()
            obj.__dict__.update(state)
        else:
            raise CannotRestore(f"a {content[1]} cannot be put back in place")
