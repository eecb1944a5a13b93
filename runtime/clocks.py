"""The clock as the recorded run read it.

Programs keep clock readings in their state (`start = time.time()`) and print them. Readings taken
by project code are journalled, and a replay gives the recorded ones again, so that neither state
nor output differs by them. Readings by libraries and by probes are real.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from typing import Any

NAMES = (
    "time",
    "perf_counter",
    "monotonic",
    "process_time",
    "time_ns",
    "perf_counter_ns",
    "monotonic_ns",
    "process_time_ns",
)


class Clocks:
    """Stands in the functions of `time`.

    Args:
        files: code file names of the project.
        read: gets the real function's name and value; returns what the program gets.
    """

    def __init__(self, files: dict[str, str], read: Callable[[str, Any, Any], Any]) -> None:
        self._files = files
        self._read = read
        self._thread = threading.get_ident()
        self._originals = {name: getattr(time, name) for name in NAMES}

    def install(self) -> None:
        for name in NAMES:
            setattr(time, name, self._stand_in(name, self._originals[name]))

    def remove(self) -> None:
        for name, original in self._originals.items():
            setattr(time, name, original)

    def _stand_in(self, name: str, original: Callable[[], Any]) -> Callable[[], Any]:
        files, read, thread, ident, frame_at = (
            self._files,
            self._read,
            self._thread,
            threading.get_ident,
            sys._getframe,
        )

        def clock() -> Any:
            value = original()
            frame = frame_at(1)
            if frame.f_code.co_filename in files and ident() == thread:
                return read(name, value, frame)
            return value

        clock.__name__ = clock.__qualname__ = name
        clock.__module__ = "time"
        clock.__doc__ = original.__doc__
        clock.__wrapped__ = original  # type: ignore[attr-defined]
        return clock
