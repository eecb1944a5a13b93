"""The journal read as a tree: main loops, their iterations, the blocks run in them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from .figures import Figures

Event = list[Any]
Hits = dict[str, frozenset[int]]


@dataclass
class Iteration:
    """One iteration of a main loop: events[start:end]."""

    start: int
    values: dict[str, Any]
    ckpt: list[str] | None
    end: int = 0
    unplain: frozenset[str] = frozenset()  # names that held something plain before, and do not any more
    # what ran in it (a replay takes out what can show nothing); None: not known, for the loop had no end
    hits: Hits | None = None
    blocks: list[LoopRun] = field(default_factory=list)
    seconds: float | None = None  # None: it never got to its end, or an earlier version recorded it


@dataclass
class LoopRun:
    """One run through a guarded loop: events[start:end], `end` just after its exit event.

    seconds: of a block all of it, of a main loop what came after its last iteration began. entered: of main
    loops, seconds since the program began; None where an earlier version recorded it. opening: seconds from
    there to the first iteration.
    """

    block: str
    start: int
    depth: int
    end: int = 0
    base: str | None = None
    iterations: list[Iteration] = field(default_factory=list)
    outcome: str = ""  # "" where an exception or a kill ended it
    seconds: float = 0.0
    entered: float | None = None
    opening: float = 0.0
    silent: bool = False  # from its last noted iteration on, no iterations were noted
    ckpt: list[str] | None = None
    hits: Hits | None = None
    given: dict[str, Any] = field(default_factory=dict)  # short plain values of its function's parameters
    last: tuple[str, float] | None = None  # a counting variable, and the last value at which a probe may show

    @property
    def whole_seconds(self) -> float:
        """What all of a main loop took, as far as the record tells."""
        if not self.iterations:
            return self.seconds
        return self.opening + sum(one.seconds or 0.0 for one in self.iterations)

    @property
    def checkpoints(self) -> list[list[str]]:
        """Every checkpoint of this run."""
        found = [iteration.ckpt for iteration in self.iterations if iteration.ckpt]
        return found + ([self.ckpt] if self.ckpt else [])


@dataclass
class Script:
    """A recorded run, as replay follows it."""

    events: list[Event]
    main_loops: list[LoopRun] = field(default_factory=list)
    at: dict[int, LoopRun] = field(default_factory=dict)  # by the position of the entering event
    places: dict[int, Iteration | LoopRun] = field(default_factory=dict)  # by the event that a "C" names
    whole_from: int = 0  # events before this one lack state that was found later
    notes: list[str] = field(default_factory=list)
    others: list[int] = field(default_factory=list)         # positions of text written by others
    in_children: Hits = field(default_factory=dict)  # regions that ran in forked children
    muted: dict[str, int] = field(default_factory=dict)  # block id -> position from which it is not followed
    stopped: str = ""                                      # why recording stopped before the program did
    interrupted: bool = True  # killed, or ended by Ctrl-C or for want of a reader
    exit_code: int | None = None  # None: killed
    figures: Figures | None = None  # None: killed, or recorded by an earlier version
    ran: Hits | None = None  # all that ran; None: not known, or other processes ran a part of it
    seconds: float | None = None  # from the program's begin to its end; None: as above

    def foreign(self, start: int, end: int) -> bool:
        """True if between these events text was written that the record does not have."""
        place = bisect_left(self.others, start)
        return place < len(self.others) and self.others[place] < end



def parse(events: list[Event]) -> Script:
    """Build the tree."""
    script = Script(events)
    stack: list[LoopRun] = []
    table: dict[int, Hits] = {}
    differentiated: list[int] = []
    for position, event in enumerate(events):
        tag = event[0]
        if tag == "L":
            given = event[2] if len(event) > 2 else {}
            entered = event[3] if len(event) > 3 else None
            run = LoopRun(event[1], position, len(stack), given=given, entered=entered)
            _enter(script, stack, run)
        elif tag == "B" and stack:
            stack[-1].base = event[1]
        elif tag == "H":
            table[event[1]] = {file: frozenset(regions) for file, regions in event[2].items()}
        elif tag == "I" and stack:
            _iterate(stack[-1], position, event, table)
            script.places[position] = stack[-1].iterations[-1]
        elif tag in ("X", "Z") and stack:
            script.places[position] = stack[-1]
            _leave(stack.pop(), position, event, table)
        elif tag == "C":
            _complete(script, event)
        elif tag == "F":
            for file, regions in event[1].items():
                script.in_children[file] = script.in_children.get(file, frozenset()) | frozenset(regions)
        elif tag == "o":
            script.others.append(position)
        elif tag == "stop":
            script.stopped = event[1]
        elif tag == "S" and stack:
            stack[-1].silent = True
        elif tag == "Q":
            script.muted[event[1]] = position
        elif tag == "D":
            differentiated.append(event[1])
        elif tag == "A":
            _drop_all(script, position)
        elif tag == "n":
            script.notes.append(event[1])
        elif tag == "E":
            script.exit_code, script.interrupted = event[1], event[2]
            script.figures = Figures.of(event[4]) if len(event) > 4 else None
            if len(event) > 5 and event[5] is not None:
                script.ran = _all_of(table.values())
            script.seconds = event[6] if len(event) > 6 else None
            script.stopped = ""  # it did not: another program was to take this one's place, and could not
    for run in stack:
        _end(run, len(events))
    _drop_differentiated(script, differentiated)
    return script


def _all_of(hits: Iterable[Hits]) -> Hits:
    """All regions that are in any of them: each that was noted stands for something that ran."""
    found: dict[str, frozenset[int]] = {}
    for one in hits:
        for file, regions in one.items():
            found[file] = found.get(file, frozenset()) | regions
    return found


def _complete(script: Script, event: Event) -> None:
    """A checkpoint has got to the disk."""
    place = script.places.get(event[1])
    if place is not None and event[1] >= script.whole_from:
        place.ckpt = event[2]


def _drop_all(script: Script, position: int) -> None:
    """Forget the checkpoints so far: state was found that they do not hold."""
    script.whole_from = position
    for run in script.at.values():
        run.base = run.ckpt = None
        for iteration in run.iterations:
            iteration.ckpt = None


def _drop_differentiated(script: Script, found: list[int]) -> None:
    """Forget the checkpoints whose tensors were later backpropagated into: they bring no graph back."""
    for number in found:
        place = script.places.get(number)
        if place is not None:
            place.ckpt = None


def _enter(script: Script, stack: list[LoopRun], run: LoopRun) -> None:
    script.at[run.start] = run
    if not stack:
        script.main_loops.append(run)
    elif stack[-1].iterations:
        stack[-1].iterations[-1].blocks.append(run)
    stack.append(run)


def _iterate(run: LoopRun, position: int, event: Event, table: dict[int, Hits]) -> None:
    seconds = event[5] if len(event) > 5 else None
    if not run.iterations:
        run.opening = seconds or 0.0
    else:
        run.iterations[-1].end = position
        run.iterations[-1].hits = table.get(event[4], {})
        run.iterations[-1].seconds = seconds
    values = {name: value for name, value in event[2].items() if value is not None}
    gone = frozenset(event[2].keys() - values.keys())
    run.iterations.append(Iteration(position, values, event[3], unplain=gone))


def _leave(run: LoopRun, position: int, event: Event, table: dict[int, Hits]) -> None:
    _end(run, position + 1)
    if event[0] == "X":
        run.outcome, run.seconds, run.ckpt = event[1], event[2], event[3]
        run.hits = table.get(event[4], {})
        if run.iterations:
            run.iterations[-1].hits, run.iterations[-1].seconds = run.hits, run.seconds


def _end(run: LoopRun, end: int) -> None:
    run.end = end
    if run.iterations:
        run.iterations[-1].end = end
