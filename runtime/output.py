"""What the program writes: captured where Python writes it, with the statement that wrote it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

# Modules whose output carries the line number of the statement that called them.
NUMBERING = frozenset({"logging", "warnings", "traceback", "logging.handlers"})


def locate(frame: Any, files: dict[str, str]) -> tuple[str, int, bool]:
    """(file id, line, whether a numbering module stands between) of the innermost project frame."""
    numbered = False
    while frame is not None:
        file = files.get(frame.f_code.co_filename)
        if file is not None:
            return file, frame.f_lineno, numbered
        numbered = numbered or frame.f_globals.get("__name__") in NUMBERING
        frame = frame.f_back
    return "", 0, numbered


class Tap:
    """Stands in the `write` of a text stream; the stream stays the same object.

    Args:
        stream: sys.stdout or sys.stderr.
        on_write: called with the text instead of the stream's own write; returns what write returns.
    """

    def __init__(self, stream: Any, on_write: Callable[[str], Any]) -> None:
        self.stream = stream
        self.original: Callable[[str], Any] = stream.write
        self.placed = True
        try:
            stream.write = on_write
        except AttributeError:
            self.placed = False  # a stream that takes no attributes is left alone

    def remove(self) -> None:
        if self.placed:
            try:
                del self.stream.write
            except AttributeError:
                self.stream.write = self.original


def streams() -> list[tuple[int, Any]]:
    """The standard text streams that are there, with their descriptor numbers."""
    return [(number, stream) for number, stream in ((1, sys.stdout), (2, sys.stderr)) if stream is not None]
