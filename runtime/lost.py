"""What stands where an object was that no checkpoint can bring back."""

from __future__ import annotations

from typing import Any, NoReturn

from .errors import NeedsExecution


class Lost:
    """A stand-in for a value that could not be saved.

    Programs mostly overwrite such values before they look at them (the last batch's iterator, a
    closure for the optimizer). One that does look gets `NeedsExecution`, and the replay starts
    again, executing what it had skipped. `_content` is what the record had there, `_held` what it led to.
    """

    __slots__ = ("_reason", "_content", "_held", "__weakref__")

    def __init__(self, reason: str, content: tuple[Any, ...] = ("lost",)) -> None:
        object.__setattr__(self, "_reason", reason)
        object.__setattr__(self, "_content", content)
        object.__setattr__(self, "_held", ())

    def __getattribute__(self, name: str) -> Any:
        if name in ("__class__", "__reduce_ex__", "__reduce__"):
            return object.__getattribute__(self, name)
        raise NeedsExecution(object.__getattribute__(self, "_reason"))


def _touched(self: Lost, *_: Any, **__: Any) -> NoReturn:
    raise NeedsExecution(object.__getattribute__(self, "_reason"))


for _name in (
    "call",
    "iter",
    "next",
    "len",
    "bool",
    "getitem",
    "setitem",
    "contains",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "add",
    "radd",
    "sub",
    "mul",
    "neg",
    "float",
    "int",
    "str",
    "repr",
    "format",
    "enter",
    "exit",
    "setattr",
    "hash",
):
    setattr(Lost, f"__{_name}__", _touched)
