"""florc: hindsight logging for model training. The face: command line, public API, running as `__main__`.

What enters is a command line, what leaves is the script's own output and exit code.
`__main__` pins the hash seed and hands over to `cli` (what was asked), which calls `recording`
or `replaying` (the steps of the two); both run the program through `runner` ("behave like
python" in one file) and `hook` (the modules it imports). `matching` compares the edited project with the
recorded one, `project` says what belongs to it, `cache` keeps instrumented code, `errors` and
`messages` hold florc's own words, `progress` draws a replay's bar and `summary` tells its end.
`logged` is what programs call to note a value. Four rooms of their own:

    plans/   what a replay is to run: picked, foreseen, looked for
    spread/  a replay on several processes, of this machine or of a cluster
    notes/   what programs noted, as tables
    stored/  the recorded runs of a store, as users handle them

This module is imported by every instrumented program and must stay import-light: names load on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# public name -> the module that defines it
_LAZY = {
    "FlorcError": "florc.errors",
    "log": "florc.logged",
    "logs": "florc.notes.dataframes",
    "runs": "florc.notes.dataframes",
}

__all__ = ["FlorcError", "__version__", "log", "logs", "runs"]


def __getattr__(name: str) -> Any:
    """Load a public name on first use."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The names that are there, loaded or not."""
    return sorted({*globals(), *_LAZY})
