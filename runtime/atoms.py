"""Atoms: values written into a checkpoint by value or by name, never as nodes of their own.

An encoded reference is one of
    a plain value      None, bool, int, float, complex, str, bytes
    (number,)          a node of the object graph
    (tag, ...)         an atom: a tuple whose first element is a string
Everything is made of what ``marshal`` (version 2) writes deterministically.
"""

from __future__ import annotations

import enum
import functools
import importlib
import pathlib
import pickle
import re
import sys
import types
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

PLAIN = frozenset({type(None), bool, int, float, complex, str, bytes})

# Immutable values that pickle to few bytes; restored by unpickling.
_PICKLED_TYPES = frozenset(
    {
        "datetime.datetime",
        "datetime.date",
        "datetime.time",
        "datetime.timedelta",
        "datetime.timezone",
        "decimal.Decimal",
        "fractions.Fraction",
        "uuid.UUID",
        "zoneinfo.ZoneInfo",
        "torch.dtype",
        "torch.device",
        "torch.layout",
        "torch.memory_format",
        "torch.Size",
        "torch.finfo",
        "torch.iinfo",
        "torch.qscheme",
    }
)
_CALLABLES = (
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.ClassMethodDescriptorType,
    types.MethodWrapperType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
)


def named(obj: Any) -> tuple[str, str] | None:
    """The (module, qualified name) by which obj can be found again, or None."""
    module = getattr(obj, "__module__", None)
    name = getattr(obj, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str) or "<" in name:
        return None
    return (module, name) if lookup(module, name) is obj else None


def lookup(module: str, name: str, load: bool = False) -> Any:
    """The object called `name` in `module`; None where there is none."""
    holder: Any = sys.modules.get(module)
    if holder is None:
        if not load:
            return None
        holder = importlib.import_module(module)
    for part in name.split("."):
        holder = getattr(holder, part, None)
    return holder


def _builtin(obj: Any) -> tuple[Any, ...] | None:
    owner = getattr(obj, "__self__", None)
    if owner is None or isinstance(owner, types.ModuleType):
        module = getattr(obj, "__module__", None) or getattr(owner, "__name__", None)
        qualified = getattr(obj, "__qualname__", "")
        if isinstance(module, str) and lookup(module, qualified) is obj:
            return ("g", module, qualified)
    objclass = getattr(obj, "__objclass__", None)
    name = str(getattr(obj, "__name__", ""))
    if objclass is not None and getattr(objclass, name, None) is obj:
        found = named(objclass)
        if found:
            return ("g", found[0], f"{found[1]}.{name}")
    return None


def _is_numpy_scalar(kind: type) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and (issubclass(kind, numpy.generic) or issubclass(kind, numpy.dtype))


def atom(obj: Any, kind: type, is_project: Callable[[str], bool]) -> tuple[Any, ...] | None:
    """Encode obj as an atom, or None if it must be a node.

    Classes and functions of the project are nodes, because they carry state (attributes,
    closures, defaults); those of libraries are names.
    """
    if kind in _never:
        return None
    if issubclass(kind, types.ModuleType):
        return ("m", obj.__name__) if _is_imported(obj, is_project) else None
    if issubclass(kind, type):
        if is_project(obj.__module__):
            return None
        found = named(obj)
        return ("g", *found) if found else None
    if kind is types.FunctionType:
        original = stood_in_for(obj)
        return _function(obj) if original is None else ("g", original.__module__, original.__qualname__)
    if kind in _CALLABLES:
        return _builtin(obj)
    return _value(obj, kind)


def _is_imported(obj: Any, is_project: Callable[[str], bool]) -> bool:
    """True for modules that an import gives; one made by hand is an object like any other."""
    name = str(obj.__name__)
    found: Any = sys.modules.get(name)
    if found is not obj:
        return False
    plain = type(found) is types.ModuleType and found.__spec__ is None
    made_by_hand = plain and not hasattr(found, "__file__")
    return not made_by_hand or name == "__main__" or is_project(name)


def stood_in_for(obj: types.FunctionType) -> Any:
    """What a stand-in of florc's own (open, time.time...) stands for; None for all other functions."""
    original = obj.__dict__.get("__wrapped__")
    return original if str(obj.__globals__.get("__name__")).startswith("florc.runtime.") else None


def _function(obj: types.FunctionType) -> tuple[Any, ...] | None:
    plain = not obj.__closure__ and not obj.__dict__ and not obj.__kwdefaults__
    plain = plain and obj.__code__.co_name == obj.__name__  # not another function's code
    if plain and all(type(value) in PLAIN for value in obj.__defaults__ or ()):
        found = named(obj)
        return ("g", *found) if found else None
    return None


def _value(obj: Any, kind: type) -> tuple[Any, ...] | None:
    if isinstance(obj, enum.Flag):
        found = named(kind)
        return ("E", *found, obj.value) if found else None
    if isinstance(obj, enum.Enum):
        found = named(kind)
        return ("e", *found, obj.name) if found and obj.name is not None else None
    if kind is range or kind is slice:
        parts = (obj.start, obj.stop, obj.step)
        return ("s", kind.__name__, *parts) if all(type(part) in PLAIN for part in parts) else None
    if obj is Ellipsis or obj is NotImplemented:
        return ("g", "builtins", repr(obj))
    if isinstance(obj, pathlib.PurePath) and kind.__module__.startswith("pathlib"):
        return ("P", kind.__name__, str(obj))
    if kind is re.Pattern:
        return ("re", obj.pattern, obj.flags)
    if f"{kind.__module__}.{kind.__qualname__}" in _PICKLED_TYPES or _is_numpy_scalar(kind):
        return ("p", pickle.dumps(obj, 4))
    if not issubclass(kind, (enum.Enum, range, slice)):
        _never.add(kind)
    return None


_never: set[type] = set()  # classes whose objects are always nodes
_EMPTY: dict[str, Callable[[], Any]] = {"dict": dict, "OrderedDict": OrderedDict, "set": set}


@functools.lru_cache(maxsize=1024)
def _unpickled(data: bytes) -> Any:
    return pickle.loads(data)  # written by this user's own record


def resolve(ref: tuple[Any, ...]) -> Any:
    """The live value of an atom."""
    tag = ref[0]
    if tag == "g":
        return lookup(ref[1], ref[2], load=True)
    if tag == "m":
        return importlib.import_module(ref[1])
    if tag == "G":
        return sys.modules[ref[1]].__dict__
    if tag == "e":
        return lookup(ref[1], ref[2], load=True)[ref[3]]
    if tag == "E":
        return lookup(ref[1], ref[2], load=True)(ref[3])
    if tag == "s":
        return range(*ref[2:]) if ref[1] == "range" else slice(*ref[2:])
    if tag == "P":
        return getattr(pathlib, ref[1])(ref[2])
    if tag == "re":
        return re.compile(ref[1], ref[2])
    if tag == "0":
        return _EMPTY[ref[1]]()
    if tag == "p":
        return _unpickled(ref[1])
    raise ValueError(f"unknown atom {tag!r}")
