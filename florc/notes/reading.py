"""The noted values of a run in the store, and what must be told of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from florc import trust
from florc.errors import EXIT_REFUSED, FlorcError
from florc.runtime import answers, journal, runs
from florc.runtime.errors import StoreError
from florc.runtime.runs import Run

from .rows import Row, rows_of


@dataclass(frozen=True)
class Noted:
    """The values of one run. doubts: why they may not be all, or not right, each in a sentence."""

    run: Run
    rows: list[Row]
    doubts: tuple[str, ...] = ()


def of_run(store: Path, name: str | None) -> Noted:
    """Read a run (default: that which was recorded or noted in last).

    FlorcError where there is none, or none that can be believed.
    """
    run = _find(store, name)
    read, kept = journal.read(run.folder, run.seal), answers.read(run.folder, run.seal)
    doubts = [*trust.flaws(run, read), *([kept.damage] if kept.damage else [])]
    doubts += [
        f"the replay {replay.id} was not exact: what it noted may differ from the recorded run"
        for replay in kept.replays
        if not replay.exact
    ]
    return Noted(run, rows_of(read.events, kept), tuple(doubts))


def _find(store: Path, name: str | None) -> Run:
    try:
        if name is not None:
            return runs.load(store, name)
        found = runs.all_runs(store)
    except StoreError as error:
        raise FlorcError(error.message, hint=error.hint, exit_code=EXIT_REFUSED) from None
    if not found:
        message = f"no runs in {store}"
        raise FlorcError(message, hint="record one with: florc record SCRIPT", exit_code=EXIT_REFUSED)
    return max(found, key=_last_noted)


def _last_noted(run: Run) -> float:
    """When the run was recorded, or a replay noted something in it."""
    files = (run.folder / journal.NAME, run.folder / answers.NAME)
    return max((file.stat().st_mtime for file in files if file.exists()), default=0.0)
