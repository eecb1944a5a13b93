"""Errors of the runtime. None of them reaches a user as a traceback."""

from __future__ import annotations


class StoreError(Exception):
    """Something about the store a user must hear: what is wrong, and what to do about it."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class CannotRestore(Exception):
    """A recorded state cannot be put back exactly; the reason in words."""


class NeedsExecution(BaseException):
    """The replay needs a value that no checkpoint holds: it must be computed again.

    A BaseException, so that the program's own `except Exception` does not swallow it.
    """


class ReplayDone(BaseException):
    """All that was asked for has been replayed; raised in the program to end it."""


class NoReader(ReplayDone):
    """Nobody asks for more: whoever read the output has gone (`| head -3`), or has quit the debugger."""
