"""Which part of the recorded run a replay prints: all, chosen iterations, or one worker's share. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Part:
    """A worker's share: iterations start <= i < stop of one main loop.

    The first worker prints what comes before them too, the last what comes after.
    """

    loop: int
    start: int
    stop: int
    first: bool
    last: bool


@dataclass(frozen=True)
class Values:
    """Inner iterations by the value of a name: one value as text, or whole numbers start <= value < stop."""

    name: str
    value: str = ""
    start: int | None = None
    stop: int | None = None
    is_range: bool = False

    def holds(self, value: Any) -> bool:
        if not self.is_range:
            return str(value) == self.value
        if type(value) is not int:
            return False
        return (self.start is None or value >= self.start) and (self.stop is None or value < self.stop)

    def is_past(self, value: Any) -> bool:
        """True if a number that only grows will not come back to these."""
        if type(value) is not int:
            return False
        if self.is_range:
            return self.stop is not None and value >= self.stop
        return self.value.lstrip("-").isdigit() and value > int(self.value)


@dataclass(frozen=True)
class Window:
    """What is asked for; main loops are known by their number in the run.

    Attributes:
        selected: main loop -> iterations of --at; None without --at.
        part: None where one process replays it all.
        inner: which iterations of the loops inside; empty for all, else any of them.
    """

    selected: Mapping[int, frozenset[int]] | None = None
    part: Part | None = None
    inner: tuple[Values, ...] = ()

    @property
    def whole(self) -> bool:
        """True if all of the run is asked for."""
        return self.selected is None and self.part is None

    def shows(self, loop: int, iteration: int) -> bool:
        """True if what this iteration writes is printed."""
        if self.selected is not None:
            return iteration in self.selected.get(loop, ())
        part = self.part
        if part is None:
            return True
        if loop != part.loop:
            return part.first if loop < part.loop else part.last
        return part.start <= iteration < part.stop or (part.last and iteration >= part.stop)

    def outside(self, coming: int) -> bool:
        """True if text outside of all main loops is printed; `coming` is the main loop that comes next."""
        if self.part is None:
            return self.selected is None
        return self.part.first if coming <= self.part.loop else self.part.last

    def finished(self, loop: int, iteration: int) -> bool:
        """True if nothing is asked for from this iteration on."""
        if self.selected is not None:
            ahead = (
                number > loop or any(i >= iteration for i in chosen)
                for number, chosen in self.selected.items()
                if number >= loop and chosen
            )
            return not any(ahead)
        part = self.part
        return part is not None and not part.last and (loop, iteration) >= (part.loop, part.stop)

    def finished_after(self, loop: int) -> bool:
        """True if nothing is asked for once this main loop has ended."""
        if self.selected is not None:
            return not any(number > loop and chosen for number, chosen in self.selected.items())
        return self.part is not None and not self.part.last and loop >= self.part.loop

    def needs_exit(self, loop: int) -> bool:
        """True if the replay has to come out at the end of this main loop."""
        return not self.finished_after(loop)
