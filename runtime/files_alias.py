"""Recognise a path named after the time: the replay's `runs/17-40` is the recorded run's `runs/09-12`."""
from __future__ import annotations

import re

from .files_state import Ledger

NUMBERS = re.compile(r"\d+")


def shape(path: str) -> str:
    """A path with all numbers made alike."""
    return NUMBERS.sub("0", path)


def recorded_name(path: str, ledger: Ledger) -> tuple[str, str] | None:
    """For a path that only the replay creates: its part that differs from the recorded one, and that one.

    The next creation in the record with the same shape is the one; if that was skipped, the only path of
    this shape that the run created. None if there is neither: then the path is new indeed.
    """
    wanted = shape(path)
    coming: list[tuple[int, str]] = []
    created: list[str] = []
    for other, node in ledger.nodes.items():
        if not node.recorded or shape(other) != wanted:
            continue
        places = [place for place, event in ledger.coming(node) if event[0] in ("mkdir", "write")]
        if places and not node.kind:
            coming.append((places[0], other))
        elif node.kind and node.history:
            created.append(other)
    if coming:
        return _difference(path, min(coming)[1])
    return _difference(path, created[0]) if len(created) == 1 else None


def _difference(path: str, recorded: str) -> tuple[str, str]:
    """Both paths down to the first part in which they differ."""
    parts, others = path.split("/"), recorded.split("/")
    last = next(i for i, (part, other) in enumerate(zip(parts, others, strict=True)) if part != other)
    return "/".join(parts[:last + 1]), "/".join(others[:last + 1])
