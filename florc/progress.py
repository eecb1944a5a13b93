"""A bar on standard error while a replay runs; it is taken away before anything else is written there."""

from __future__ import annotations

import os
import sys
import time
from bisect import bisect_right
from typing import Any

from . import messages, units
from .plans.planning import Plan

AFTER_SECONDS = 1.0  # no bar for what is over before one has read it
EVERY_SECONDS = 0.1
WIDTH = 24  # of the bar itself: with its words it fits the narrowest of terminals
_CLEAR = "\r\x1b[2K"


class Progress:
    """How far a replay has come, by the seconds of its plan."""

    def __init__(self, plan: Plan) -> None:
        done = plan.start + plan.setup
        self._total = max(plan.seconds, done, 1e-9)
        self._places: list[tuple[int, int]] = []
        self._done: list[float] = []
        self.iterations = {loop.number: loop.iterations for loop in plan.loops}
        for loop in plan.loops:
            for one in loop.stretches:
                self._places.append((loop.number, one.start))
                self._done.append(done)
                done += one.seconds
            done += loop.restoring + loop.running

    def share(self, loop: int, iteration: int) -> float:
        """The part that is done when this iteration begins, between 0 and 1."""
        place = bisect_right(self._places, (loop, iteration)) - 1
        return min(self._done[place] / self._total, 1.0) if place >= 0 else 0.0


class Bar:
    """The bar. Text of the program takes it away; while a line of that is not ended, there is none.

    Args:
        terminals: the streams (1, 2) that lead to a terminal.
        began: when the command began, by perf_counter.
    """

    def __init__(self, progress: Progress, terminals: frozenset[int], began: float) -> None:
        self._progress, self._terminals, self._began = progress, terminals, began
        self._clock = time.perf_counter  # the real one, whatever stands in `time` later
        self._drawn = False
        self._last = began
        self._at_margin = True

    def reach(self, loop: int, iteration: int) -> None:
        """An iteration begins."""
        now = self._clock()
        if now - self._began < AFTER_SECONDS or now - self._last < EVERY_SECONDS or not self._at_margin:
            return
        self._last = now
        share = self._progress.share(loop, iteration)
        text = shown(share, iteration, self._progress.iterations.get(loop, 0), now - self._began)
        messages.draw(_CLEAR + text)
        self._drawn = True

    def writes(self, fd: int, text: str) -> None:
        """The program's text is about to be written."""
        if fd in self._terminals:
            self.clear()
            self._at_margin = text.endswith("\n")

    def clear(self) -> None:
        if self._drawn:
            messages.draw(_CLEAR)
            self._drawn = False


def shown(share: float, iteration: int, iterations: int, seconds: float) -> str:
    """The bar as text."""
    full = round(share * WIDTH)
    bar = "#" * full + "-" * (WIDTH - full)
    left = f", {units.duration(seconds / share * (1 - share))} left" if share else ""
    return f"[{bar}] {share:4.0%} iteration {iteration} of {iterations}{left}"


def bar(plan: Plan, began: float, quiet: bool, others: Any) -> Bar | None:
    """A bar, where somebody is looking and nobody else writes.

    others: true if other processes or threads wrote in the recorded run: their text passes florc by.
    """
    if quiet or others or not messages.on_terminal() or os.environ.get("TERM") == "dumb":
        return None
    out = sys.__stdout__
    terminals = {2, *([1] if out is not None and out.isatty() else [])}
    return Bar(Progress(plan), frozenset(terminals), began)
