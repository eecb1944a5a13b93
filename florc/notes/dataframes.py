"""`florc.logs` and `florc.runs`: noted values and recorded runs as pandas data frames."""

from __future__ import annotations

import warnings
from typing import Any

from florc import project
from florc.errors import EXIT_REFUSED, FlorcError
from florc.runtime import runs as recorded
from florc.stored import describing

from . import reading
from .rows import Table, chosen, listed, pivoted


def logs(
    run: str | None = None, *, long: bool = False, source: str | None = None, store: str | None = None
) -> Any:
    """What a run (default: that recorded or noted in last) and its replays have noted, as a data frame.

    The variables of loops come first, the outermost loop's before those of the loops in it; then a column for
    each name, that of a replay's values called `NAME@replay` where there are recorded ones too. long: one row
    for each value instead. source: "record" or "replay" alone. store: its folder (else FLORC_DIR, else
    ./.florc). Values that may be missing or wrong are told in a warning. FlorcError without such a run, and
    without pandas.
    """
    frames = _pandas()
    noted = reading.of_run(project.store_folder(store), run)
    for doubt in noted.doubts:
        warnings.warn(f"not exact: {doubt}", stacklevel=2)
    rows = chosen(noted.rows, source)
    return _frame(frames, (listed if long else pivoted)(noted.run.run, rows))


def runs(*, store: str | None = None) -> Any:
    """The runs of a store as a data frame, oldest first: a row for each, a column for each fact."""
    frames = _pandas()
    found = recorded.all_runs(project.store_folder(store))
    return frames.DataFrame([describing.facts(run) for run in found])


def _frame(frames: Any, table: Table) -> Any:
    return frames.DataFrame([list(row) for row in table.rows], columns=list(table.columns))


def _pandas() -> Any:
    try:
        import pandas
    except ImportError:
        message = "florc.logs and florc.runs give data frames, and pandas is not installed"
        hint = "pip install 'florc[pandas]', or read: florc logs --json"
        raise FlorcError(message, hint=hint, exit_code=EXIT_REFUSED) from None
    return pandas
