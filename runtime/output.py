"""What the program writes: captured where Python writes it, with the statement that wrote it."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from typing import Any

# Modules whose output carries the line number of the statement that called them.
NUMBERING = frozenset({"logging", "warnings", "traceback", "logging.handlers"})


STAND_IN = 7_071_067_811  # a line number that no file has


def log_parts(frame: Any, text: str, line: int) -> list[str] | None:
    """The text of a log record parted at its line numbers: text, number, text, number, ..., text.

    Formats the record a second time, with another line number, and looks where the text differs. None
    where that cannot be told.
    """
    while frame is not None and not (frame.f_code.co_name == "emit" and _is_logging(frame)):
        frame = frame.f_back
    if frame is None:
        return None
    names = frame.f_locals
    record, handler = copy.copy(names.get("record")), names.get("self")
    try:
        if record.lineno != line:
            return None
        record.lineno = STAND_IN
        template = str(handler.format(record)) + str(getattr(handler, "terminator", ""))
    except Exception:
        return None  # a formatter of the user's, with ideas of its own
    return _parted(text, template.split(str(STAND_IN)), str(line))


def _parted(text: str, around: list[str], number: str) -> list[str] | None:
    """The text as [around[0], number as printed (with its padding), around[1], ...]."""
    found, place = [around[0]], len(around[0])
    if not text.startswith(around[0]):
        return None
    for after in around[1:]:
        end = text.index(number, place) + len(number) if number in text[place:] else -1
        while end >= 0 and end < len(text) and text[end] == " " and not text.startswith(after, end):
            end += 1  # padded on the right
        if end < 0 or text[place:end].strip(" 0") != number.strip(" 0") or not text.startswith(after, end):
            return None
        found += [text[place:end], after]
        place = end + len(after)
    return found if place == len(text) else None


def renumbered(parts: list[str], number: int) -> str:
    """The parted text with another line number, padded as the recorded one was."""
    found = parts[0]
    for old, after in zip(parts[1::2], parts[2::2], strict=True):
        fill = "0" if old.startswith("0") else " "
        new = str(number).ljust(len(old)) if old.endswith(" ") else str(number).rjust(len(old), fill)
        found += new + after
    return found


def _is_logging(frame: Any) -> bool:
    return str(frame.f_globals.get("__name__")).partition(".")[0] == "logging"


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
