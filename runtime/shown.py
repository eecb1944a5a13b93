"""What the program is shown of its own names: those that instrumentation adds are taken out.

Up to Python 3.12 a function's frame has one dict of its names, which `locals()` gives out and each `locals()`
and `dir()` brings up to date. Where florc asks the frame for its names too (`apart`), the program gets a dict
of its own, which is kept as that one would be.
"""

from __future__ import annotations

import sys
from typing import Any

from .roots import HIDDEN

_KEPT = HIDDEN + "<names>"  # where a frame's dict keeps the one that the program got
_ONE_A_FRAME = sys.version_info < (3, 13)


def listed(found: Any, alias: str, frame: Any, *, apart: bool) -> Any:
    """A copy of a list or dict of names (`dir()`, `sorted(globals())`) without those added."""
    if type(found) is list:
        if _ONE_A_FRAME and frame.f_code.co_flags & _OPTIMIZED:
            _renew(frame.f_locals, alias, frame, apart=apart)
        return [name for name in found if not _is_added(name, alias)]
    if isinstance(found, dict):
        return {name: value for name, value in found.items() if not _is_added(name, alias)}
    return found  # of a function of the program's own that is called so


_OPTIMIZED = 1  # the flag of code whose names are a function's


def snapshot(found: Any, alias: str, frame: Any, *, apart: bool) -> Any:
    """What `locals()` gives in a function, without the names added."""
    if not isinstance(found, dict) or (_ONE_A_FRAME and found is not frame.f_locals):
        return found
    if _ONE_A_FRAME and apart:
        found.setdefault(_KEPT, {})
    _renew(found, alias, frame, apart=_ONE_A_FRAME and apart)
    return found.get(_KEPT, found)


def _renew(names: dict[Any, Any], alias: str, frame: Any, *, apart: bool) -> None:
    """Bring the program's dict up to date with the frame's, which has just been."""
    own = names.get(_KEPT) if apart else names
    if own is names:
        for name in [name for name in names if _is_added(name, alias)]:
            del names[name]
    elif own is not None:
        code = frame.f_code
        for name in {*code.co_varnames, *code.co_cellvars, *code.co_freevars}.difference(names):
            own.pop(name, None)
        own.update((name, value) for name, value in names.items() if not _is_added(name, alias))


def cleared(names: dict[str, Any]) -> None:
    """Empty a frame's dict, but for the dict that the program got."""
    kept = names.get(_KEPT)
    names.clear()
    if kept is not None:
        names[_KEPT] = kept


def _is_added(name: Any, alias: str) -> bool:
    return type(name) is str and name.startswith((alias, _KEPT))
