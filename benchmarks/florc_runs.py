"""What a recorded run of florc holds, as `florc runs show --json` tells it."""
from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

SHOW = ("-m", "florc", "runs", "show", "--json")


@dataclass(frozen=True)
class Kept:
    """What a run kept.

    Attributes:
        checkpoints: all of them, of the main loop's iterations and of the loops inside.
        states: of the loop that has most; the others mostly show the same, stored once.
    """

    checkpoints: int
    states: int


def kept(text: str) -> Kept | None:
    """Read what the command wrote; None if that is not as expected."""
    try:
        return count(json.loads(text))
    except (ValueError, KeyError, TypeError):
        return None


def count(run: Mapping[str, Any]) -> Kept:
    counts = [int(loop["checkpoints"]) for loop in run["loops"]]
    return Kept(sum(counts), max(counts, default=0))
