"""What a recorded run of florc holds, read from its journal."""
from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# events that name the checkpoint taken there, if one was: the start of an iteration, the exit of a loop
_ITERATION, _EXIT = "I", "X"
_CHECKPOINT = 3  # its place in both


@dataclass(frozen=True)
class Kept:
    """What a run kept.

    Attributes:
        checkpoints: all of them, of the main loop's iterations and of the loops inside.
        states: the ends of main-loop iterations that they show: the loop inside that has just trained and the
            iteration that begins thereafter hold the same state, whose bytes are stored once.
    """

    checkpoints: int
    states: int


def kept(store: Path) -> Kept | None:
    """What the store's newest run kept; None if its journal is not as expected."""
    try:
        newest = max((store / "runs").iterdir(), key=lambda run: run.stat().st_mtime)
        lines = (newest / "journal.jsonl").read_bytes().splitlines()
        return count([json.loads(line) for line in lines if line[:4] in (b'["I"', b'["X"')])
    except (OSError, ValueError, IndexError):
        return None


def count(events: Iterable[Sequence[Any]]) -> Kept:
    """Count checkpoints, and the iterations at whose end one was taken."""
    checkpoints, iteration, ends = 0, -1, set()
    for event in events:
        begins = event[0] == _ITERATION
        if event[_CHECKPOINT] is not None:
            checkpoints += 1
            ends.add(iteration)  # what begins now still is what the iteration before left
        iteration += begins
    return Kept(checkpoints, len(ends))
