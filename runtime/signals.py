"""Signals wait while florc is at work.

The handler of a signal runs between any two steps of Python code. Where these are florc's own (a line
half written, a walk half done), an exception from the handler would tear that work, or be taken for a
fault of florc's and be swallowed: a time limit that the program sets itself, a lost worker that torch
tells of, Ctrl-C. So the program's handlers have a stand-in, which lets them wait until florc is through.
`signal.getsignal` gives the handlers that the program has set.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from typing import Any

from .patches import Patches


class Calm:
    """Within `with calm:` no handler runs; those that are due run at the end of the outermost one.

    Handlers run in the main thread alone: in others it means nothing.
    """

    __slots__ = ("depth", "thread", "waiting")

    def __init__(self) -> None:
        self.thread = threading.main_thread().ident
        self.depth = 0
        self.waiting: list[tuple[Any, int, Any]] = []

    def __enter__(self) -> None:
        if threading.get_ident() == self.thread:
            self.depth += 1

    def __exit__(self, *_: object) -> None:
        if threading.get_ident() != self.thread:
            return
        self.depth -= 1
        if self.waiting and not self.depth:
            self.deliver()

    def let_in(self, call: Callable[[str], Any], text: str) -> Any:
        """Write a text, and let handlers run meanwhile: a full pipe may keep that waiting for ever."""
        if threading.get_ident() != self.thread:
            return call(text)
        before, self.depth = self.depth, 0
        try:
            return call(text)
        finally:
            self.depth = before

    def deliver(self) -> None:
        """Run the handlers that have waited, in their order; if one raises, the rest wait on."""
        while self.waiting:
            handler, number, frame = self.waiting.pop(0)
            handler(number, frame)


calm = Calm()


class Waits:
    """Stands in for a handler."""

    __slots__ = ("handler",)

    def __init__(self, handler: Any) -> None:
        self.handler = handler

    def __call__(self, number: int, frame: Any) -> None:
        if calm.depth:
            calm.waiting.append((self.handler, number, _of_the_program(frame)))
        else:
            self.handler(number, frame)


def _of_the_program(frame: Any) -> Any:
    """The innermost frame that is not florc's: where the program stands."""
    found = frame
    while found is not None and str(found.f_globals.get("__name__")).startswith("florc."):
        found = found.f_back
    return found or frame


class Signals:
    """Puts the stand-ins in place. Calls: install(), uninstall().

    at_once: handlers that do not wait. Who interrupts a replay wants it to end, whatever it is at.
    """

    def __init__(self, at_once: tuple[Any, ...] = ()) -> None:
        self._at_once = at_once
        self._patches = Patches()
        self._signal, self._getsignal = signal.signal, signal.getsignal

    def install(self) -> None:
        """Let the handlers wait that are there, and those that the program will set."""
        if threading.current_thread() is not threading.main_thread():
            return  # no other thread may set handlers, or is disturbed by them
        real_signal, real_getsignal = self._signal, self._getsignal

        def set_handler(signalnum: Any, handler: Any) -> Any:
            before = real_signal(signalnum, self._waiting(handler))
            return before.handler if isinstance(before, Waits) else before

        def get_handler(signalnum: Any) -> Any:
            found = real_getsignal(signalnum)
            return found.handler if isinstance(found, Waits) else found

        self._stand_in(set_handler, real_signal)
        self._stand_in(get_handler, real_getsignal)
        for number in signal.valid_signals():
            found = real_getsignal(number)
            if self._waiting(found) is not found:
                real_signal(number, self._waiting(found))

    def _waiting(self, handler: Any) -> Any:
        waits = callable(handler) and not any(handler is one for one in self._at_once)
        return Waits(handler) if waits else handler

    def _stand_in(self, stand_in: Any, real: Any) -> None:
        stand_in.__name__ = stand_in.__qualname__ = real.__name__
        stand_in.__module__ = "signal"
        stand_in.__doc__ = real.__doc__
        stand_in.__wrapped__ = real
        self._patches.put(signal, real.__name__, stand_in)

    def uninstall(self) -> None:
        """Put the program's handlers themselves in place."""
        self._patches.undo()
        if threading.current_thread() is not threading.main_thread():
            return
        for number in signal.valid_signals():
            found = self._getsignal(number)
            if isinstance(found, Waits):
                self._signal(number, found.handler)
