"""The plan of a replay: a pure function of the recorded run, of the edit and of what is asked for.

It goes through the main loops as the replay will (both by `runtime/route.py`), and reckons what that takes by
what it took when it was recorded. What only running shows is not in it: a damaged checkpoint, an entry state
that is not the recorded one, a choice among the iterations of an inner loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from florc.runtime.lockstep import Cursor
from florc.runtime.route import Route
from florc.runtime.script import Iteration, LoopRun, Script

Action = Literal["skip", "restore", "execute"]

# Of earlier recordings, which did not note what keeping a state took: a walk over some thousand objects, and
# bytes read, hashed and written into the live storages.
WALK_SECONDS = 0.012
BYTES_PER_SECOND = 500e6
# What a replay takes to look at an entry state, and to put a state back or compare it, by what it took to
# keep one: measured on the samples and benchmarks.
ENTRY_RATIO, RESTORE_RATIO = 1.0, 1.0
# Starting the interpreter anew and what florc's finish takes: not in what the plan can see for itself
END_SECONDS = 0.1


@dataclass(frozen=True)
class Stretch:
    """Iterations start <= i < stop of a main loop that fare alike.

    Attributes:
        action: skip: not run, its text is given out; restore: run, but all blocks in it are put back;
            execute: run with at least one block, or it has none.
        checkpoint: the iteration whose beginning is put back before; None: reached from the one before.
        skipped, executed: blocks in them, by id, as often as they come.
        restoring, running: seconds of putting states back, and of the program's own work.
    """

    start: int
    stop: int
    action: Action
    checkpoint: int | None = None
    skipped: tuple[str, ...] = ()
    executed: tuple[str, ...] = ()
    restoring: float = 0.0
    running: float = 0.0

    @property
    def seconds(self) -> float:
        return self.restoring + self.running


@dataclass(frozen=True)
class LoopPlan:
    """What becomes of one run through a main loop.

    Attributes:
        stretches: in order, as far as the replay comes.
        end: how it goes on after them: the loop's exit is put back, or the loop ends by itself, or the replay
            stops there.
        restoring, running: seconds of the entry and the exit.
    """

    block: str
    number: int
    iterations: int
    stretches: tuple[Stretch, ...]
    end: Literal["restored", "left", "stop"]
    restoring: float = 0.0
    running: float = 0.0

    @property
    def seconds(self) -> float:
        return self.restoring + self.running + sum(one.seconds for one in self.stretches)

    def of(self, action: Action) -> list[int]:
        """The iterations that fare so."""
        return [i for one in self.stretches if one.action == action for i in range(one.start, one.stop)]


@dataclass(frozen=True)
class Plan:
    """What a replay will do, and how long that should take.

    Attributes:
        loops: the main loops that it comes to.
        start: seconds until the program begins. setup: from there to the first main loop. rest: between
            and after the main loops.
        stops: before the program's end.
    """

    loops: tuple[LoopPlan, ...]
    start: float
    setup: float
    rest: float
    stops: bool

    @property
    def restoring(self) -> float:
        return sum(loop.restoring + sum(one.restoring for one in loop.stretches) for loop in self.loops)

    @property
    def seconds(self) -> float:
        return self.start + self.setup + self.rest + sum(loop.seconds for loop in self.loops)

    def count(self, action: Action) -> int:
        """How many iterations fare so."""
        return sum(
            one.stop - one.start for loop in self.loops for one in loop.stretches if one.action == action
        )


@dataclass(frozen=True)
class Costs:
    """What the program's own work comes on top of, in seconds.

    start: until the program begins. states: by loop, to look at its entry state, and to put a state back.
    otherwise: the same for loops that are not among them.
    """

    start: float = 0.0
    states: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    otherwise: tuple[float, float] = (WALK_SECONDS, WALK_SECONDS)

    @classmethod
    def of(cls, script: Script, start: float) -> Costs:
        """By what it took to keep them."""
        figures = script.figures
        if figures is None:
            return cls(start)
        size = figures.logical / figures.checkpoints if figures.checkpoints else 0.0
        states = {
            block: (entry * ENTRY_RATIO, stall * RESTORE_RATIO)
            for block, (entry, stall) in figures.stalls.items()
        }
        return cls(start, states, (WALK_SECONDS, WALK_SECONDS + size / BYTES_PER_SECOND))

    def entry(self, block: str) -> float:
        """To look at a loop's entry state."""
        return self.states.get(block, self.otherwise)[0]

    def restore(self, block: str) -> float:
        """To put one of its states back, or to compare with it."""
        return self.states.get(block, self.otherwise)[1]


def make(route: Route, costs: Costs, unskippable: frozenset[str] = frozenset()) -> Plan:
    """The plan.

    Args:
        unskippable: ids of loops whose exit cannot be put back (they have an `else`).
    """
    script, loops = route.script, []
    for number, run in enumerate(script.main_loops):
        loops.append(_Way(route, costs, unskippable, run, number).plan())
        if loops[-1].end == "stop":
            break
    stops = bool(loops) and loops[-1].end == "stop"
    setup = _entered(script, 0)
    after = [_gap(script, loop.number) for loop in loops]
    if stops:
        after.pop()
    return Plan(tuple(loops), costs.start, setup, sum(after) + END_SECONDS, stops)


def _entered(script: Script, number: int) -> float:
    """When the main loop was entered, or the program ended; 0 where an earlier version recorded it."""
    loops = script.main_loops
    return (loops[number].entered if number < len(loops) else script.seconds) or 0.0


def _gap(script: Script, number: int) -> float:
    """From the end of a main loop to the next one, or to the program's end."""
    run = script.main_loops[number]
    return max(_entered(script, number + 1) - (run.entered or 0.0) - run.whole_seconds, 0.0)


class _Way:
    """The way through one main loop."""

    def __init__(
        self, route: Route, costs: Costs, unskippable: frozenset[str], run: LoopRun, number: int
    ) -> None:
        self.route, self.costs, self.unskippable = route, costs, unskippable
        self.run, self.number = run, number
        self.skippable = run.block not in unskippable
        self.stretches: list[Stretch] = []

    def plan(self) -> LoopPlan:
        run, count = self.run, len(self.run.iterations)
        wanted = self.route.wanted(run, self.number, self.skippable)
        if not wanted and not self.route.scratch:
            rest = self.route.rest(run, self.number, -1, run.start + 1)
            if rest is not None:
                self._skip(0, rest[0])
                return self._planned("stop")
            if run.base and self.route.skips_to_exit(run, self.skippable, run.start):
                self._skip(0, count)
                return self._planned("restored")
        return self._planned(self._walk(wanted))

    def _walk(self, wanted: list[int]) -> Literal["restored", "left", "stop"]:
        """Iteration by iteration, as the replay's boundary does."""
        run, ahead, i = self.run, list(reversed(wanted)), 0
        while i < len(run.iterations):
            while ahead and ahead[-1] < i:
                ahead.pop()
            target, here = ahead[-1] if ahead else None, run.iterations[i].start + 1
            if self._is_cut_off(i, here) or self.route.window.finished(self.number, i):
                return "stop"
            rest = self.route.rest(run, self.number, i, here) if target is None else None
            if rest is not None:
                self._skip(i, rest[0])
                return "stop"
            landed = None
            if target != i and run.base:
                if target is None and self.route.skips_to_exit(run, self.skippable, here):
                    self._skip(i, len(run.iterations))
                    return "restored"
                landed = next(self.route.landings(run, i, here, target), None)
                self._skip(i, i if landed is None else landed)
                i = i if landed is None else landed
            self._run(i, landed)
            i += 1
        return "stop" if self._has_no_end() or self.route.window.finished_after(self.number) else "left"

    def _has_no_end(self) -> bool:
        """True for the loop in which a run was killed."""
        script = self.route.script
        return script.interrupted and not self.run.outcome and self.run is script.main_loops[-1]

    def _is_cut_off(self, i: int, here: int) -> bool:
        """True for the iteration in which an interrupted run ended, if nothing of it is known."""
        if not self.route.script.interrupted or i + 1 < len(self.run.iterations):
            return False
        cursor = Cursor(self.route.script, self.route.edits)
        cursor.position = here
        return cursor.at_end

    def _skip(self, start: int, stop: int) -> None:
        if start < stop:
            self.stretches.append(Stretch(start, stop, "skip"))

    def _run(self, i: int, landed: int | None) -> None:
        """The iteration is run, with the blocks in it skipped or executed."""
        one = self.run.iterations[i]
        skipped: list[LoopRun] = []
        executed: list[LoopRun] = []
        for block in one.blocks:
            skippable = block.block not in self.unskippable
            executes = self.route.executes(block, skippable, self.number, i)
            (executed if executes else skipped).append(block)
        action: Action = "restore" if skipped and not executed else "execute"
        self.stretches.append(
            Stretch(
                i, i + 1, action, landed,
                tuple(block.block for block in skipped), tuple(block.block for block in executed),
                self._restoring(i, [*skipped, *executed], landed is not None),
                running(one, skipped),
            )
        )  # fmt: skip

    def _restoring(self, i: int, blocks: list[LoopRun], landed: bool) -> float:
        """What it takes to put the states of an iteration back; those of what has run are compared."""
        costs, iterations = self.costs, self.run.iterations
        follows = iterations[i + 1].ckpt if i + 1 < len(iterations) else self.run.ckpt
        mine = landed + bool(follows and self.run.base)
        kept = [block.block for block in blocks if block.base and block.ckpt]
        inside = sum(costs.entry(one) + costs.restore(one) for one in kept)
        return mine * costs.restore(self.run.block) + inside

    def _planned(self, end: Literal["restored", "left", "stop"]) -> LoopPlan:
        restoring = self.costs.entry(self.run.block) if self.run.base else 0.0
        if end == "restored":
            restoring += self.costs.restore(self.run.block)
        return LoopPlan(
            self.run.block, self.number, len(self.run.iterations), tuple(self.stretches), end,
            restoring, self.run.opening,
        )  # fmt: skip


def running(one: Iteration, skipped: Iterable[LoopRun]) -> float:
    """The program's own seconds in an iteration in which these blocks are put back."""
    known = one.seconds if one.seconds is not None else sum(block.seconds for block in one.blocks)
    return max(known - sum(block.seconds for block in skipped), 0.0)


def merged(loop: LoopPlan) -> Iterator[Stretch]:
    """The stretches, those that fare alike and are reached from one another as one."""
    alike: list[Stretch] = []
    for one in loop.stretches:
        if alike and (alike[0].action != one.action or one.checkpoint is not None):
            yield _joined(alike)
            alike = []
        alike.append(one)
    if alike:
        yield _joined(alike)


def _joined(alike: list[Stretch]) -> Stretch:
    """Stretches that follow one another, as one."""
    return replace(
        alike[0],
        stop=alike[-1].stop,
        skipped=tuple(block for one in alike for block in one.skipped),
        executed=tuple(block for one in alike for block in one.executed),
        restoring=sum(one.restoring for one in alike),
        running=sum(one.running for one in alike),
    )
