"""Hear about file operations through Python's audit events.

An audit hook sees the arguments before the operation happens and leaves no frame in tracebacks or under a
debugger; it also hears of calls through references taken long before (`from os import replace`). Python
cannot remove a hook, so there is one a process, which does nothing while nobody listens.
"""
from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

Handler = Callable[[tuple[Any, ...]], None]

_handlers: dict[str, Handler] = {}
_hooked = False


def _hook(event: str, args: tuple[Any, ...]) -> None:
    # called for every audit event of the process, id() among them: nothing but one look-up here
    if event in _handlers:
        _handlers[event](args)


def listen(handlers: Mapping[str, Handler]) -> None:
    """Call handlers[event](args) before each such operation. A later listener takes over."""
    global _hooked
    _handlers.clear()
    _handlers.update(handlers)
    if not _hooked:
        _hooked = True
        sys.addaudithook(_hook)


def also(handlers: Mapping[str, Handler]) -> None:
    """Hear of further operations, beside the present listener's."""
    _handlers.update(handlers)


def hears(handlers: Mapping[str, Handler]) -> bool:
    """Whether these handlers are the ones that listen."""
    return bool(handlers) and all(_handlers.get(event) == handler for event, handler in handlers.items())


def silence(handlers: Mapping[str, Handler]) -> None:
    """Stop calling these handlers."""
    for event, handler in handlers.items():
        if _handlers.get(event) == handler:
            del _handlers[event]
