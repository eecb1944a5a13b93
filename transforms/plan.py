"""What the compiler decided about one module: its loops and its regions.

Everything here is frozen: the passes before make these, the passes after only read them.
"""

from __future__ import annotations

from dataclasses import dataclass

MODULE_REGION = 0
"""Index of the module body among the regions: it is never marked, since it always runs."""


@dataclass(frozen=True)
class LoopPlan:
    """One ``for`` or ``while`` statement and what becomes of it."""

    id: str
    """Block id, ``train.py::main/for#0``; empty for a loop that a replayed run does not know."""
    kind: str
    """``"for"`` or ``"while"``."""
    line: int
    """1-based line of the statement in the original source."""
    col: int
    """Offset of the statement in its line, in UTF-8 bytes as ``ast`` counts them."""
    end_line: int
    function: str
    """Qualified name of the function or class around it without ``<locals>``; ``""`` at module level."""
    guarded: bool
    reason: str
    """Why there is no guard, in one plain sentence; ``""`` if guarded."""
    binds: tuple[str, ...]
    """Names of its own function frame the loop may rebind or delete, as written, by first binding."""
    changes: tuple[str, ...]
    """Access paths the loop may change (an estimate, for people); filled by effects."""
    calls: tuple[str, ...]
    """Project functions the loop can reach (an estimate); filled by effects."""
    has_else: bool
    has_return: bool


@dataclass(frozen=True)
class Region:
    """A statement list whose execution the record marks."""

    index: int
    """Position in ``Plan.regions``."""
    line: int
    """Line of the body's first statement in the original source."""
    col: int
    """Offset of that statement, in UTF-8 bytes."""
    end_line: int
    kind: str
    """``module``, ``function``, ``class``, ``if``, ``else``, ``for``, ``while``, ``try``, ``except``,
    ``finally``, ``with`` or ``match``."""


@dataclass(frozen=True)
class Plan:
    """The decisions about one module, in source order."""

    file: str
    """Path the block ids start with (posix, relative to the project)."""
    loops: tuple[LoopPlan, ...]
    regions: tuple[Region, ...]
    refused: str
    """``""``, or why the whole module runs as it is written, in one plain sentence."""
