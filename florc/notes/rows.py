"""What a run and its replays have noted by `florc.log`, as rows, and as a table of rows or of columns. Pure.

In: the events of a journal and the answers beside it. Out: `Row`s in the order of the run, each with its
source, and `Table`s for people and programs. Recorded values and those of replays never share a column.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from florc.runtime.answers import Answers
from florc.runtime.script import Event

RECORD, REPLAY, BOTH = "record", "replay", "both"
OF_REPLAYS = "@replay"  # behind a column's name, where the table has recorded values too
OF_LOOPS = " (loop)"  # behind the name of a loop's variable, where the table has another column of that name

Context = tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Row:
    """One value.

    note: what the value was, where it is but its text. replay: which one noted it; "" for the recorded run.
    exact: False where that replay was not.
    """

    source: str
    context: Context
    name: str
    value: Any
    note: str
    file: str
    line: int
    replay: str = ""
    exact: bool = True


@dataclass(frozen=True)
class Table:
    """Cells under headings; None where there is no value."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


def rows_of(events: Sequence[Event], answers: Answers) -> list[Row]:
    """All values, in the order of the run: an answer stands before the event that came next."""
    exact = {replay.id: replay.exact for replay in answers.replays}
    placed = [
        (one.at, 0, Row(REPLAY, _context(one.context), one.name, one.value, one.note, one.file, one.line,
                        one.replay, exact[one.replay]))
        for one in answers.rows
    ]  # fmt: skip
    placed += [
        (at, 1, Row(RECORD, _context(event[6]), event[3], event[4], event[5], event[1], event[2]))
        for at, event in enumerate(events)
        if event[0] == "v"
    ]
    return [row for _, _, row in sorted(placed, key=lambda one: one[:2])]


def _context(pairs: list[list[Any]]) -> Context:
    return tuple((column, value) for column, value in pairs)


def chosen(rows: Iterable[Row], source: str | None, names: Collection[str] = ()) -> list[Row]:
    """The rows of one source, and of some names."""
    return [row for row in rows if source in (None, row.source) and (not names or row.name in names)]


def listed(run: str, rows: Sequence[Row]) -> Table:
    """One row for each value."""
    loops = _loops(rows)
    fixed = ("name", "value")
    head = ("run", "source")
    columns = (*head, *_apart(loops, (*head, *fixed)), *fixed)
    return Table(
        columns,
        tuple((run, row.source, *_cells(row.context, loops), row.name, row.value) for row in rows),
    )


def pivoted(run: str, rows: Sequence[Row], names: Sequence[str] = ()) -> Table:
    """One row for each place in the run, one column for each name, those of `names` first.

    A name that is noted several times in one place (under the same loops) has as many rows there.
    """
    loops = _loops(rows)
    mixed = {row.source for row in rows} == {RECORD, REPLAY}
    places: dict[tuple[Context, int], dict[str, Row]] = {}
    met: dict[tuple[Context, str], int] = {}
    for row in rows:
        column = _column(row, mixed)
        count = met[row.context, column] = met.get((row.context, column), 0) + 1
        places.setdefault((row.context, count), {})[column] = row
    head, values = ("run", "source"), _in_order(rows, names, mixed)
    return Table(
        (*head, *_apart(loops, (*head, *values)), *values),
        tuple(
            (run, _source(found), *_cells(context, loops), *(_value(found.get(column)) for column in values))
            for (context, _), found in places.items()
        ),
    )


def _column(row: Row, mixed: bool) -> str:
    return row.name + OF_REPLAYS if mixed and row.source == REPLAY else row.name


def _in_order(rows: Sequence[Row], names: Sequence[str], mixed: bool) -> tuple[str, ...]:
    """The columns of values."""
    found = list(dict.fromkeys(_column(row, mixed) for row in rows))
    wanted = [column for name in names for column in (name, name + OF_REPLAYS) if column in found]
    return tuple(dict.fromkeys([*wanted, *found]))


def _source(found: dict[str, Row]) -> str:
    sources = {row.source for row in found.values()}
    return BOTH if len(sources) > 1 else sources.pop()


def _value(row: Row | None) -> Any:
    return None if row is None else row.value


def _loops(rows: Sequence[Row]) -> tuple[str, ...]:
    """The columns of the loops, an inner one's behind that of the loop around it."""
    found: list[str] = []
    for context in dict.fromkeys(tuple(column for column, _ in row.context) for row in rows):
        place = 0
        for column in context:
            if column not in found:
                found.insert(place, column)
            place = found.index(column) + 1
    return tuple(found)


def _cells(context: Context, loops: tuple[str, ...]) -> tuple[Any, ...]:
    values = dict(context)
    return tuple(values.get(column) for column in loops)


def _apart(loops: tuple[str, ...], taken: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(column + OF_LOOPS if column in taken else column for column in loops)
