"""The clock as the recorded run read it.

Programs keep clock readings in their state (`start = time.time()`) and print them, and so do
libraries for them (an environment times its episodes). The main thread's readings are journalled,
with who took them, and a replay gives the recorded ones again, so that neither state nor output
differs by them. Readings by probes are real.
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
        read: gets the function's name, its real value and the reader's frame; returns what the reader gets.
    """

    def __init__(self, read: Callable[[str, Any, Any], Any]) -> None:
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
        read, thread, ident, frame_at = self._read, self._thread, threading.get_ident, sys._getframe

        def clock() -> Any:
            value = original()
            return read(name, value, frame_at(1)) if ident() == thread else value

        clock.__name__ = clock.__qualname__ = name
        clock.__module__ = "time"
        clock.__doc__ = original.__doc__
        clock.__wrapped__ = original  # type: ignore[attr-defined]
        return clock


def reader(frame: Any, files: dict[str, str]) -> str:
    """Who reads the clock: a project file's id, else a module's name; "" for florc itself."""
    file = files.get(frame.f_code.co_filename)
    if file is not None:
        return file
    name = str(frame.f_globals.get("__name__"))
    return "" if name == "florc" or name.startswith("florc.") else name
