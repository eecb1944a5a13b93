"""Spreading the iterations that a replay has to run over workers. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

PRECISION = 60  # halvings in the search for the longest share: to the last bit of a double


def partition(seconds: Sequence[float], start_up: Sequence[float], workers: int) -> list[int]:
    """Where each worker's share of consecutive items begins, so that the longest share is as short as can be.

    Args:
        seconds: what each item takes.
        start_up: what it takes to begin with this item (from the nearest checkpoint before it).
        workers: at most so many shares; each gets at least one item.
    """
    if not seconds:
        return []
    until = [0.0, *accumulate(seconds)]
    low, high = 0.0, until[-1] + start_up[0]
    best = [0]
    for _ in range(PRECISION):
        middle = (low + high) / 2
        starts = _within(until, start_up, middle, workers)
        if starts is None:
            low = middle
        else:
            best, high = starts, middle
    return best


def _within(
    until: Sequence[float], start_up: Sequence[float], limit: float, workers: int
) -> list[int] | None:
    """Shares that take at most `limit` each, as few as possible; None if they are too many.

    What k shares can cover is all items up to some end. The next share may so begin at any item up to that
    end (an earlier one perhaps, where a checkpoint lies), and begins where it comes farthest.

    until: what all items before this one take.
    """
    items = len(until) - 1
    end, starts, place = _reach(until, start_up, limit, 0), [0], 1
    while end < items:
        far, begin = end, -1
        for item in range(place, end + 1):
            reached = _reach(until, start_up, limit, item)
            if reached > far:
                far, begin = reached, item
        if begin < 0 or len(starts) == workers:
            return None
        place, end = end + 1, far
        starts.append(begin)
    return starts


def _reach(until: Sequence[float], start_up: Sequence[float], limit: float, first: int) -> int:
    """The end of the longest share from this item on."""
    left = limit - start_up[first]
    return bisect_right(until, until[first] + left, lo=first) - 1 if left >= 0 else first


def longest(seconds: Sequence[float], start_up: Sequence[float], starts: Sequence[int]) -> float:
    """What the longest of these shares takes."""
    ends = [*starts[1:], len(seconds)]
    return max(
        start_up[first] + sum(seconds[first:end]) for first, end in zip(starts, ends, strict=True)
    )
