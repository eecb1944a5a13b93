"""What instrumented text calls, and the stack of loops that are open.

Depth decides what a guard is: depth 0 is a main loop (every iteration boundary and the exit are
checkpoint candidates), depth 1 a skip block (its exit is one), deeper ones are inert.
"""

from __future__ import annotations

import dis
import functools
import inspect
import sys
import threading
import types
from typing import Any

from . import shown

USEFUL_DEPTH = 2  # guards deeper than this are inert


class Guard:
    """One run through one loop. This class itself is the inert guard."""

    __slots__ = ()
    skipped = False  # the loop is not run: its exit state was put back
    live = False  # iteration boundaries are of interest
    done = False  # boundary() put back the exit state: leave the loop
    values: tuple[Any, ...] = ()
    returned: Any = None

    def over(self, iterable: Any) -> Any:
        """What the loop iterates over."""
        return iterable

    def boundary(self) -> bool:
        """At the top of each iteration; True if names must be put back."""
        return False

    def leave(self) -> bool:
        """After the loop; True if the skipped loop had returned from its function."""
        return False

    def returning(self, value: Any) -> Any:
        """Around the value of a return statement inside the loop."""
        return value

    def lacks(self, name: str) -> bool:
        """True if the name was unbound in the state put back."""
        return False


INERT = Guard()


class OpenLoop(Guard):
    """A loop that is on the stack: what record and replay have in common."""

    __slots__ = (
        "block",
        "names",
        "frame",
        "depth",
        "iteration",
        "live",
        "skipped",
        "done",
        "values",
        "returned",
        "unbound",
        "outcome",
    )

    def __init__(self, block: str, names: tuple[str, ...], frame: Any, depth: int) -> None:
        self.block = block
        self.names = names
        self.frame = frame
        self.depth = depth
        self.iteration = -1
        self.live = depth == 0
        self.skipped = False
        self.done = False
        self.values: tuple[Any, ...] = ()
        self.returned: Any = None
        self.unbound: frozenset[str] = frozenset()
        self.outcome = "end"

    def lacks(self, name: str) -> bool:
        return name in self.unbound

    def locals(self) -> dict[str, Any]:
        """The frame's own names: a function's locals, a class body's namespace, nothing for a module."""
        return frame_names(self.frame)

    def bind(self, values: dict[str, Any]) -> None:
        """Hand restored names to the instrumented text, or write them where the text cannot."""
        self.unbound = frozenset(name for name in self.names if name not in values)
        self.values = tuple(values.get(name) for name in self.names)
        self.returned = values.get("return")
        if not is_function(self.frame) and self.frame.f_locals is not self.frame.f_globals:
            self.frame.f_locals.update(values)


def keeps_locals(frame: Any) -> bool:
    """True if the function asks for its own locals(): looking at its names would change what it was given."""
    return sys.version_info < (3, 13) and is_function(frame) and _keeps_locals(frame.f_code)


@functools.lru_cache(maxsize=1024)
def _keeps_locals(code: types.CodeType) -> bool:
    """True unless each locals() of the code is only asked whether a name is in it.

    vars() is the same function; vars(obj) and vars handed on are not: what comes after it is loaded next.
    """
    if not {"locals", "vars"}.intersection(code.co_names):
        return False
    asked, called = "", False  # the name that was loaded, while only its call has been seen
    for step in dis.get_instructions(code):
        if step.argval in ("locals", "vars") and step.opname.startswith("LOAD"):
            asked = step.argval
        elif asked and step.opname not in _CALLING:
            loads = step.opname.startswith("LOAD") and not called
            if step.opname != "CONTAINS_OP" and not (asked == "vars" and loads):
                return True
            asked = ""
        called = step.opname in ("CALL", "CALL_FUNCTION", "PRECALL")
    return False


_CALLING = frozenset({"PUSH_NULL", "PRECALL", "CALL", "CALL_FUNCTION", "CACHE", "RESUME"})


def is_function(frame: Any) -> bool:
    return bool(frame.f_code.co_flags & inspect.CO_OPTIMIZED)


def frame_names(frame: Any) -> dict[str, Any]:
    """A copy of a frame's names. The snapshot dict Python keeps is emptied: it would keep objects alive."""
    if not is_function(frame):
        return {} if frame.f_locals is frame.f_globals else dict(frame.f_locals)
    snapshot = frame.f_locals
    names = dict(snapshot)
    if sys.version_info < (3, 13):
        shown.cleared(snapshot)
    return names


class Stack:
    """The open loops of the main thread, outermost first."""

    def __init__(self) -> None:
        self.loops: list[OpenLoop] = []
        self.thread = threading.get_ident()

    def prune(self, frame: Any, block: str) -> list[OpenLoop]:
        """Take off the loops that an exception has left; they are returned, innermost first.

        A loop is still open if its frame is a caller of `frame`, or is `frame` itself and the new
        block stands inside it.
        """
        gone = []
        while self.loops:
            top = self.loops[-1]
            if top.frame is frame:
                if block.startswith(top.block + "/"):
                    break
            elif _is_caller(top.frame, frame):
                break
            gone.append(self.loops.pop())
        return gone

    def close(self, loop: OpenLoop) -> list[OpenLoop]:
        """Take off everything above a loop; what an exception had left there is returned."""
        gone = []
        while self.loops and self.loops[-1] is not loop:
            gone.append(self.loops.pop())
        return gone


def _is_caller(frame: Any, of: Any) -> bool:
    of = of.f_back
    while of is not None:
        if of is frame:
            return True
        of = of.f_back
    return False
