"""How iterations are spread over workers: simulated runs, from two to 64 workers."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from florc.spread.partition import longest, partition

WORKERS = range(2, 65)
EPOCHS = 200
EPOCH = 10.0  # seconds of an even one


@dataclass(frozen=True)
class Run:
    """Seconds of each epoch, and what it takes to begin with it; a checkpoint at every `every`-th."""

    seconds: list[float]
    start_up: list[float]
    every: int

    @classmethod
    def of(cls, every: int, uneven: bool, epochs: int = EPOCHS) -> Run:
        chance = random.Random(epochs)
        seconds = [chance.uniform(5, 15) if uneven else EPOCH for _ in range(epochs)]
        return cls(seconds, [sum(seconds[i - i % every : i]) for i in range(epochs)], every)

    @property
    def dearest(self) -> float:
        """The longest that one epoch alone takes, with the way to it: no shares are shorter than that."""
        return max(map(sum, zip(self.seconds, self.start_up, strict=True)))

    def bound(self, workers: int) -> float:
        return max(sum(self.seconds) / workers, self.dearest)

    def takes(self, workers: int) -> float:
        starts = partition(self.seconds, self.start_up, workers)
        assert starts[0] == 0 and len(starts) <= workers and starts == sorted(set(starts))
        return longest(self.seconds, self.start_up, starts)


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("uneven", [False, True], ids=["even", "uneven"])
@pytest.mark.parametrize("every", [1, 5, 20])
def test_the_longest_share_is_less_than_twice_the_ideal(workers, uneven, every):
    run = Run.of(every, uneven)
    assert run.bound(workers) <= run.takes(workers) * (1 + 1e-9)
    assert run.takes(workers) < 2 * run.bound(workers)
    assert run.takes(workers) <= sum(run.seconds) / workers + run.dearest


@pytest.mark.parametrize("workers", WORKERS)
def test_even_epochs_with_a_checkpoint_each_are_counted_out(workers):
    assert Run.of(1, uneven=False).takes(workers) == pytest.approx(-(-EPOCHS // workers) * EPOCH)


@pytest.mark.parametrize("workers", WORKERS)
def test_uneven_epochs_with_a_checkpoint_each_come_within_an_epoch_of_the_ideal(workers):
    run = Run.of(1, uneven=True)
    assert run.takes(workers) <= sum(run.seconds) / workers + max(run.seconds)


@pytest.mark.parametrize(
    ("workers", "speed_up"), [(2, 2), (5, 5), (9, 5), (10, 10), (16, 10), (64, 10)]
)
def test_a_fine_tuning_with_ten_checkpoints_is_as_fast_as_these_allow(workers, speed_up):
    """The paper's sparse case: 200 epochs, of which every twentieth begins with a checkpoint."""
    run = Run.of(20, uneven=False)
    assert sum(run.seconds) / run.takes(workers) == pytest.approx(speed_up, rel=0.01)


@pytest.mark.parametrize("workers", [2, 4, 8, 16])
def test_shares_begin_at_checkpoints_where_these_are_sparse(workers):
    run = Run.of(10, uneven=False, epochs=160)
    starts = partition(run.seconds, run.start_up, workers)
    assert longest(run.seconds, run.start_up, starts) == pytest.approx(sum(run.seconds) / workers)
    assert all(run.start_up[start] == 0 for start in starts)


def test_more_workers_than_checkpoints_gain_what_the_checkpoints_allow():
    run = Run.of(3, uneven=False, epochs=6)  # as of a fine-tuning that kept two
    assert run.takes(6) == pytest.approx(30.0)


def test_without_any_checkpoint_the_last_epoch_takes_all_of_it():
    run = Run.of(EPOCHS, uneven=False)
    assert run.takes(64) == pytest.approx(sum(run.seconds))


def test_nothing_to_run_makes_no_shares():
    assert partition([], [], 3) == []


@given(st.lists(st.floats(0.001, 100), min_size=1, max_size=12), st.integers(1, 12), st.data())
def test_no_other_shares_have_a_shorter_longest_one(
    seconds: list[float], workers: int, data: Any
) -> None:
    start_up = data.draw(st.lists(st.floats(0, 50), min_size=len(seconds), max_size=len(seconds)))
    starts = partition(seconds, start_up, workers)
    assert starts[0] == 0 and len(starts) <= workers and starts == sorted(set(starts))
    cuts = data.draw(st.sets(st.integers(1, max(len(seconds) - 1, 1)), max_size=workers - 1))
    other = [0, *sorted(cut for cut in cuts if cut < len(seconds))]
    assert longest(seconds, start_up, starts) <= longest(seconds, start_up, other) * (1 + 1e-9)
