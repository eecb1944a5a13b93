"""Finding the first place that shows something new, with several looks at once. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

Looks = Callable[[Sequence[int]], Mapping[int, bool]]  # at places; True where the new is seen


def first(count: int, at_once: int, look: Looks) -> int | None:
    """The first of so many places that shows the new; None if the last one does not.

    Takes for granted that it is seen from one place on for good. What is returned was looked at, and so was
    the place before it, which does not show it.

    Args:
        at_once: places that are looked at together.
    """
    if not count:
        return None
    seen = dict(look([0])) if at_once == 1 else dict(look(sorted({0, count - 1})))
    if seen[0]:
        return 0
    if count - 1 not in seen:
        seen.update(look([count - 1]))
    if not seen[count - 1]:
        return None
    low, high = 0, count - 1
    while high - low > 1:
        low, high = narrowed(low, high, look(between(low, high, at_once)))
    return high


def between(low: int, high: int, count: int) -> list[int]:
    """At most so many places between two others, at even distances."""
    count = min(count, high - low - 1)
    return [low + (high - low) * (k + 1) // (count + 1) for k in range(count)]


def narrowed(low: int, high: int, seen: Mapping[int, bool]) -> tuple[int, int]:
    """The two places between which it begins, after looks at some between them."""
    high = min([high, *(place for place, new in seen.items() if new)])
    return max([low, *(place for place, new in seen.items() if not new and place < high)]), high


def rounds(count: int, at_once: int) -> int:
    """How many times a search looks, at most."""
    ends = min(count, 2 if at_once == 1 else 1)
    return ends + (math.ceil(math.log(count - 1, at_once + 1)) if count > 2 else 0)
