"""Following the recorded run event by event.

The cursor stands at the next event that the replay has not yet seen happen. What the program does
again (enters a loop, begins an iteration, writes a line) must be what comes next; where it is not,
the replay has diverged and says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

from .output import renumbered
from .script import Event, Hits, Script

STRUCTURAL = frozenset({"L", "I", "X", "Z", "E"})
CLOCKS_AHEAD = 10_000  # events looked through for a reading: readers take turns in one place


Place = tuple[int, int]  # line, column
Span = tuple[Place, Place]


@dataclass(frozen=True)
class Edits:
    """How the edited program differs from the recorded one, as far as events are concerned.

    Attributes:
        lines: (file id, recorded line) -> line in the edited file.
        noted: file id -> lines of the edited file whose calls of `florc.log` are probes, and nothing else is.
        unnoted: (file id, recorded line) of statements whose recorded calls of it were edited or removed.
        dropped: (file id, recorded line) of output statements that were removed or edited.
        probes: file id -> lines of the edited file that belong to probes.
        spans: file id -> line that probes share with recorded statements -> where on it (and on lines around
            it) the probes stand: first and last place, each a line and a column.
        regions: file id -> recorded regions that hold probes.
        own: file id -> first line of a function or class of the edited file (0: the module) -> names in it
            that belong to the probes.
        watched: file id -> first and last line of what an added profiler or timer looks at: it has to run.
        everywhere: probes stand where the record could not mark what ran: they may run anywhere.
        around: loops (block ids) in whose text probes stand.
    """

    lines: dict[tuple[str, int], int] = field(default_factory=dict)
    dropped: frozenset[tuple[str, int]] = frozenset()
    probes: dict[str, frozenset[int]] = field(default_factory=dict)
    spans: dict[str, dict[int, tuple[Span, ...]]] = field(default_factory=dict)
    regions: dict[str, frozenset[int]] = field(default_factory=dict)
    own: dict[str, dict[int, frozenset[str]]] = field(default_factory=dict)
    noted: dict[str, frozenset[int]] = field(default_factory=dict)
    unnoted: frozenset[tuple[str, int]] = frozenset()
    watched: dict[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    everywhere: bool = False
    around: frozenset[str] = frozenset()

    def own_of(self, file: str, code: CodeType) -> frozenset[str]:
        """The probes' own names that this code of a file binds, or takes from the functions around it."""
        scopes = self.own.get(file)
        if scopes is None:
            return frozenset()
        line = 0 if code.co_name == "<module>" else code.co_firstlineno
        around = frozenset().union(*scopes.values()).intersection(code.co_freevars)
        return scopes.get(line, frozenset()) | around

    def touch(self, hits: Hits | None) -> bool:
        """True if a probe may have run in what has these hits; unknown hits count as yes."""
        if self.everywhere or hits is None:
            return True
        return any(not regions.isdisjoint(hits.get(file, ())) for file, regions in self.regions.items())


class Cursor:
    """The place in the recorded run."""

    def __init__(self, script: Script, edits: Edits) -> None:
        self.events = script.events
        self.edits = edits
        self.position = 0
        self._read: set[int] = set()  # clock readings given out, which the cursor has not passed
        self._beside = (0, 0)  # a position, and how many texts to other streams the program wrote there

    def is_dropped(self, event: Event) -> bool:
        if event[0] == "v":
            place = (event[1], event[2])
            return place in self.edits.dropped or place in self.edits.unnoted
        return (event[2], event[3]) in self.edits.dropped

    def _is_of_interest(self, event: Event) -> bool:
        """A structural event, text on standard output, or a noted value."""
        if event[0] in STRUCTURAL:
            return True
        return (event[0] == "v" or (event[0] == "w" and event[1] == 1)) and not self.is_dropped(event)

    def ahead(self) -> int:
        """The position of the next event of interest."""
        position = self.position
        while position < len(self.events):
            if self._is_of_interest(self.events[position]):
                return position
            position += 1
        return position

    def peek(self, wanted: str) -> Event | None:
        """The next event of interest, if it has this tag; the cursor then stands at it.

        Otherwise the cursor stays: readings of the clock before that event may still be asked for.
        """
        position = self.ahead()
        if position < len(self.events) and self.events[position][0] == wanted:
            self.position = position
            return self.events[position]
        return None

    def take(self, wanted: str) -> Event | None:
        """Like peek; the cursor moves past what it returns."""
        event = self.peek(wanted)
        if event is not None:
            self.position += 1
        return event

    def clock(self, name: str, who: str) -> Any:
        """The next recorded reading of a clock by this reader, before anything else happens; else None."""
        for position in range(self.position, min(self.position + CLOCKS_AHEAD, len(self.events))):
            event = self.events[position]
            if self._is_of_interest(event):
                return None
            if event[0] == "c" and event[1] == name and event[3] == who and position not in self._read:
                self._read.add(position)
                return event[2]
        return None

    @property
    def at_end(self) -> bool:
        """True once nothing but the run's end lies ahead."""
        position = self.ahead()
        return position >= len(self.events) or self.events[position][0] == "E"

    def texts_ahead(self) -> Iterator[str]:
        """What the recorded run still wrote on standard output, or noted."""
        for event in self.events[self.position :]:
            if event[0] == "w" and event[1] == 1 and not self.is_dropped(event):
                yield self.text(event)
            elif event[0] == "v" and not self.is_dropped(event):
                yield f"florc.log {event[3]}"

    def beside(self) -> None:
        """The program writes what is not followed: a jump from here must not give that out once more."""
        position, count = self._beside
        self._beside = (self.position, count + 1 if position == self.position else 1)

    def jump(self, position: int, emit: Callable[[int, str], None]) -> None:
        """Move to a later event, giving out the recorded text on the way."""
        written = self._beside[1] if self._beside[0] == self.position else 0
        for event in self.events[self.position : position]:
            if event[0] == "w" and not self.is_dropped(event):
                if event[1] != 1 and written:
                    written -= 1
                else:
                    emit(event[1], self.text(event))
        self.position = position

    def text(self, event: Event) -> str:
        """Recorded text; line numbers in it are those of the edited file."""
        text: str = event[4]
        if event[5]:
            line: int = event[3]
            new = self.edits.lines.get((event[2], line), line)
            if isinstance(event[5], list):
                text = renumbered(event[5], new)
            elif new != event[3]:
                text = re.sub(rf"(\.py:|\bline |\blineno[=: ]){event[3]}\b", rf"\g<1>{new}", text)
        return text
