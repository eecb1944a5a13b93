"""Rest for Python's collector while florc makes many objects at once.

A walk makes thousands and lets go of nearly all. The collector would take them for the program's garbage and
look through all of its objects, again and again: a tenth of a second each time, where torch is loaded.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def resting() -> Iterator[None]:
    """No collection starts within."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
