"""`breakpoint()` in an added line: the debugger stops in the program, not in what florc puts around it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from .patches import Patches

VARIABLE = "PYTHONBREAKPOINT"  # names another debugger, which is then asked as under Python
SKIPPED = ("florc", "florc.*", "bdb", "pdb")


class Debugging:
    """Stands in for Python's own hook. Calls: install(), uninstall().

    Args:
        wanted: asked at each breakpoint whether what happens now was asked for.
        unread: what to raise when nobody asks for anything any more: the reader has gone, the user has quit.
    """

    def __init__(self, wanted: Callable[[], bool], unread: Callable[[], BaseException]) -> None:
        self._wanted, self._unread = wanted, unread
        self._patches = Patches()
        self._write = sys.stdout.write if sys.stdout is not None else None

    def install(self) -> None:
        """Stand in for the hook, unless somebody else does already."""
        if sys.breakpointhook is sys.__breakpointhook__ and not os.environ.get(VARIABLE):
            self._patches.put(sys, "breakpointhook", self._stop)

    def uninstall(self) -> None:
        """Give Python its own hook back."""
        self._patches.undo()

    def _stop(self, *, header: str | None = None) -> None:
        import pdb

        if not self._wanted() or self._write is None:
            return
        # what it writes is not the program's, at whatever line that stands
        out: Any = SimpleNamespace(write=self._out, flush=self._flush, encoding=sys.stdout.encoding)
        debugger, frame = pdb.Pdb(stdout=out, skip=SKIPPED), sys._getframe(1)
        debugger.set_quit = self._quit  # type: ignore[method-assign]  # `q` is no failure of the added line
        debugger.use_rawinput = sys.stdin.isatty()  # keys for editing, which Pdb leaves to its own stdout
        if header is not None:
            debugger.message(header)
        debugger.set_trace(frame)
        debugger.set_next(frame)  # the very next step would be into what puts back what the line has changed

    def _quit(self) -> None:
        sys.settrace(None)
        raise self._unread()

    def _out(self, text: str) -> None:
        assert self._write is not None
        try:
            self._write(text)
        except BrokenPipeError:
            raise self._unread() from None

    def _flush(self) -> None:
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            raise self._unread() from None
