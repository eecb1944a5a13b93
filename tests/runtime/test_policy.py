"""When a checkpoint is taken: the joint invariant, one budget, thrift; held by simulated runs."""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import accumulate, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from florc.runtime.policy import (
    DEFAULT_OVERHEAD,
    PATIENCE,
    PATIENCE_SHARE,
    RESTORE_RATIO,
    SHORTEST,
    THRIFT,
    UNFELT,
    Policy,
    joint_invariant,
)

MAIN, STEP = "loop (main)", "loop (iteration)"
TINY = 1e-9  # sums of many floats
TOO_DEAR = 1e9  # seconds
RATIOS = [1e-4, 1e-3, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 30.0, 1e3]  # M / C
BOUNDS = [0.01, 0.02, DEFAULT_OVERHEAD, 0.3]


# -- simulated programs ---------------------------------------------------------------------------
@dataclass(frozen=True)
class Block:
    """A loop inside the main loop: what its executions and its checkpoints take, by their numbers."""

    name: str
    compute: Callable[[int], float]
    stall: Callable[[int], float]
    behind: float = 0.0  # of the stall: what the writer takes besides, told an iteration later
    every: int = 1
    prepare: float = 0.25  # of the stall: the walk of the entry state


@dataclass(frozen=True)
class Loop:
    """A main loop: its blocks, its own seconds an iteration, and what a walk of its state takes."""

    iterations: int
    blocks: tuple[Block, ...] = ()
    own: float = 0.0
    walk: float = 0.001
    stall: float = 0.001


@dataclass
class Run:
    """A run of simulated main loops, on a clock of its own."""

    policy: Policy = field(default_factory=Policy)
    elapsed: float = 0.0
    compute: float = 0.0
    kept: dict[str, list[int]] = field(default_factory=dict)
    first_costs: float = 0.0  # of checkpoints that nothing was known of
    dearest: float = 0.0
    again: float = 0.0  # what runs again on a replay of lines outside the blocks
    reach: list[float] = field(default_factory=list)  # what runs again on a replay of one iteration
    late: list[tuple[str, float]] = field(default_factory=list)

    def works(self, seconds: float) -> None:
        self.elapsed += seconds
        self.compute += seconds

    def stalls(self, report: Callable[[str, float], None], name: str, seconds: float) -> None:
        self.elapsed += seconds
        report(name, seconds)

    def takes(self, name: str, number: int, seconds: float, writing: bool = False) -> None:
        if name not in self.kept:
            self.first_costs += seconds
        self.dearest = max(self.dearest, seconds)
        self.kept.setdefault(name, []).append(number)
        self.elapsed += seconds
        self.policy.materialized(name, seconds, writing)

    def loop(self, loop: Loop) -> Run:
        policy = self.policy
        policy.begin(MAIN, STEP)
        base = policy.wants_entry(MAIN, self.elapsed)
        if base:
            self.stalls(policy.prepared, MAIN, loop.walk)
        reach = 0.0
        for i in range(loop.iterations):
            if base and i and policy.wants_iteration(self.elapsed):
                self.takes(STEP, i, loop.stall)
                reach = 0.0
            self.reach.append(reach)
            began, again = self.compute, self.again
            way = tuple(i % block.every == 0 for block in loop.blocks)
            for block, runs in zip(loop.blocks, way, strict=True):
                if runs:
                    self.block(block, i // block.every)
            self.works(loop.own)
            self.again += loop.own
            reach += self.again - again
            if i < loop.iterations - 1:
                policy.ran_iteration(self.compute - began, hash(way))
        policy.left(self.compute - began)
        if base and policy.wants_exit(self.elapsed):
            self.takes(MAIN, loop.iterations, loop.stall)
        self.tell()
        return self

    def block(self, block: Block, number: int) -> None:
        kept = self.policy.wants(block.name, self.elapsed)
        cost = block.stall(number)
        if kept:
            self.stalls(self.policy.prepared, block.name, cost * block.prepare)
            self.dearest = max(self.dearest, cost * (1 + block.prepare + block.behind))
        seconds = block.compute(number)
        self.works(seconds)
        self.policy.ran(block.name, seconds)
        self.tell()
        if kept:
            self.takes(block.name, number, cost, block.behind > 0)
            if block.behind:
                self.late.append((block.name, cost * block.behind))
        self.again += RESTORE_RATIO * cost * (1 + block.prepare + block.behind) if kept else seconds

    def tell(self) -> None:
        """The writer is through with what it had."""
        for name, seconds in self.late:
            self.policy.background(name, seconds)
        self.late.clear()

    @property
    def share(self) -> float:
        """What recording cost, of what the program takes without it."""
        return self.policy.spent / self.compute

    def count(self, name: str) -> int:
        return len(self.kept.get(name, ()))


def even(seconds: float) -> Callable[[int], float]:
    return lambda number: seconds


def uneven(seconds: float) -> Callable[[int], float]:
    """Between a half and one and a half, drawn anew each time."""
    rng = random.Random(7)
    return lambda number: seconds * rng.uniform(0.5, 1.5)


def falling(seconds: float) -> Callable[[int], float]:
    """From the triple to a third within a few hundred executions."""
    return lambda number: seconds * max(3.0 * 0.99**number, 1 / 3)


def growing(seconds: float) -> Callable[[int], float]:
    return lambda number: seconds * min(1.01**number / 3, 3.0)


SHAPES = {
    "even": (even, even),
    "uneven": (uneven, uneven),
    "uneven, cheaper and cheaper": (uneven, falling),
    "even, dearer and dearer": (even, growing),
    "longer and longer": (growing, even),
}


# -- the joint invariant --------------------------------------------------------------------------
def test_the_joint_invariant_is_the_papers_formula_in_sums():
    for n in range(1, 40, 3):
        for k in range(9):
            for ratio in (0.001, 0.05, 0.3, 1.0, 4.0):
                for bound in (0.02, DEFAULT_OVERHEAD, 0.9):
                    papers = ratio < n / (k + 1) * min(1 / (1 + RESTORE_RATIO), bound)
                    materialize, compute = 2.0 * ratio, 2.0
                    assert joint_invariant(k * materialize, materialize, n * compute, bound) is papers


# -- the bound ------------------------------------------------------------------------------------
@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_bound_holds_whatever_checkpoints_cost(shape, bound):
    """Once the first ones, of which nothing was known, are paid for, no more than one checkpoint over it."""
    compute, stall = SHAPES[shape]
    for ratio in RATIOS:
        run = Run(Policy(bound))
        run.loop(Loop(400, (Block("train", compute(10.0), stall(10.0 * ratio)),), own=0.1))
        unknown = 2 * run.first_costs + SHORTEST * bound
        assert run.policy.spent <= max(bound * run.compute + run.dearest, unknown), ratio
        if bound * run.compute > 4 * unknown:
            assert run.share <= bound, ratio
            assert run.policy.spent <= bound * run.elapsed


@pytest.mark.parametrize("bound", BOUNDS)
def test_blocks_side_by_side_nested_and_with_a_writer_share_one_budget(bound):
    """The main loop's iterations hold the blocks: their checkpoints and the writer's work count once."""
    for seed in range(25):
        rng = random.Random(seed)
        blocks = tuple(
            Block(
                f"block {i}",
                uneven(10 ** rng.uniform(-2, 1)),
                uneven(10 ** rng.uniform(-3, 0)),
                behind=rng.choice([0.0, 0.5, 4.0]),
                every=rng.choice([1, 1, 3]),
            )
            for i in range(rng.randint(1, 5))
        )
        loop = Loop(300, blocks, own=rng.uniform(0, 0.5), walk=0.05, stall=rng.uniform(0.01, 1.0))
        run = Run(Policy(bound)).loop(loop)
        known = 2 * run.dearest + run.first_costs * 5 + SHORTEST * bound
        if bound * run.compute > known:
            assert run.share <= bound, seed
        assert run.policy.spent <= bound * run.compute + known, seed


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0.001, 20), st.floats(0.0001, 20)), min_size=1, max_size=8),
    st.sampled_from(BOUNDS),
    st.integers(5, 60),
)
def test_only_a_checkpoint_of_unknown_cost_overdraws_the_budget(costs, bound, rounds):
    run = Run(Policy(bound))
    policy, taken = run.policy, set()
    policy.begin(MAIN, STEP)
    for _ in range(rounds):
        for i, (compute, stall) in enumerate(costs):
            wanted = policy.wants(f"{i}", run.elapsed)
            before = policy.spent
            budget = bound * max(run.compute, SHORTEST if i not in taken else 0.0)
            run.works(compute)
            policy.ran(f"{i}", compute)
            if wanted:
                assert before <= budget + TINY
                run.takes(f"{i}", 0, stall)
                if i in taken:
                    assert policy.spent <= budget + TINY
                taken.add(i)


def test_what_a_writer_still_owes_is_reckoned_with():
    def policy(*told: float) -> Policy:
        policy = Policy()
        policy.begin(MAIN, STEP)
        for _ in range(3):
            policy.ran("train", 200.0)
            policy.materialized("train", 0.1, writing=True)
        for seconds in told:
            policy.background("train", seconds)
        return policy

    assert policy(10.0, 10.0, 10.0).spent == pytest.approx(30.3)
    assert not policy(10.0).wants("train", 600.0)  # 40 s are allowed: two more that take 10, and the next
    assert policy(10.0, 10.0, 1.0).wants("train", 600.0)


def test_the_writers_work_is_no_stall():
    """It does not lengthen the run by itself, so the time a block took is not to be lessened by it."""
    policy = Policy()
    policy.prepared("train", 1.0)
    policy.materialized("train", 2.0)
    policy.background("train", 4.0)
    policy.paid(8.0)
    assert (policy.spent, policy.stalled) == (15.0, 11.0)


# -- how many -------------------------------------------------------------------------------------
def most(costs: list[float], earned: list[float]) -> int:
    """The oracle, to which all costs are known: so many can be had, nothing being spent before it is earned.

    As a run has it, the first is taken on credit.
    """
    taken: list[float] = []  # negative: the dearest is the first to be given back
    spent = costs[0]
    for cost, allowed in zip(costs[1:], list(accumulate(earned))[1:], strict=True):
        if cost >= TOO_DEAR:
            continue
        heapq.heappush(taken, -cost)
        spent += cost
        while taken and spent > allowed:
            spent += heapq.heappop(taken)
    return 1 + len(taken)


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_thrift_buys_half_the_checkpoints_that_its_seconds_can_buy(shape, bound):
    compute, stall = SHAPES[shape]
    number = 600
    for ratio in RATIOS:
        run = Run(Policy(bound))
        run.loop(Loop(number, (Block("train", compute(30.0), stall(30.0 * ratio)),), own=0.1))
        again, train = stall(30.0 * ratio), compute(30.0)
        costs = [1.25 * again(i) for i in range(number)]
        seconds = [train(i) for i in range(number)]
        worth = [c if RESTORE_RATIO * c < s else TOO_DEAR for c, s in zip(costs, seconds, strict=True)]
        best = most(worth, [THRIFT * bound * s for s in seconds])
        assert best / 2 - 1 <= run.count("train"), ratio


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("ratio", RATIOS)
def test_where_checkpoints_are_missed_a_block_gets_more_the_more_the_bound_can_buy(ratio, bound):
    number, cost = 600, 1.25 * 30.0 * ratio
    run = Run(Policy(bound)).loop(Loop(number, (Block("train", even(30.0), even(30.0 * ratio)),), own=0.1))
    all_that_the_bound_buys = min(number, number * bound * 30.0 / cost)
    if RESTORE_RATIO * cost >= 30.0:
        assert run.count("train") <= 1 + math.log2(number)  # running again is quicker; costs may have changed
    elif bound * 30.0 > cost / 0.9:
        assert run.again <= 0.11 * run.compute + RESTORE_RATIO * cost * number + PATIENCE
    else:
        share = max(min(1.0, bound * 30.0 / cost), THRIFT)
        assert run.count("train") >= 0.8 * share * all_that_the_bound_buys - 1
        assert run.count("train") <= all_that_the_bound_buys + 1


def test_states_cheaper_than_thrift_are_all_kept():
    run = Run().loop(Loop(200, (Block("train", even(5.0), even(0.02)),), own=0.01))
    assert run.count("train") == 200
    assert run.share < 0.01


@pytest.mark.parametrize(
    ("epoch", "stall"),
    [(0.3, 0.01), (2.0, 0.01), (2.0, 0.05), (2.0, 0.08), (60.0, 0.05), (60.0, 1.0), (60.0, 3.0)],
)
def test_where_the_bound_can_pay_for_it_little_runs_again(epoch, stall):
    run = Run().loop(Loop(500, (Block("train", even(epoch), even(stall)),), own=0.01))
    restored = 500 * (RESTORE_RATIO * stall * 1.25 + 0.01)
    assert run.again - restored <= PATIENCE + PATIENCE_SHARE * run.elapsed + epoch
    assert run.share <= DEFAULT_OVERHEAD


@pytest.mark.parametrize("step", [0.001, 0.05, 3.0])
@pytest.mark.parametrize("stall", [0.002, 0.05, 1.5])
def test_no_iteration_is_further_from_a_checkpoint_than_is_felt_or_double_the_best(step, stall):
    """The best: as many as the bound can buy, at equal distances."""
    run = Run().loop(Loop(int(min(600 / step, 30_000)), own=step, walk=stall / 2, stall=stall))
    best = stall / DEFAULT_OVERHEAD
    assert max(run.reach) <= max(PATIENCE + PATIENCE_SHARE * run.elapsed, 2 * best) + step
    assert run.policy.spent <= DEFAULT_OVERHEAD * run.compute + stall / 2  # what the exit takes was not known
    gaps = [b - a for a, b in pairwise(run.kept.get(STEP, ()))]
    assert min(gaps, default=UNFELT / step) * step >= UNFELT - step


@pytest.mark.parametrize(
    ("loop", "share", "again"),
    [
        pytest.param((15, 1.2, 0.2, 0.005), 0.012, 0.35, id="a small classifier"),
        pytest.param((12, 1.5, 0.2, 0.015), 0.014, 0.12, id="a classifier"),
        pytest.param((10, 1.8, 0.3, 0.045), 0.028, 0.2, id="a large state, short epochs"),
        pytest.param((40, 0.4, 0.1, 0.010), 0.027, 0.1, id="many short epochs"),
        pytest.param((4, 5.0, 0.6, 0.030), 0.012, 0.05, id="few long epochs"),
        pytest.param((60, 55.0, 5.0, 0.4), 0.010, 0.03, id="an hour"),
        pytest.param((60, 58.0, 2.0, 0.4), 0.010, 0.03, id="an hour, short evaluations"),
        pytest.param((60, 550.0, 50.0, 4.0), 0.010, 0.05, id="ten hours"),
        pytest.param((120, 280.0, 20.0, 12.0), 0.058, 0.25, id="ten hours, a large state"),
    ],
)
def test_typical_runs_cost_little_and_replay_quickly(loop, share, again):
    """Shares of the plain run: what recording costs; what runs again for lines outside the inner loops."""
    epochs, train, evaluation, stall = loop
    blocks = (
        Block("train", even(train), even(stall / 2), behind=0.6),
        Block("evaluate", even(evaluation), even(stall / 4)),
    )
    run = Run(elapsed=3.0)  # the imports
    run.policy.paid(0.05)  # the audit
    run.loop(Loop(epochs, blocks, own=0.02, walk=stall / 4, stall=stall / 4))
    assert run.share <= share
    assert run.again <= again * run.compute
    assert max(run.reach) <= 2 * UNFELT + PATIENCE_SHARE * run.elapsed


def test_a_loop_whose_blocks_are_kept_needs_few_of_its_iterations_kept():
    blocks = (Block("train", even(2.0), even(0.005)),)
    kept = Run().loop(Loop(400, blocks, own=0.02, stall=0.005))
    bare = Run().loop(Loop(400, own=2.02, stall=0.005))
    assert kept.count("train") == 400
    assert kept.count(STEP) < bare.count(STEP) / 10
    assert max(kept.reach) < 2 * UNFELT


def test_checkpoints_are_spread_over_the_run():
    run = Run().loop(Loop(2000, own=1.0, walk=0.5, stall=1.0))
    gaps = [b - a for a, b in pairwise(run.kept[STEP])]
    assert len(gaps) > 15
    assert max(gaps) <= PATIENCE + PATIENCE_SHARE * run.elapsed + 1


# -- a flat loop over steps -----------------------------------------------------------------------
def placed(kept: list[int], every: int) -> float:
    """The share of these iterations, once a rhythm could be known, that are the first of so many."""
    later = [i for i in kept if i > 3 * every]
    return sum(i % every == 0 for i in later) / len(later)


@pytest.mark.parametrize("every", [20, 100, 500])
@pytest.mark.parametrize("stall", [0.003, 0.03])
def test_steps_that_evaluate_are_quick_to_reach(every, stall):
    """Nearly all checkpoints are theirs; where thrift can pay for it, each has its own."""
    evaluation = Block("evaluate", even(0.05), even(stall), every=every)
    run = Run().loop(Loop(10_000, (evaluation,), own=0.005, walk=stall, stall=stall))
    assert run.count(STEP) > 4
    assert placed(run.kept[STEP], every) >= 0.9
    if 1.5 * stall < THRIFT * DEFAULT_OVERHEAD * every * 0.005:
        assert run.count(STEP) >= 10_000 / every - 5


def test_of_two_rhythms_the_rarer_has_the_checkpoints():
    """A line of progress each ten steps, an evaluation each thousand."""
    progress = Block("progress", even(1e-4), even(0.1), every=10)
    evaluation = Block("evaluate", even(0.2), even(0.1), every=1000)
    run = Run().loop(Loop(30_000, (progress, evaluation), own=0.005, walk=0.03, stall=0.03))
    places = set(range(3000, 30_000, 1000))
    assert placed(run.kept[STEP], 10) > 0.9
    assert len(places.intersection(run.kept[STEP])) > 0.7 * len(places)


def test_branches_taken_at_odd_distances_change_nothing():
    rng = random.Random(3)
    steps = {rng.randrange(20_000) for _ in range(60)}
    policy = Policy()
    policy.begin(MAIN, STEP)
    elapsed, kept = 0.0, 0
    for i in range(20_000):
        if policy.wants_iteration(elapsed):
            policy.materialized(STEP, 0.02)
            elapsed, kept = elapsed + 0.02, kept + 1
        elapsed += 0.01
        policy.ran_iteration(0.01, int(i in steps))
    plain = Run().loop(Loop(20_000, own=0.01, walk=0.02, stall=0.02))
    assert kept >= 0.9 * plain.count(STEP)


def test_a_tight_bound_gives_fewer_checkpoints():
    counts = [
        Run(Policy(bound)).loop(Loop(20_000, own=0.005, walk=0.02, stall=0.02)).count(STEP)
        for bound in (0.005, 0.02, DEFAULT_OVERHEAD)
    ]
    assert 0 < counts[0] < counts[1] < counts[2]


# -- first checkpoints, entry states, exits -------------------------------------------------------
def test_a_short_run_keeps_its_first_checkpoints():
    blocks = (Block("train", even(0.05), even(0.1)), Block("evaluate", even(0.05), even(0.1)))
    run = Run().loop(Loop(20, blocks, walk=0.05, stall=0.1))
    assert (run.count("train"), run.count("evaluate")) == (1, 1)
    assert run.policy.spent <= DEFAULT_OVERHEAD * SHORTEST


def test_a_first_checkpoint_waits_while_the_budget_is_overdrawn():
    policy = Policy()
    policy.begin(MAIN, STEP)
    policy.ran("a", 1.0)
    policy.materialized("a", 10.0)
    policy.ran("b", 1.0)
    assert not policy.wants("b", 12.0)
    assert policy.wants("b", 170.0)


def test_a_loop_that_takes_no_time_keeps_neither_its_exit_nor_its_later_entries():
    run = Run()
    for _ in range(50):
        run.loop(Loop(3, own=0.0007, walk=0.02, stall=0.03))
    assert run.kept == {}
    assert run.policy.spent == pytest.approx(0.02)


def test_training_after_many_small_loops_is_kept():
    """Each other loop may be the training, so its entry is kept; together they leave enough for it."""
    run = Run()
    for i in range(20):
        run.policy.begin(f"{i} (main)", f"{i} (iteration)")
        assert run.policy.wants_entry(f"{i} (main)", run.elapsed)
        run.stalls(run.policy.prepared, f"{i} (main)", 0.02)
        run.works(0.002)
        run.policy.left(0.002)
        assert not run.policy.wants_exit(run.elapsed)
    run.loop(Loop(20, (Block("train", even(1.0), even(0.01)),), walk=0.02, stall=0.01))
    assert run.count("train") >= 10
    assert run.count(MAIN) == 1


def test_a_training_loop_that_runs_again_keeps_its_entry_again():
    run = Run()
    for _ in range(5):
        run.loop(Loop(20, (Block("train", even(1.0), even(0.01)),), walk=0.02, stall=0.01))
    assert run.count(MAIN) == 5


def test_the_exit_of_a_loop_finds_its_seconds_kept_back():
    """Blocks and iterations leave as much as it will take."""
    for stall in (0.3, 0.6, 1.2):
        run = Run().loop(Loop(60, (Block("train", even(4.0), even(stall)),), walk=0.1, stall=stall))
        assert run.count(MAIN) == 1, stall


# -- the ends of the scale ------------------------------------------------------------------------
@pytest.mark.parametrize(("overhead", "count"), [(1.0, 20), (7.0, 20), (0.0, 0), (-1.0, 0)])
def test_a_bound_of_one_takes_all_and_of_zero_takes_none(overhead, count):
    run = Run(Policy(overhead)).loop(Loop(20, (Block("b", even(0.001), even(3.0)),), walk=1.0, stall=2.0))
    assert run.count("b") == count
    assert run.count(STEP) == max(count - 1, 0)
    assert run.count(MAIN) == bool(count)
    assert bool(run.policy.spent) == bool(count)


def test_asking_changes_nothing():
    policy = Policy()
    policy.begin(MAIN, STEP)
    policy.prepared(MAIN, 0.1)
    policy.ran("b", 1.0)
    policy.materialized("b", 0.5)
    policy.ran_iteration(2.0)
    questions = (
        lambda: policy.wants("b", 100.0),
        lambda: policy.wants_iteration(100.0),
        lambda: policy.wants_entry(MAIN, 100.0),
        lambda: policy.wants_exit(100.0),
    )
    for question in questions:
        assert len({question() for _ in range(5)}) == 1
    assert policy.spent == 0.6
    assert policy.costs("b").executions == 1
