"""Which iterations have to run, which blocks in them, and where a replay may go on from. Pure.

Both the replay and the plan that is made before it go by these rules, so that they agree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from .lockstep import Edits
from .script import LoopRun, Script
from .window import Window

Trusts = Callable[[list[str], str], bool]


@dataclass(frozen=True)
class Route:
    """The way through one recorded run.

    Attributes:
        scratch: skip nothing.
        trusts: False for the checkpoints (with their loop) that are not to be put back.
    """

    script: Script
    edits: Edits
    window: Window = field(default_factory=Window)
    scratch: bool = False
    trusts: Trusts = lambda ckpt, block: True

    def wanted(self, run: LoopRun, number: int, skippable: bool) -> list[int]:
        """The iterations of a main loop that must run, in order."""
        last = len(run.iterations) - 1
        if self.scratch:
            return list(range(last + 1))
        touch, shows = self.edits.touch, self.window.shows
        found = [i for i, one in enumerate(run.iterations) if touch(one.hits) and shows(number, i)]
        if not self.window.needs_exit(number):
            return found
        also = set(self._unskippable(run))
        if last >= 0 and not self._keeps_exit(run, skippable):
            also.add(last)  # the way out of this loop must be gone
        return sorted({*found, *also}) if also else found

    def _unskippable(self, run: LoopRun) -> list[int]:
        """Iterations in which others than the main thread's Python wrote text: it is not recorded."""
        if not self.script.others:
            return []
        return [i for i, one in enumerate(run.iterations) if self.script.foreign(one.start, one.end)]

    def _keeps_exit(self, run: LoopRun, skippable: bool) -> bool:
        return bool(skippable and run.ckpt and run.outcome and self.trusts(run.ckpt, run.block))

    def skips_to_exit(self, run: LoopRun, skippable: bool, start: int) -> bool:
        """True if the state at the loop's exit may be put back by a skip from the event at `start`."""
        return self._keeps_exit(run, skippable) and not self.script.foreign(start, run.end)

    def may_skip(self, block: LoopRun, skippable: bool) -> bool:
        """True if this block's exit can be put back in the place of running it."""
        return bool(block.base) and not self.scratch and self.skips_to_exit(block, skippable, block.start)

    def executes(self, block: LoopRun, skippable: bool, number: int, iteration: int) -> bool:
        """True if this block, in this iteration of this main loop, has to run."""
        asked = self.edits.touch(block.hits) and self.window.shows(number, iteration)
        return asked or not self.may_skip(block, skippable)

    def landings(self, run: LoopRun, iteration: int, position: int, target: int | None) -> Iterator[int]:
        """Iterations from whose beginning to go on towards the target (None: the exit), the best first.

        Args:
            iteration, position: where the replay stands: the iteration that begins, and the next event.
        """
        last = len(run.iterations) - 1 if target is None else target
        for i in range(last, iteration, -1):
            ckpt = run.iterations[i].ckpt
            if ckpt is None or not self.trusts(ckpt, run.block):
                continue
            if not self.script.foreign(position, run.iterations[i].start):
                yield i

    def rest(self, run: LoopRun, number: int, iteration: int, position: int) -> tuple[int, int] | None:
        """Where nothing has to run any more: (iteration, event) up to which recorded text is given out.

        None if more than that is needed.
        """
        iterations, i = run.iterations, max(iteration, 0)
        while i < len(iterations) and not self.window.finished(number, i):
            i += 1
        end = iterations[i].start if i < len(iterations) else run.end
        if self.window.needs_exit(number) or self.script.foreign(position, end):
            return None
        return i, end
