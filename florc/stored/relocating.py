"""A project that lies elsewhere than when it was recorded: moved, copied, or on another machine.

File events name absolute paths. Those below the project's old home are read as ones below its present home,
so that the replayed program, which names its files here, meets what the record says of them.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from florc import project
from florc.options import Target

# places of paths in a file event, by its kind; in all others it is the second field
_PATHS = {"rename": (1, 2), "link": (1, 2), "symlink": (1, 2)}


def home(target: Target, store: Path) -> str:
    """The folder that a program's own files lie in: the store's parent, where that holds the program."""
    if target.is_module:
        return os.path.realpath(os.getcwd())
    above, path = os.path.realpath(store.parent), os.path.realpath(target.name)
    return above if project.is_inside(path, above) else os.path.dirname(path)


def relocated(events: list[list[Any]], old: str, new: str) -> list[list[Any]]:
    """The events with their files in the new home."""
    if not old or old == new:
        return events
    return [_relocated(event, old, new) if event[0] == "f" else event for event in events]


def _relocated(event: list[Any], old: str, new: str) -> list[Any]:
    return [event[0], _moved(event[1], old.rstrip(os.sep), new.rstrip(os.sep)), *event[2:]]


def _moved(event: list[Any], old: str, new: str) -> list[Any]:
    moved = list(event)
    for place in _PATHS.get(event[0], (1,)):
        if project.is_inside(event[place], old):
            moved[place] = new + event[place][len(old) :]
    return moved
