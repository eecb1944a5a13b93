"""What matching finds: probes, changes, and where the recorded loops and lines are now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .when import When


@dataclass(frozen=True)
class Probe:
    """A statement that the user added, edited or removed, and that only observes."""

    line: int
    """First line in the edited file; of a removed one the line it would stand at."""
    end_line: int
    kind: str
    """``added``, ``edited``, ``removed``; ``noted``: recorded, but a value of it goes to `florc.log`."""
    region: int
    """Index of the innermost marked region of the recorded plan that it stands in."""
    old: tuple[int, int] | None
    """First and last line in the recorded file of an edited or removed one."""
    text: str
    """Its first source line, stripped."""
    own: frozenset[str]
    """Names it binds that are the probes' own: in the scope that it stands in."""
    recorded: frozenset[str]
    """Names it binds that the recorded program of that scope uses too (only where ``isolating``)."""
    pure: bool
    """Nothing in it can change state."""
    inert: bool
    """It only imports or defines: it shows nothing by itself."""
    when: When | None = None
    """Of an ``if`` what must hold for it to show anything, where that can be told."""
    wraps: bool = False
    """It is the header of a ``with`` that has recorded statements inside."""
    scope: int = 0
    """First line of the function or class that it stands in, in the edited file; 0: in none."""
    to_globals: frozenset[str] = frozenset()
    """Those of its own names that it binds in the module, by a ``global``."""
    columns: tuple[int, int] = (0, 0)
    """Where it begins in its first line, and ends in its last; in bytes of UTF-8."""
    watches: int = 0
    """Last line of what such a ``with`` looks at, and what therefore has to run; 0: it looks at nothing."""


@dataclass(frozen=True)
class Change:
    """A difference that makes the edited file another program."""

    old_line: int
    new_line: int
    text: str
    """The first source line, stripped: the new one, or the old one of a removed statement."""
    why: str
    added: bool = False
    """Nothing recorded was changed: a new statement does more than look."""


@dataclass(frozen=True)
class Match:
    """How an edited module relates to the recorded one."""

    probes: tuple[Probe, ...]
    changes: tuple[Change, ...]
    """Not empty: a changed program."""
    ids: Mapping[tuple[int, int], str]
    """(line, col) of a loop in the edited file -> its recorded block id."""
    lines: Mapping[int, int]
    """Line in the recorded file -> line in the edited one, for all lines of matched statements."""
