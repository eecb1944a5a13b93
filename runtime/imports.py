"""Being told when the program imports a library, without importing it for it."""

from __future__ import annotations

import importlib.abc
import importlib.util
import sys
from collections.abc import Callable
from typing import Any

from .collector import resting


class _Loader(importlib.abc.Loader):
    """The library's own loader, and a call after it has run the module."""

    def __init__(self, inner: Any, then: Callable[[Any], None]) -> None:
        self._inner = inner
        self._then = then

    def create_module(self, spec: Any) -> Any:
        return self._inner.create_module(spec)

    def exec_module(self, module: Any) -> None:
        spec = module.__spec__
        module.__loader__ = spec.loader = self._inner
        with resting():
            self._inner.exec_module(module)
            self._then(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class Watcher(importlib.abc.MetaPathFinder):
    """Calls back once for each of the named modules, after its import (at once if it is there)."""

    def __init__(self, calls: dict[str, Callable[[Any], None]]) -> None:
        self._calls = dict(calls)
        self._finding = False
        for name in list(self._calls):
            if name in sys.modules:
                self._calls.pop(name)(sys.modules[name])
        sys.meta_path.insert(0, self)

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        if self._finding or fullname not in self._calls:
            return None
        self._finding = True
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._finding = False
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self._calls.pop(fullname))
        return spec

    def remove(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)
