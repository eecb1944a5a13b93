"""When a checkpoint is taken: the joint invariant, and one budget for the whole run."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from florc.runtime.policy import (
    DEFAULT_OVERHEAD,
    GRACE_SECONDS,
    RESTORE_RATIO,
    BlockCosts,
    Policy,
    joint_invariant,
)

TINY = 1e-9  # sums of many floats


@dataclass
class Simulated:
    """One run of a loop around some blocks, each of fixed costs."""

    policy: Policy
    elapsed: float = 0.0
    compute: float = 0.0

    def block(self, name: str, compute: float, materialize: float) -> bool:
        """Run a block once; True if a checkpoint was taken."""
        self.elapsed += compute
        self.compute += compute
        self.policy.ran(name, compute)
        taken = self.policy.wants(name, self.elapsed)
        if taken:
            self.elapsed += materialize
            self.policy.materialized(name, materialize)
        return taken

    @property
    def budget(self) -> float:
        return GRACE_SECONDS + self.policy.overhead * self.elapsed


def costs(executions: int, checkpoints: int, compute: float, materialize: float) -> BlockCosts:
    """Costs of a block by means instead of sums."""
    return BlockCosts(executions, checkpoints, compute * executions, materialize * checkpoints)


@pytest.mark.parametrize(
    ("known", "overhead", "wanted"),
    [
        pytest.param(costs(0, 0, 0, 0), 1 / 15, True, id="nothing is known yet: the first is taken"),
        pytest.param(costs(1, 1, 1.0, 0.01), 1 / 15, True, id="M far below C: every time"),
        pytest.param(costs(1, 1, 1.0, 1.0), 1 / 15, False, id="M as dear as C: not the second time"),
        pytest.param(costs(30, 1, 1.0, 1.0), 1 / 15, True, id="M as dear as C: once in 15 pairs"),
        pytest.param(costs(28, 1, 1.0, 1.0), 1 / 15, False, id="... and not before that"),
        pytest.param(costs(3, 1, 1.0, 1.0), 0.9, False, id="a loose bound: restoring must pay"),
        pytest.param(costs(5, 1, 1.0, 1.0), 0.9, True, id="... which it does from 2 (1 + c) executions on"),
        pytest.param(costs(9, 0, 0.0, 0.0), 1 / 15, False, id="a block that takes no time is run again"),
    ],
)  # fmt: skip
def test_the_joint_invariant_weighs_saving_against_computing(known, overhead, wanted):
    assert joint_invariant(known, overhead) is wanted


def test_the_joint_invariant_is_the_papers_formula():
    for n in range(0, 40, 3):
        for k in range(1, 9):
            for ratio in (0.001, 0.05, 0.3, 1.0, 4.0):
                bound = (n + 1) / (k + 1) * min(1 / (1 + RESTORE_RATIO), DEFAULT_OVERHEAD)
                if n:
                    assert joint_invariant(costs(n, k, 2.0, 2.0 * ratio), DEFAULT_OVERHEAD) is (ratio < bound)


@pytest.mark.parametrize("ratio", [0.0001, 0.003, 0.02, 0.1, 0.5, 1.0, 5.0, 40.0])
@pytest.mark.parametrize("compute", [0.01, 1.0, 60.0])
def test_a_run_of_equal_blocks_stays_within_its_budget(ratio, compute):
    """The cost of the very first checkpoint is unknown: it alone may overshoot."""
    run, materialize = Simulated(Policy()), ratio * compute
    taken = [i for i in range(300) if run.block("b", compute, materialize)]
    assert run.policy.spent <= max(run.budget, materialize) + TINY
    if len(taken) > 1:
        assert run.policy.spent <= run.budget + TINY


@pytest.mark.parametrize("ratio", [0.0001, 0.003, 0.02, 0.1, 0.5, 1.0, 5.0])
def test_the_number_of_checkpoints_is_as_large_as_the_bound_allows(ratio):
    """k is about n * eps * C / M, at most n; blocks are long here, so that the grace does not count."""
    run, n = Simulated(Policy()), 600
    count = sum(run.block("b", 100.0, 100.0 * ratio) for _ in range(n))
    ideal = min(n, n * DEFAULT_OVERHEAD / ratio)
    assert 0.8 * ideal - 1 <= count <= ideal + 1


def test_checkpoints_are_spread_over_the_run():
    run = Simulated(Policy())
    taken = [i for i in range(600) if run.block("b", 10.0, 10.0)]
    gaps = [b - a for a, b in pairwise(taken)]
    assert len(taken) >= 30
    assert max(gaps) <= 2 * min(gaps[1:])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0.001, 20), st.floats(0.0001, 20)), min_size=1, max_size=12),
    st.sampled_from([0.01, DEFAULT_OVERHEAD, 0.3]),
    st.integers(5, 60),
)
def test_many_blocks_share_one_budget(blocks, overhead, rounds):
    """Nested or side by side: only a block's first checkpoint, whose cost is not known, may overshoot."""
    run = Simulated(Policy(overhead))
    known: set[int] = set()
    for _ in range(rounds):
        for i, (compute, materialize) in enumerate(blocks):
            before = run.budget
            spent = run.policy.spent
            if not run.block(f"b{i}", compute, materialize):
                continue
            if i in known:
                assert run.policy.spent <= run.budget + TINY
            else:
                assert spent <= before + overhead * compute + TINY  # it had not been overdrawn before
            known.add(i)


def test_a_short_run_keeps_its_first_checkpoint_however_dear():
    run = Simulated(Policy())
    assert run.block("b", 0.01, 0.9)
    assert not run.block("b", 0.01, 0.9)


def test_a_first_checkpoint_waits_while_the_budget_is_overdrawn():
    policy = Policy()
    policy.ran("a", 1.0)
    policy.materialized("a", 10.0)
    policy.ran("b", 1.0)
    assert not policy.wants("b", 2.0)
    assert policy.wants("b", 140.0)


@pytest.mark.parametrize(("overhead", "always"), [(1.0, True), (7.0, True), (0.0, False), (-1.0, False)])
def test_a_bound_of_one_takes_all_and_of_zero_takes_none(overhead, always):
    run = Simulated(Policy(overhead))
    assert [run.block("b", 0.001, 3.0) for _ in range(20)] == [always] * 20


def test_asking_changes_nothing():
    policy = Policy()
    policy.ran("b", 1.0)
    policy.materialized("b", 0.5)
    answers = {policy.wants("b", 100.0) for _ in range(5)}
    assert len(answers) == 1
    assert policy.costs("b") == BlockCosts(1, 1, 1.0, 0.5)
