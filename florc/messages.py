"""florc's own words: single lines on standard error, never on standard output."""

from __future__ import annotations

import sys


def say(text: str) -> None:
    """Write one line of florc's own, to the stream the process began with."""
    stream = sys.__stderr__
    if stream is None:
        return
    line = " ".join(text.split("\n"))
    try:
        # past the stand-in that a recording puts on the stream itself
        type(stream).write(stream, f"florc: {line}\n")
        stream.flush()
    except (OSError, ValueError):
        pass  # a closed stderr must not change how the program ends


def draw(text: str) -> None:
    """Write to the stream the process began with, as it is: a bar, or what takes it away."""
    stream = sys.__stderr__
    if stream is None:
        return
    try:
        type(stream).write(stream, text)  # as above
        stream.flush()
    except (OSError, ValueError):
        pass


def warning(text: str) -> None:
    """Tell of something that went wrong but does not stop the program."""
    say(f"warning: {text}")


def error(text: str) -> None:
    """Tell why florc gives up."""
    say(f"error: {text}")


def on_terminal() -> bool:
    """Whether somebody is looking at standard error (its bytes are the program's otherwise)."""
    return sys.__stderr__ is not None and sys.__stderr__.isatty()
