"""Noted values as rows and tables: whose they are, where in the run, and in which columns."""

from __future__ import annotations

from typing import Any

import pytest

from florc.notes import tables
from florc.notes.rows import Row, Table, chosen, listed, pivoted, rows_of
from florc.runtime.answers import Answer, Answers, Replay


def row(name: str, value: object, *context: tuple[str, object], source: str = "record") -> Row:
    return Row(source, context, name, value, "", "train.py", 1)


def replayed(name: str, value: object, *context: tuple[str, object]) -> Row:
    return row(name, value, *context, source="replay")


def test_answers_stand_where_the_replay_was_in_the_recorded_run():
    def value(number: float, epoch: int) -> list[Any]:
        return ["v", "t.py", 4, "loss", number, "", [["epoch", epoch]]]

    events: list[list[Any]] = [["L", "a"], value(0.5, 0), ["w", 1, "t.py", 5, "x", 0], value(0.25, 1)]
    noted = [Answer(at, "t.py", 6, "w", at, "", [["epoch", 9]], "r") for at in (1, 2, 4)]
    found = rows_of(events, Answers((Replay("r", "now", False),), tuple(noted)))
    assert [(one.source, one.value, one.exact) for one in found] == [
        ("replay", 1, False), ("record", 0.5, True), ("replay", 2, False), ("record", 0.25, True),
        ("replay", 4, False),
    ]  # fmt: skip
    assert found[1] == Row("record", (("epoch", 0),), "loss", 0.5, "", "t.py", 4)


E0, E1, S0 = ("epoch", 0), ("epoch", 1), ("step", 0)
LISTED = [
    ([], ("run", "source", "name", "value"), []),
    ([row("a", 1)], ("run", "source", "name", "value"), [("r", "record", "a", 1)]),
    (
        [row("a", 1), row("b", 2, E0, S0), replayed("c", 3, E0)],
        ("run", "source", "epoch", "step", "name", "value"),
        [
            ("r", "record", None, None, "a", 1),
            ("r", "record", 0, 0, "b", 2),
            ("r", "replay", 0, None, "c", 3),
        ],
    ),
    (
        [row("a", 1, S0), row("a", 1, E0, S0)],
        ("run", "source", "epoch", "step", "name", "value"),
        [("r", "record", None, 0, "a", 1), ("r", "record", 0, 0, "a", 1)],
    ),
    (
        [row("a", 1, ("name", "w"))],
        ("run", "source", "name (loop)", "name", "value"),
        [("r", "record", "w", "a", 1)],
    ),
]


@pytest.mark.parametrize(("rows", "columns", "wanted"), LISTED)
def test_listed_has_a_row_for_each_value(rows, columns, wanted):
    assert listed("r", rows) == Table(columns, tuple(wanted))


PIVOTED = [
    (
        [row("a", 1, E0), row("b", 2, E0), row("a", 3, E1)],
        (),
        ("run", "source", "epoch", "a", "b"),
        [("r", "record", 0, 1, 2), ("r", "record", 1, 3, None)],
    ),
    (
        [row("a", 1, E0), row("b", 2, E0)],
        ("b",),
        ("run", "source", "epoch", "b", "a"),
        [("r", "record", 0, 2, 1)],
    ),
    (
        [row("a", 1, E0), row("a", 2, E0)],
        (),
        ("run", "source", "epoch", "a"),
        [("r", "record", 0, 1), ("r", "record", 0, 2)],
    ),
    (
        [row("a", 1, E0), replayed("w", 2, E0), replayed("w", 3, E1)],
        (),
        ("run", "source", "epoch", "a", "w@replay"),
        [("r", "both", 0, 1, 2), ("r", "replay", 1, None, 3)],
    ),
    (
        [row("a", 1, E0), replayed("a", 2, E0)],
        ("a",),
        ("run", "source", "epoch", "a", "a@replay"),
        [("r", "both", 0, 1, 2)],
    ),
    ([replayed("w", 2, E0)], (), ("run", "source", "epoch", "w"), [("r", "replay", 0, 2)]),
    ([row("epoch", 7, E0)], (), ("run", "source", "epoch (loop)", "epoch"), [("r", "record", 0, 7)]),
]


@pytest.mark.parametrize(("rows", "names", "columns", "wanted"), PIVOTED)
def test_pivoted_has_a_row_for_each_place_and_a_column_for_each_name(rows, names, columns, wanted):
    assert pivoted("r", rows, names) == Table(columns, tuple(wanted))


def test_rows_are_chosen_by_source_and_name():
    rows = [row("a", 1), row("b", 2), replayed("a", 3)]
    assert [one.value for one in chosen(rows, None)] == [1, 2, 3]
    assert [one.value for one in chosen(rows, "replay")] == [3]
    assert [one.value for one in chosen(rows, "record", ("a",))] == [1]


TABLE = Table(
    ("run", "epoch", "name", "x"), (("r", 0, "a\x1b[31m", 0.5), ("r", None, "b", None), ("r", 10, "", 3))
)


def test_on_a_terminal_numbers_stand_to_the_right_and_nothing_is_obeyed():
    assert list(tables.for_terminal(TABLE)) == [
        "run  epoch  name      x",
        "r        0  a?[31m  0.5",
        "r           b",
        "r       10            3",
    ]


def test_csv_and_json_have_all_of_it():
    table = Table(("a", "b,c"), ((1.5, 'x "y"\n'), (None, [1, True])))
    assert tables.as_csv(table) == 'a,"b,c"\n1.5,"x ""y""\n"\n,"[1, true]"\n'
    assert list(tables.as_json(table)) == [
        '{"a": 1.5, "b,c": "x \\"y\\"\\n"}',
        '{"a": null, "b,c": [1, true]}',
    ]
    assert list(tables.rows_as_json("r", [replayed("w", 2, E0)])) == [
        '{"run": "r", "source": "replay", "context": {"epoch": 0}, "name": "w", "value": 2, "note": "", '
        '"file": "train.py", "line": 1, "replay": "", "exact": true}'
    ]
