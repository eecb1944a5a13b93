"""The atexit handlers of the program's own: what it registered in a loop that is skipped would be missing.

Libraries register theirs when they are first used (a progress bar's monitor, a compiler's statistics), often
inside a loop: they look after what the library holds, and a replay that skips the loop has none of that.
"""

from __future__ import annotations

import atexit
import functools
import sys
from collections.abc import Callable, Container
from typing import Any

from .patches import Patches

_own: list[Any] = []


def count() -> int:
    """How many handlers of the program's own are registered."""
    return len(_own)


class Handlers:
    """Watches what is registered.

    Args:
        files: the code file names of the project.
    """

    def __init__(self, files: Container[str]) -> None:
        self._files = files
        self._patches = Patches()

    def install(self) -> None:
        """Begin to count."""
        _own.clear()
        register, unregister = atexit.register, atexit.unregister

        def noting(func: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
            registered = register(func, *args, **kwargs)
            if sys._getframe(1).f_code.co_filename in self._files or self._is_own(func):
                _own.append(func)
            return registered

        def forgetting(func: Callable[..., Any], /) -> None:
            unregister(func)
            _own[:] = [own for own in _own if own != func]

        stand_ins: list[tuple[Any, Any]] = [(noting, register), (forgetting, unregister)]
        for stand_in, real in stand_ins:
            self._patches.put(atexit, real.__name__, functools.update_wrapper(stand_in, real))

    def remove(self) -> None:
        """Count no longer."""
        self._patches.undo()

    def _is_own(self, func: Any) -> bool:
        while isinstance(func, functools.partial):
            func = func.func
        func = getattr(func, "__func__", func)
        called = func if hasattr(func, "__code__") else vars(type(func)).get("__call__")
        code = getattr(called, "__code__", None)
        return code is not None and code.co_filename in self._files
