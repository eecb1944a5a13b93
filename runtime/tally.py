"""What is asked of a replay, what it did, and how an attempt of it ends before its time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .said import Said
from .window import Window


@dataclass(frozen=True)
class NotedValue:
    """A value that an added line hands to `florc.log`, before event `at` (see answers.py)."""

    at: int
    file: str
    line: int
    name: str
    value: Any
    note: str
    context: list[list[Any]]


@dataclass
class Tally:
    """What a replay did, for its summary."""

    executed: dict[int, set[int]] = field(default_factory=dict)  # main loop -> iterations
    restored: dict[int, set[int]] = field(default_factory=dict)
    blocks_skipped: int = 0
    blocks_executed: int = 0
    blocks_left: int = 0  # of these, such as were left where nothing more could show
    fired: dict[tuple[str, int], int] = field(default_factory=dict)
    noted: list[NotedValue] = field(default_factory=list)
    shown: bool = False  # something was printed
    state_compared: int = 0
    state_equal: int = 0
    output_compared: int = 0
    output_equal: int = 0
    output_clocks: int = 0  # lines that differ and whose statement reads a clock
    restore_seconds: float = 0.0
    owed: int = 0  # bytes that restores put off until someone would look
    paid: int = 0  # those of them that someone looked at
    loops_began: float = 0.0  # when the first main loop was entered, by perf_counter; 0: there was none
    problems: list[str] = field(default_factory=list)
    causes: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    said: Said = field(default_factory=Said)


@dataclass(frozen=True)
class Wish:
    """What the user asked for.

    Attributes:
        window: which part of the run is printed.
        new_only: print only what probes write.
        scratch: skip nothing.
        thorough: compare every checkpoint with what was executed, however long that takes.
        silent: print nothing at all.
        keep_said: keep the lines that probes write, with their places.
        banned: loops whose states an earlier attempt could not put back exactly.
    """

    window: Window = field(default_factory=Window)
    new_only: bool = False
    scratch: bool = False
    thorough: bool = False
    silent: bool = False
    keep_said: bool = False
    banned: frozenset[str] = frozenset()


class Restart(BaseException):
    """This attempt cannot go on exactly; the reason in words. The replay starts again.

    Attributes:
        suspect: the loop whose states are not to be put back again; "": skip nothing at all.
    """

    def __init__(self, words: str, suspect: str = "") -> None:
        super().__init__(words)
        self.suspect = suspect
