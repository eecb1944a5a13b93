"""florc: hindsight logging for model training. The face: command line, public API, running as `__main__`.

What enters is a command line, what leaves is the script's own output and exit code.
`__main__` pins the hash seed and hands over to `cli` (what was asked), which calls `recording`
or `replaying` (the steps of the two); both run the program through `runner` ("behave like
python" in one file) and `hook` (the modules it imports). Before a replay `selection` picks iterations
and `planning` foresees what becomes of them (`outlook` says it, `progress` draws the bar);
`searching` looks for the first difference (`bisection`, `truth`). `project` says what belongs to the
user's project, `cache` keeps instrumented code, `errors` and `messages` hold florc's own words.
`logged` is what programs call to note a value; `rows` makes a table of what runs and replays have noted,
which `showing` and `tables` print and `dataframes` gives to pandas.
A replay with several workers: `partition` cuts, `shares` say what each is told, `spreading` has it done by
`workers` (which follows them, starts dead ones again, prints in order) in a place: `local`, or `on_ray` with
`ray_node` on the cluster's machines. `remote` reads a store behind a URL.
Of the recorded runs, `describing` tells what they keep, `sharing` exports and imports, `collecting` frees
bytes (`choosing` says which runs go).

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
    "logs": "florc.dataframes",
    "runs": "florc.dataframes",
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
