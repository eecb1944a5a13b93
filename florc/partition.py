"""Spreading the iterations that a replay has to run over workers. Pure."""

from __future__ import annotations

from collections.abc import Sequence

PRECISION = 60  # halvings in the search for the longest share: to the last bit of a double


def partition(seconds: Sequence[float], start_up: Sequence[float], workers: int) -> list[int]:
    """Where each worker's share of consecutive items begins, so that the longest share is short.

    No other shares have a longest one that is shorter by more than the largest start-up.

    Args:
        seconds: what each item takes.
        start_up: what it takes to begin with this item (from the nearest checkpoint before it).
        workers: at most so many shares; each gets at least one item.
    """
    if not seconds:
        return []
    low, high = 0.0, sum(seconds) + max(start_up)
    best = [0]
    for _ in range(PRECISION):
        middle = (low + high) / 2
        starts = _greedy(seconds, start_up, middle, workers)
        if starts is None:
            low = middle
        else:
            best, high = starts, middle
    return best


def _greedy(
    seconds: Sequence[float], start_up: Sequence[float], limit: float, workers: int
) -> list[int] | None:
    """Shares that take at most `limit` each, as few as possible; None if they are too many."""
    starts = [0]
    spent = start_up[0]
    for item, cost in enumerate(seconds):
        if spent + cost > limit and starts[-1] != item:
            starts.append(item)
            spent = start_up[item]
        if spent + cost > limit or len(starts) > workers:
            return None
        spent += cost
    return starts


def longest(seconds: Sequence[float], start_up: Sequence[float], starts: Sequence[int]) -> float:
    """What the longest of these shares takes."""
    ends = [*starts[1:], len(seconds)]
    return max(
        start_up[first] + sum(seconds[first:end]) for first, end in zip(starts, ends, strict=True)
    )
