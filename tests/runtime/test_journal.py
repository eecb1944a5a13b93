"""The journal: every event in order, readable up to the last complete line."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from florc.runtime.journal import BATCH_BYTES, NAME, JournalWriter, read

TEXTS = [
    "",
    "plain",
    "two\nlines",
    "\x00\x1b[0m\r",
    "ünï\u2028cödé",
    "\udc80 a byte that is no text",
    "\U0001f600",
]
EVENTS = [["w", 1, "a.py", i, text, 0] for i, text in enumerate(TEXTS)]


def written(folder: Path, events: list[Any]) -> None:
    journal = JournalWriter(folder)
    for event in events:
        journal.add(event)
    journal.close()


def test_events_come_back_in_order_and_as_they_were(tmp_path):
    written(tmp_path, EVENTS)
    assert read(tmp_path) == EVENTS


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.lists(
            st.one_of(
                st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False),
                st.text(st.characters(exclude_categories=["Cs"])),
            ),
            min_size=1, max_size=5,
        ),
        max_size=15,
    )
)  # fmt: skip
def test_any_plain_event_comes_back(events):
    with tempfile.TemporaryDirectory() as name:
        written(Path(name), events)
        assert read(Path(name)) == events


def test_the_bytes_of_a_source_come_back_whatever_they_are(tmp_path):
    source = bytes(range(256))
    written(tmp_path, [["M", "m", "m.py", "/m.py", source.decode("latin-1")]])
    assert read(tmp_path)[0][4].encode("latin-1") == source


@pytest.mark.parametrize("cut", range(1, 30, 4))
def test_a_torn_last_line_is_left_out(tmp_path, cut):
    written(tmp_path, EVENTS)
    path = tmp_path / NAME
    path.write_bytes(path.read_bytes()[:-cut])
    assert read(tmp_path) == EVENTS[:-1]


def test_what_follows_a_damaged_line_is_left_out(tmp_path):
    written(tmp_path, EVENTS)
    lines = (tmp_path / NAME).read_bytes().splitlines(keepends=True)
    lines[3] = b'["w",1,\n'
    (tmp_path / NAME).write_bytes(b"".join(lines))
    assert read(tmp_path) == EVENTS[:3]


def test_bytes_that_are_no_text_count_as_damage(tmp_path):
    written(tmp_path, EVENTS[:2])
    with open(tmp_path / NAME, "ab") as stream:
        stream.write(b'"\xff\xfe"\n')
    assert read(tmp_path) == EVENTS[:2]


def test_no_journal_is_an_empty_one(tmp_path):
    assert read(tmp_path) == []


def test_output_is_on_its_way_to_the_disk_at_once_and_with_it_all_before(tmp_path):
    journal = JournalWriter(tmp_path)
    journal.add(["L", "a"])
    assert read(tmp_path) == []
    journal.add(["w", 1, "", 0, "text", 0], now=True)
    assert [event[0] for event in read(tmp_path)] == ["L", "w"]
    journal.close()


def test_events_are_not_gathered_without_end(tmp_path):
    journal = JournalWriter(tmp_path)
    for i in range(3 * BATCH_BYTES // 100):
        journal.add(["c", "time", i, "x" * 100])
    assert (tmp_path / NAME).stat().st_size > BATCH_BYTES
    journal.close()


def test_sequence_numbers_count_from_zero(tmp_path):
    journal = JournalWriter(tmp_path)
    assert [journal.add(["n", str(i)], now=i % 2 == 0) for i in range(4)] == [0, 1, 2, 3]
    journal.close()
    assert len(read(tmp_path)) == journal.count == 4


def test_a_short_write_is_finished(tmp_path, monkeypatch):
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, bytes(data[:7])))
    written(tmp_path, EVENTS)
    monkeypatch.undo()
    assert read(tmp_path) == EVENTS
