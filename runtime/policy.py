"""When to take a checkpoint: the joint invariant of the paper and one budget for the whole run. Pure.

Source: Garcia et al., PVLDB 14(4), 2020, section 5.3. With M the seconds to materialize, C the block's own
seconds, c the ratio of restore to materialize, n executions and k checkpoints of the block so far and eps
the bound:  materialize iff  M / C < n / (k + 1) * min(1 / (1 + c), eps).  Here it is kept in sums, spent
seconds for k * M and seconds that ran for n * C, so that it holds where costs drift. What is ours:

- One budget. All that recording costs, of all blocks, in other threads and of the audit, is at most eps of
  the seconds the program takes without it. Only first checkpoints, and the entry states they refer to, may
  count with a run of SHORTEST seconds while the real one is shorter.
- Thrift. The bound is what a user bears, not what a replay needs. A block is given THRIFT of it, and a short
  loop beside a long one what is left of THRIFT of the whole run's, which counts as FORESEEN seconds from the
  start: else the first epochs' evaluations would be run again. They get more only where the lack is felt:
  more than PATIENCE seconds and a tenth of the run so far that a replay has to run again for want of such
  checkpoints. Where states are cheap, thrift buys all there are.
- What a checkpoint spares is C at the exit of a block. At the top of a main loop's iteration it is the way
  there from the one before, less what the checkpoints of blocks spare on it: nothing is counted twice, and a
  loop whose blocks are kept needs few of its iterations kept.
- Nothing is kept where restoring takes longer than running again.
- In a loop of many steps, checkpoints are taken where it is about to take a rare way through its body (an
  evaluation, a line of progress), as far as that comes at equal distances: lines are added there, and a
  replay of them then goes from place to place.

A main loop tells how it runs: begin, ran_iteration for each but the last, left.
"""

from __future__ import annotations

from dataclasses import dataclass, field

RESTORE_RATIO = 1.38  # c, as the paper measured it; a replay would know better, but little depends on it
DEFAULT_OVERHEAD = 1 / 15
DENSE = 1.0  # at this bound every candidate becomes a checkpoint
SHORTEST = 15.0  # seconds: with the default bound, first checkpoints have one second
# These are chosen by simulation, see test_typical_runs_cost_little_and_replay_quickly: a percent or two
# where that makes replays quick, and as little more as does so elsewhere.
THRIFT = 0.3  # of the bound: 2% of the run, by default
FORESEEN = 30.0  # seconds that a run is taken to last, for what thrift gives all of it
PATIENCE = 10.0  # seconds run again that are not felt: a replay takes some five to start
PATIENCE_SHARE = 0.1  # ... and this share of the run so far
UNFELT = 2.0  # seconds on the way to an iteration that are worth no checkpoint: to import torch takes as long
NEW_LOOPS = 4  # main loops whose entry is kept whatever it takes: one is likely the training
EARLY = 0.5  # for a better place a checkpoint comes by so much of its distance early or late
AGED = 2  # times as many executions as at the last checkpoint: then half of its cost is reckoned with
NEWEST = 1 / 3  # weight of the newest cost in the expected one


class Expected:
    """What the next of a series will likely be: a mean in which the newest weighs most."""

    __slots__ = ("value", "known")

    def __init__(self) -> None:
        self.value, self.known = 0.0, False

    def saw(self, value: float) -> None:
        self.value += (value - self.value) * (NEWEST if self.known else 1.0)
        self.known = True


@dataclass
class BlockCosts:
    """What is known of one block id so far; seconds, but for the counts.

    Attributes:
        compute_seconds: of all executions.
        spared: what checkpoints of all executions would have spared a replay.
        lack: what a replay runs again for want of checkpoints.
        spent: for checkpoints, the entry states they refer to, and the writing that others do.
        taken: how many executions there had been at the last checkpoint.
        unreported: checkpoints for which that writing has not been told yet.
        last: the last execution.
        prepare, stall, behind: what the next entry state, checkpoint and writing will likely take.
    """

    executions: int = 0
    checkpoints: int = 0
    compute_seconds: float = 0.0
    spared: float = 0.0
    lack: float = 0.0
    spent: float = 0.0
    taken: int = 0
    unreported: int = 0
    last: float = 0.0
    prepare: Expected = field(default_factory=Expected)
    stall: Expected = field(default_factory=Expected)
    behind: Expected = field(default_factory=Expected)

    @property
    def compute(self) -> float:
        """Mean seconds of one execution; infinite before the first."""
        return self.compute_seconds / self.executions if self.executions else float("inf")

    @property
    def cost(self) -> float:
        """What the next checkpoint will likely cost in all; zero before anything is known."""
        return self.prepare.value + self.stall.value + self.behind.value

    def ran(self, seconds: float, spared: float) -> None:
        self.executions += 1
        self.compute_seconds += seconds
        self.spared += spared
        self.lack += spared
        self.last = seconds


@dataclass
class Course:
    """How the main loop that is running has gone.

    Attributes:
        block, iterations: the ids of the loop as a whole, and of its iterations.
        seconds: of its iterations so far.
        coming: the number of the iteration that comes next.
        kept: seconds of the running iteration that checkpoints of blocks in it spare.
        ways: way through the body -> the last iteration that took it, and the distance to the one before.
        places: coming iterations that likely take a rare way -> that distance.
    """

    block: str = ""
    iterations: str = ""
    seconds: float = 0.0
    coming: int = 0
    kept: float = 0.0
    ways: dict[int, tuple[int, int]] = field(default_factory=dict)
    places: dict[int, int] = field(default_factory=dict)

    def ended(self, seconds: float, way: int) -> float:
        """An iteration has ended; what it takes on a replay."""
        number = self.coming
        latest, distance = self.ways.get(way, (number, 0))
        if number - latest == distance > 1:
            place = number + distance
            self.places[place] = max(distance, self.places.get(place, 0))
        self.ways[way] = number, number - latest
        self.places.pop(number, None)
        needed = max(seconds - self.kept, 0.0)
        self.seconds += seconds
        self.coming += 1
        self.kept = 0.0
        return needed

    def has_better(self, within: float) -> bool:
        """True if a rarer place than the coming iteration lies so many iterations ahead, or fewer."""
        rarity = self.places.get(self.coming, 0)
        return any(
            0 < place - self.coming < within and other > rarity for place, other in self.places.items()
        )


class Policy:
    """Decides, candidate by candidate, within one bound on the run's seconds.

    Blocks are named by ids of the caller's: one for a main loop as a whole, one for its iterations, one for
    each loop inside. `elapsed` is always the seconds since the run began. Asking changes nothing.

    Attributes:
        overhead: the bound. 0: no checkpoints; DENSE and more: all of them.
        blocks: what is known of each.
        spent: all that recording has cost.
        stalled: the part of it for which the program stood still.
    """

    def __init__(self, overhead: float = DEFAULT_OVERHEAD) -> None:
        self.overhead = overhead
        self.spent = 0.0
        self.stalled = 0.0
        self.blocks: dict[str, BlockCosts] = {}
        self._course = Course()
        self._new_loops = 0  # that had not run before and have their entry kept
        self._entries = 0.0  # what that took
        self._walk = 0.0  # what the last walk of a main loop's entry state took; checkpoints take as much

    def costs(self, block: str) -> BlockCosts:
        found = self.blocks.get(block)
        if found is None:
            found = self.blocks[block] = BlockCosts()
        return found

    # -- questions --------------------------------------------------------------------------
    def wants_entry(self, block: str, elapsed: float) -> bool:
        """True if the entry state of a main loop that begins is to be kept: no checkpoint in it without.

        A loop that has not run before may be the training, whatever has been spent: the first few are kept,
        and others as far as the entries alone are within the budget.
        """
        if not 0 < self.overhead < DENSE:
            return self.overhead > 0
        costs = self.costs(block)
        if not costs.executions:
            in_budget = self._entries + self._walk <= self.overhead * max(elapsed - self.stalled, SHORTEST)
            return self._new_loops < NEW_LOOPS or in_budget
        cost = max(costs.cost, self._walk)
        return _pays(costs, cost, self.overhead) and self._affords(cost, elapsed)

    def wants(self, block: str, elapsed: float) -> bool:
        """True if the coming execution of a loop inside is to be kept: its entry state, and its exit."""
        if not 0 < self.overhead < DENSE:
            return self.overhead > 0
        costs, rate = self.costs(block), self._thrift
        cost = costs.cost if costs.checkpoints else 2 * self._walk
        if not costs.checkpoints and costs.compute > RESTORE_RATIO * cost:
            return self._affords(cost + self._exit_cost, elapsed, first=True)
        if costs.lack + costs.compute > self._patience(elapsed):
            curable = min(1.0, self.overhead * costs.compute / cost) if cost else 1.0
            rate = max(rate, self.overhead * curable)  # the less of the lack it cures, the less is paid
        restoring_is_quicker = RESTORE_RATIO * cost < costs.compute
        pays = _pays(costs, cost, rate) or (restoring_is_quicker and self._is_left(cost, elapsed))
        return pays and self._affords(cost + self._exit_cost, elapsed)

    def wants_iteration(self, elapsed: float) -> bool:
        """True if the state at the top of the coming iteration is to be kept. Ask after ran_iteration."""
        if not 0 < self.overhead < DENSE:
            return self.overhead > 0
        course = self._course
        costs = self.costs(course.iterations)
        lack = costs.lack
        at_place = course.places.get(course.coming, 0) * costs.compute > lack * EARLY
        if lack <= UNFELT and not at_place:
            return False
        cost = costs.cost or self._walk
        if RESTORE_RATIO * cost >= lack or course.has_better(within=lack * EARLY / costs.compute):
            return False
        early = EARLY if at_place else 0.0
        pressing = not costs.checkpoints or lack * (1 + early) > self._patience(elapsed)
        rate = self.overhead if pressing else self._thrift
        in_rate = joint_invariant(costs.spent, cost * (1 - early), costs.spared, rate)
        return in_rate and self._affords(cost + self._exit_cost, elapsed)

    def wants_exit(self, elapsed: float) -> bool:
        """True if the state in which the main loop was left is to be kept. Ask after `left`.

        Every replay of all of the program looks for it, so no thrift here.
        """
        if not 0 < self.overhead < DENSE:
            return self.overhead > 0
        cost, lack = self._exit_cost, self.costs(self._course.iterations).lack
        return cost * RESTORE_RATIO < lack and self._affords(cost, elapsed, first=True)

    # -- reports ----------------------------------------------------------------------------
    def begin(self, block: str, iterations: str) -> None:
        """A main loop begins."""
        self._course = Course(block, iterations)
        self.costs(iterations).lack = 0.0

    def ran_iteration(self, seconds: float, way: int = 0) -> None:
        """An iteration of the main loop has ended; `way` stands for the branches and functions it ran."""
        needed = self._course.ended(seconds, way)
        self.costs(self._course.iterations).ran(seconds, needed)

    def left(self, seconds: float) -> None:
        """The main loop was left, so long after its last iteration began."""
        self.ran_iteration(seconds)
        self.costs(self._course.block).ran(self._course.seconds, self._course.seconds)

    def ran(self, block: str, seconds: float) -> None:
        """A loop inside has ended."""
        self.costs(block).ran(seconds, seconds)

    def prepared(self, block: str, seconds: float) -> None:
        """A block's entry state was kept: part of what its checkpoints cost."""
        costs = self.costs(block)
        if block == self._course.block:
            self._walk = seconds
            if not costs.executions:
                self._new_loops += 1
                self._entries += seconds
        costs.prepare.saw(seconds)
        costs.spent += seconds
        self.paid(seconds)

    def materialized(self, block: str, seconds: float, writing: bool = False) -> None:
        """A checkpoint was taken: of the coming iteration, or of a loop that has just ended.

        writing: another thread goes on with it; `background` will tell.
        """
        costs, course = self.costs(block), self._course
        costs.checkpoints += 1
        costs.unreported += writing
        costs.taken = costs.executions
        costs.stall.saw(seconds)
        costs.spent += seconds
        self.paid(seconds)
        if block == course.iterations:
            costs.lack = 0.0
        elif block != course.block:
            costs.lack -= costs.last
            course.kept += max(costs.last - RESTORE_RATIO * costs.cost, 0.0)

    def background(self, block: str, seconds: float) -> None:
        """What another thread worked for a checkpoint, once it is through."""
        costs = self.costs(block)
        costs.unreported = max(costs.unreported - 1, 0)
        costs.behind.saw(seconds)
        costs.spent += seconds
        self.spent += seconds

    def paid(self, seconds: float) -> None:
        """The program stood still so long for something that is no checkpoint's."""
        self.spent += seconds
        self.stalled += seconds

    # -- the rules --------------------------------------------------------------------------
    @property
    def _thrift(self) -> float:
        return THRIFT * self.overhead

    def _patience(self, elapsed: float) -> float:
        """Seconds of running again that are not felt."""
        return PATIENCE + PATIENCE_SHARE * elapsed

    @property
    def _exit_cost(self) -> float:
        """What the checkpoint at the main loop's exit will cost; kept in reserve for it."""
        course = self._course
        known = self.costs(course.block).stall.value or self.costs(course.iterations).cost
        return known or self._walk

    def _is_left(self, cost: float, elapsed: float) -> bool:
        """True if so much is left of what thrift gives the whole run, whichever block asks."""
        given = self._thrift * max(elapsed - self.stalled, FORESEEN)
        return self._spent_by_now + cost + self._exit_cost <= given

    def _affords(self, cost: float, elapsed: float, first: bool = False) -> bool:
        """True if the run's budget has so much left; that of a short run is for first checkpoints."""
        counted = elapsed - self.stalled
        if first:
            counted = max(counted, SHORTEST)
        return self._spent_by_now + cost <= self.overhead * counted

    @property
    def _spent_by_now(self) -> float:
        """What recording has cost, and what is being written will."""
        return self.spent + sum(costs.unreported * costs.behind.value for costs in self.blocks.values())


def joint_invariant(spent: float, cost: float, ran: float, bound: float) -> bool:
    """The paper's rule in sums: a checkpoint for `cost` after `spent`, of what will have run for `ran`."""
    return spent + cost < ran * min(1 / (1 + RESTORE_RATIO), bound)


def _pays(costs: BlockCosts, cost: float, bound: float) -> bool:
    """True if the block's coming execution is worth a checkpoint."""
    if costs.executions >= AGED * costs.taken:
        cost /= 2  # else a dear one, as first ones are, might stay the last
    restoring_is_quicker = RESTORE_RATIO * cost < costs.compute
    return restoring_is_quicker and joint_invariant(costs.spent, cost, costs.spared + costs.compute, bound)
