"""Names of library modules and classes that a program keeps state in: what the audit has found.

A key names a holder: ``~torch.nn`` a module, ``~tqdm.std:tqdm`` a class. No project module is called so.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, MutableMapping
from typing import Any

from .errors import CannotRestore
from .roots import Namespace

MARK = "~"


def module_key(module: str) -> str:
    return MARK + module


def class_key(cls: type) -> str:
    return f"{MARK}{cls.__module__}:{cls.__qualname__}"


class WatchedNames(MutableMapping[str, Any]):
    """Some names of a module or class, as a mapping that writes through.

    Args:
        holder: the module or class.
        shown: the names that iteration gives; others can be asked for all the same.
    """

    def __init__(self, holder: Any, shown: set[str]) -> None:
        self._holder = holder
        self.shown = shown

    def __getitem__(self, name: str) -> Any:
        return vars(self._holder)[name]

    def __setitem__(self, name: str, value: Any) -> None:
        if vars(self._holder).get(name, self) is not value:
            setattr(self._holder, name, value)

    def __delitem__(self, name: str) -> None:
        delattr(self._holder, name)

    def __contains__(self, name: object) -> bool:
        return name in vars(self._holder)

    def __iter__(self) -> Iterator[str]:
        return iter([name for name in self.shown if name in self])

    def __len__(self) -> int:
        return len(list(iter(self)))


def watch(key: str, names: set[str]) -> Namespace:
    """The namespace of a watched holder, imported if need be; CannotRestore if it is not there."""
    module, _, qualified = key.removeprefix(MARK).partition(":")
    try:
        holder = importlib.import_module(module)
        for part in qualified.split(".") if qualified else ():
            holder = getattr(holder, part)
    except Exception as error:
        raise CannotRestore(f"{key.removeprefix(MARK)} cannot be had: {error}") from None
    return Namespace(key, WatchedNames(holder, names))
