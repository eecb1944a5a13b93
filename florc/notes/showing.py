"""`florc logs`: print the noted values of a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import click

from florc import messages, project
from florc.errors import EXIT_INEXACT, EXIT_USAGE, FlorcError

from . import reading, tables
from .rows import Row, chosen, listed, pivoted


@dataclass(frozen=True)
class Asked:
    """What `florc logs` was asked for. pivot: a column for each name. form: "", "csv" or "json"."""

    run: str | None = None
    names: tuple[str, ...] = ()
    pivot: bool = False
    form: str = ""
    source: str | None = None
    store: str | None = None


def show(asked: Asked) -> int:
    """Print on standard output; 0, or 65 with the reasons where a value may be missing or wrong."""
    noted = reading.of_run(project.store_folder(asked.store), asked.run)
    name = noted.run.run
    asked = _known(asked, name, {row.name for row in noted.rows})
    rows = chosen(noted.rows, asked.source, asked.names)
    for line in _lines(asked, name, rows):
        click.echo(line)
    if not rows and not asked.form:
        hint = "programs, and added lines, note them with florc.log"
        if asked.source is not None and noted.rows:
            hint = f"none of a {asked.source}, {len(noted.rows)} others"
        messages.say(f"no values in the log of {name}: {hint}")
    for doubt in noted.doubts:
        messages.warning(f"not exact: {doubt}")
    return EXIT_INEXACT if noted.doubts else 0


def _known(asked: Asked, run: str, there: set[str]) -> Asked:
    """The wish, with names apart that were given with commas between them; FlorcError for unknown ones."""
    parts = [[name] if name in there else name.split(",") for name in asked.names]
    names = tuple(name for part in parts for name in part)
    unknown = [name for name in names if name not in there]
    if unknown:
        known = ", ".join(sorted(there)) or "none"
        message = f"--pivot: nothing is noted as {unknown[0]!r} in {run}"
        raise FlorcError(message, hint=f"names that are: {known}", exit_code=EXIT_USAGE)
    return replace(asked, names=names)


def _lines(asked: Asked, run: str, rows: list[Row]) -> Iterator[str]:
    if asked.form == "json" and not asked.pivot:
        yield from tables.rows_as_json(run, rows)
        return
    table = pivoted(run, rows, asked.names) if asked.pivot else listed(run, rows)
    if asked.form == "json":
        yield from tables.as_json(table)
    elif asked.form == "csv":
        yield from tables.as_csv(table).splitlines()
    elif rows:
        yield from tables.for_terminal(table)
