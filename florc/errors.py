"""The one class of errors a user can meet."""

from __future__ import annotations

EXIT_USAGE = 2  # as click and python itself (a script that cannot be opened)
EXIT_SYNTAX = 1  # what python exits with when the script does not compile
EXIT_INEXACT = 65  # the replay finished but is not exact (EX_DATAERR: scripts do not use it)
EXIT_REFUSED = 69  # changed program, no such run, foreign run (EX_UNAVAILABLE)


class FlorcError(Exception):
    """Say what is wrong, where, and what to do about it; becomes one line on standard error.

    exit_code: what the process exits with, one of the constants of this module.
    """

    def __init__(
        self, message: str, *, file: str = "", line: int = 0, hint: str = "", exit_code: int = EXIT_USAGE
    ) -> None:
        super().__init__(message)
        self.message = message
        self.file = file
        self.line = line
        self.hint = hint
        self.exit_code = exit_code

    def __str__(self) -> str:
        """The whole line: place, message, hint."""
        place = (
            f"{self.file}:{self.line}: " if self.file and self.line else f"{self.file}: " if self.file else ""
        )
        return f"{place}{self.message}" + (f"; {self.hint}" if self.hint else "")


def syntax_error(error: SyntaxError | ValueError, path: str) -> FlorcError:
    """The error for a program that python itself refuses to compile."""
    if isinstance(error, SyntaxError):
        message = f"{type(error).__name__}: {error.msg}"
        return FlorcError(message, file=error.filename or path, line=error.lineno or 0, exit_code=EXIT_SYNTAX)
    return FlorcError(f"SyntaxError: {error}", file=path, exit_code=EXIT_SYNTAX)
