"""The clock as the recorded run read it.

Programs keep clock readings in their state (`start = time.time()`) and print them, and so do
libraries for them (an environment times its episodes). The main thread's readings are journalled,
with who took them, and a replay gives the recorded ones again, so that neither state nor output
differs by them. Readings by probes are real, and told: what the run would have read nobody knows.
"""

from __future__ import annotations

import ctypes
import datetime
import functools
import gc
import re
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


# functions that read the clock in C when they are not given a time: where that argument stands
FORMATTERS = {"localtime": 0, "gmtime": 0, "ctime": 0, "asctime": 0, "strftime": 1}
CLOCKS = frozenset({*NAMES, *FORMATTERS, "now"})
_MICROSECONDS = 10**6


class Clocks:
    """Stands in the functions of `time`, and in datetime.now.

    Args:
        read: gets the function's name, its real value and the reader's frame; returns what the reader gets.
    """

    def __init__(self, read: Callable[[str, Any, Any], Any]) -> None:
        self._read = read
        self._thread = threading.get_ident()
        self._originals = {name: getattr(time, name) for name in (*NAMES, *FORMATTERS)}
        self._now: Any = None

    def install(self) -> None:
        for name in NAMES:
            setattr(time, name, self._stand_in(name, self._originals[name]))
        for name, place in FORMATTERS.items():
            setattr(time, name, self._formatter(name, place, self._originals[name]))
        self._now = _set_now(classmethod(self._dated()))

    def remove(self) -> None:
        for name, original in self._originals.items():
            setattr(time, name, original)
        if self._now is not None:
            _set_now(self._now)
            self._now = None

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


    def _formatter(self, name: str, place: int, original: Callable[..., Any]) -> Callable[..., Any]:
        read, thread, ident, frame_at = self._read, self._thread, threading.get_ident, sys._getframe
        real, local = self._originals["time"], self._originals["localtime"]

        @functools.wraps(original)
        def formatted(*args: Any) -> Any:
            if len(args) != place or ident() != thread:
                return original(*args)
            now = read(name, real(), frame_at(1))
            return original(*args, local(now) if name in ("asctime", "strftime") else now)

        return formatted

    def _dated(self) -> Callable[..., Any]:
        """What datetime.now is meanwhile."""
        read, thread, ident, frame_at = self._read, self._thread, threading.get_ident, sys._getframe
        nanoseconds = self._originals["time_ns"]

        def now(cls: Any, tz: Any = None) -> Any:
            here = nanoseconds() // 1000
            if ident() == thread:
                here = read("now", here, frame_at(1))
            seconds, rest = divmod(here, _MICROSECONDS)
            return cls.fromtimestamp(seconds, tz).replace(microsecond=rest)

        now.__qualname__ = "datetime.now"
        now.__doc__ = datetime.datetime.now.__doc__
        return now


def _set_now(method: Any) -> Any:
    """Put a method where datetime.now stands, and return what stood there.

    The class is C's and takes no assignment; its dict does.
    """
    names = gc.get_referents(vars(datetime.datetime))[0]
    before = names["now"]
    names["now"] = method
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(datetime.datetime))
    return before


# dates, times of day, spans of time, days and months by name, as str(), strftime and log records write them
_TIMES = re.compile(
    r"\d{4}-\d\d?-\d\d?|\d\d?[/.]\d\d?[/.]\d\d(\d\d)?|\d+:\d\d(:\d\d([.,]\d+)?)?"
    r"|\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*\b"
    r"|\b(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\b( +\d\d?)?"
)


def differ_in_times(recorded: str, text: str) -> bool:
    """True if two texts are the same but for dates and times in them."""
    return _TIMES.sub("T", recorded) == _TIMES.sub("T", text)


def reader(frame: Any, files: dict[str, str]) -> str:
    """Who reads the clock: a project file's id, else a module's name; "" for florc itself."""
    file = files.get(frame.f_code.co_filename)
    if file is not None:
        return file
    name = str(frame.f_globals.get("__name__"))
    return "" if name == "florc" or name.startswith("florc.") else name
