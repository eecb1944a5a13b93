"""A table of noted values for a terminal, as CSV, or as JSON lines."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from typing import Any

from .rows import Row, Table

MAX_CELL = 60  # characters of a cell on a terminal; --csv and --json have all


def for_terminal(table: Table) -> Iterator[str]:
    """Lines with columns side by side: numbers to the right, text to the left."""
    right = [all(_is_number(row[i]) for row in table.rows) for i in range(len(table.columns))]
    cells = [[_short(_text(cell)) for cell in row] for row in (table.columns, *table.rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        parts = zip(row, widths, right, strict=True)
        yield "  ".join(
            cell.rjust(width) if to_right else cell.ljust(width) for cell, width, to_right in parts
        ).rstrip()


def _is_number(cell: Any) -> bool:
    return cell is None or type(cell) in (int, float)


def _text(cell: Any) -> str:
    """A value as people write it: text bare, the rest as JSON has it."""
    if cell is None:
        return ""
    return cell if type(cell) is str else json.dumps(cell)


def _short(text: str) -> str:
    """On one line, with nothing in it that a terminal would obey."""
    shown = "".join(letter if letter.isprintable() else "?" for letter in text)
    return shown if len(shown) <= MAX_CELL else shown[: MAX_CELL - 1] + "…"


def as_csv(table: Table) -> str:
    """Comma-separated values, with a heading."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerows([_text(cell) for cell in row] for row in (table.columns, *table.rows))
    return out.getvalue()


def as_json(table: Table) -> Iterator[str]:
    """One object a line, of the table's cells by their headings."""
    for row in table.rows:
        yield json.dumps(dict(zip(table.columns, row, strict=True)))


def rows_as_json(run: str, rows: list[Row]) -> Iterator[str]:
    """One object a line, with all that is known of a value."""
    for row in rows:
        yield json.dumps({"run": run, **vars(row), "context": dict(row.context)})
