"""A signal that ends this process first ends what it has started."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

ENDING = (signal.SIGTERM, signal.SIGHUP)  # Ctrl-C raises KeyboardInterrupt by itself


class _Stopped(BaseException):
    """One of the signals came."""

    def __init__(self, number: int) -> None:
        self.number = number


@contextmanager
def orderly() -> Iterator[None]:
    """Unwind the block when such a signal comes, then end by the signal, as if nobody had looked at it."""

    def unwind(number: int, _: FrameType | None) -> None:
        for one in ENDING:  # the tidying up is short, and not to be stopped in the middle
            signal.signal(one, signal.SIG_IGN)
        raise _Stopped(number)

    before: dict[signal.Signals, Any] = {
        one: signal.getsignal(one) for one in ENDING if signal.getsignal(one) is not signal.SIG_IGN
    }
    for one in before:
        signal.signal(one, unwind)
    try:
        yield
    except _Stopped as stopped:
        signal.signal(stopped.number, signal.SIG_DFL)
        os.kill(os.getpid(), stopped.number)
        raise SystemExit(128 + stopped.number) from None  # where the signal is blocked
    finally:
        for one, handler in before.items():
            signal.signal(one, handler if handler is not None else signal.SIG_DFL)
