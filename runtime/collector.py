"""Rest for Python's collector while florc makes many objects at once.

A walk makes thousands and lets go of nearly all. The collector would take them for the program's garbage and
look through all of its objects, again and again: a tenth of a second each time, where torch is loaded. One
that is due anyway comes when florc is through, so that it is no part of what a checkpoint is found to cost.

So it is while a library is imported, which makes as many, and lets go of none.
"""

from __future__ import annotations

import gc


class resting:
    """`with resting():` no collection starts within."""

    __slots__ = ("_was_on",)

    def __enter__(self) -> None:
        self._was_on = gc.isenabled()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        if self._was_on:
            gc.enable()
