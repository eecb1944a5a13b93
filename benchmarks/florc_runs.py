"""What a recorded run of florc holds, read from its journal."""
from __future__ import annotations

import json
from pathlib import Path

# events that name the checkpoint taken there, if one was: the start of an iteration, the exit of a loop
_CARRIES_CHECKPOINT = {"I": 3, "X": 3}


def checkpoints(store: Path) -> int | None:
    """The number of checkpoints in the store's newest run; None if its journal is not as expected."""
    runs = sorted((store / "runs").iterdir(), key=lambda run: run.stat().st_mtime)
    try:
        lines = (runs[-1] / "journal.jsonl").read_bytes().splitlines()
        events = [json.loads(line) for line in lines if line[:4] in (b'["I"', b'["X"')]
        return sum(event[_CARRIES_CHECKPOINT[event[0]]] is not None for event in events)
    except (OSError, ValueError, IndexError):
        return None
