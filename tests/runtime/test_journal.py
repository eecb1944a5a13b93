"""The journal: every event in order, readable up to the last complete line."""

from __future__ import annotations

import errno
import os
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from florc.runtime.journal import BATCH_BYTES, NAME, JournalWriter, read, write_again
from florc.runtime.seal import Seal
from tests.runtime.sealed import SEAL

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


def written(folder: Path, batches: list[list[Any]], seal: Seal = SEAL) -> None:
    """Write each of the lists of events as a batch."""
    journal = JournalWriter(folder, seal)
    for batch in batches:
        for event in batch:
            journal.add(event)
        journal.flush()
    journal.close()


def events(folder: Path) -> list[Any]:
    """The events of a sound journal."""
    found = read(folder, SEAL)
    assert found.damage == ""
    return found.events


def test_events_come_back_in_order_and_as_they_were(tmp_path):
    written(tmp_path, [EVENTS])
    assert events(tmp_path) == EVENTS


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
def test_any_plain_event_comes_back(parts):
    found = [["unknown", *part] for part in parts]
    with tempfile.TemporaryDirectory() as name:
        written(Path(name), [found])
        assert events(Path(name)) == found


def test_the_bytes_of_a_source_come_back_whatever_they_are(tmp_path):
    source = bytes(range(256))
    written(tmp_path, [[["M", "m", "m.py", "/m.py", source.decode("latin-1")]]])
    assert events(tmp_path)[0][4].encode("latin-1") == source


@pytest.mark.parametrize("cut", range(1, 60, 5))
def test_a_torn_last_batch_is_left_out_and_is_no_damage(tmp_path, cut):
    written(tmp_path, [EVENTS[:-1], EVENTS[-1:]])
    path = tmp_path / NAME
    path.write_bytes(path.read_bytes()[:-cut])
    assert events(tmp_path) == EVENTS[:-1]


def test_nothing_after_a_damaged_line_is_believed_nor_of_its_batch(tmp_path):
    written(tmp_path, [EVENTS[:2], EVENTS[2:4], EVENTS[4:]])
    path = tmp_path / NAME
    path.write_bytes(path.read_bytes().replace(b'"a.py",3', b'"a.py",4'))
    found = read(tmp_path, SEAL)
    assert found.events == EVENTS[:2]
    assert f"damaged between byte {found.end} and byte" in found.damage


def test_a_batch_cannot_be_left_out_moved_or_taken_from_another_run(tmp_path):
    for name, batches, seal in [
        ("a", [EVENTS[:2], EVENTS[2:4], EVENTS[4:]], SEAL),
        ("b", [EVENTS[:2], EVENTS[2:4], EVENTS[4:]], Seal(b"of another run")),
    ]:
        (tmp_path / name).mkdir()
        written(tmp_path / name, batches, seal)
    one, two, three = parts((tmp_path / "a" / NAME).read_bytes())
    other = parts((tmp_path / "b" / NAME).read_bytes())
    for changed, kept in [
        ([two, three], 0),
        ([one, three], 2),
        ([one, three, two], 2),
        ([one, one, two], 2),
        ([one, other[1], three], 2),
        ([other[0], two, three], 0),
        (other, 0),
    ]:
        (tmp_path / "a" / NAME).write_bytes(b"".join(changed))
        found = read(tmp_path / "a", SEAL)
        assert found.events == EVENTS[:kept]
        assert found.damage


def parts(data: bytes) -> list[bytes]:
    """A journal's batches."""
    return re.findall(rb"(?:\[.*\n)+=.*\n", data)


@settings(max_examples=300, deadline=None)
@given(place=st.integers(0, 10**6), bit=st.integers(0, 7))
def test_a_flipped_bit_anywhere_is_told_or_hides_the_last_batch_alone(place, bit):
    batches = [EVENTS[:2], EVENTS[2:4], EVENTS[4:]]
    with tempfile.TemporaryDirectory() as name:
        written(Path(name), batches)
        path = Path(name) / NAME
        data = bytearray(path.read_bytes())
        data[place % len(data)] ^= 1 << bit
        path.write_bytes(data)
        found = read(Path(name), SEAL)
        assert found.events in ([], EVENTS[:2], EVENTS[:4], EVENTS)
        assert found.damage or len(found.events) >= len(EVENTS[:4])


@pytest.mark.parametrize(
    "event",
    [
        ["f", ["write", "/a/../../etc/passwd", 1, 0]],
        ["f", ["write", "relative", 1, 0]],
        ["f", ["mkdir", "/a//b"]],
        ["f", ["remove", "/a\0b"]],
        ["f", ["rename", "/a", "/b/."]],
        ["f", ["prior", "/a", True, "file", "../../etc/passwd", "", 0]],
        ["f", ["prior", "/a", True, "file", "0" * 32, "", "../../x"]],
        ["f", ["read", "/a", 1, "0" * 32, "", 1 << 70, 0]],
        ["f", ["unheard", "/a"]],
        ["f", "write"],
        ["B", "../../../etc/passwd"],
        ["I", 0, {}, ["a", "b", "c"], 0],
        ["I", 0, {}, "x"],
        ["X", "end", 0.5, None],
        ["H", 0, [1]],
        ["M", "m", "m\0.py", "/m.py", ""],
        ["M", "m", "m.py", "/m.py", "\u20ac"],
        ["R", "random", [3, [0], None]],
        ["w", 1, "a.py", "1", "text", 0],
        ["w", 1, "a.py", 1, "text", ["a", "1"]],
        ["E", None, False, 0],
        [],
        {},
        [1],
        "L",
    ],
    ids=str,
)
def test_what_is_no_event_is_damage_though_its_seal_is_right(tmp_path, event):
    written(tmp_path, [EVENTS[:2], [event], EVENTS[2:]])
    found = read(tmp_path, SEAL)
    assert found.events == EVENTS[:2]
    assert "no event" in found.damage


def test_without_the_key_the_plain_checksums_tell_damage(tmp_path):
    written(tmp_path, [EVENTS[:2], EVENTS[2:]], Seal(b"of somebody else"))
    assert read(tmp_path, None).events == EVENTS
    path = tmp_path / NAME
    path.write_bytes(path.read_bytes().replace(b'"a.py",3', b'"a.py",4'))
    assert read(tmp_path, None).events == EVENTS[:2]
    assert read(tmp_path, None).damage


def test_a_journal_that_is_not_there_is_told(tmp_path):
    assert read(tmp_path, SEAL).events == []
    assert "missing" in read(tmp_path, SEAL).damage


def test_output_is_on_its_way_to_the_disk_at_once_and_with_it_all_before(tmp_path):
    journal = JournalWriter(tmp_path, SEAL)
    journal.add(["L", "a"])
    assert events(tmp_path) == []
    journal.add(["w", 1, "", 0, "text", 0], now=True)
    assert [event[0] for event in events(tmp_path)] == ["L", "w"]
    journal.close()


def test_events_are_not_gathered_without_end(tmp_path):
    journal = JournalWriter(tmp_path, SEAL)
    for i in range(3 * BATCH_BYTES // 100):
        journal.add(["c", "time", i, "x" * 100])
    assert (tmp_path / NAME).stat().st_size > BATCH_BYTES
    journal.close()


def test_sequence_numbers_count_from_zero(tmp_path):
    journal = JournalWriter(tmp_path, SEAL)
    assert [journal.add(["n", str(i)], now=i % 2 == 0) for i in range(4)] == [0, 1, 2, 3]
    journal.close()
    assert len(events(tmp_path)) == journal.count == 4


def test_a_short_write_is_finished(tmp_path, monkeypatch):
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, bytes(data[:7])))
    written(tmp_path, [EVENTS])
    monkeypatch.undo()
    assert events(tmp_path) == EVENTS


def test_a_batch_that_could_not_be_written_whole_hides_nothing_that_follows(tmp_path, monkeypatch):
    real, room = os.write, [50]

    def write(fd: int, data: bytes) -> int:
        if not room[0]:
            raise OSError(errno.ENOSPC, "no space left on device")
        count = real(fd, bytes(data[: room[0]]))
        room[0] -= count
        return count

    journal = JournalWriter(tmp_path, SEAL)
    journal.add(EVENTS[0], now=True)
    monkeypatch.setattr(os, "write", write)
    with pytest.raises(OSError, match="no space"):
        journal.add(EVENTS[1], now=True)
    monkeypatch.undo()
    journal.add(["stop", "no space"], now=True)
    journal.close()
    assert events(tmp_path) == [EVENTS[0], ["stop", "no space"]]


def test_a_journal_is_private_whatever_the_umask(tmp_path):
    old = os.umask(0)
    try:
        written(tmp_path, [EVENTS])
    finally:
        os.umask(old)
    assert (tmp_path / NAME).stat().st_mode & 0o777 == 0o600


def test_a_journal_can_be_sealed_again(tmp_path):
    written(tmp_path, [EVENTS[:3], EVENTS[3:]], Seal(b"of somebody else"))
    (tmp_path / "mine").mkdir()
    write_again(tmp_path / "mine", read(tmp_path, None), SEAL)
    assert events(tmp_path / "mine") == EVENTS


def test_events_that_are_urgent_wait_where_writing_takes_too_long(tmp_path, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("florc.runtime.journal.perf_counter", lambda: clock[0])
    real = os.write

    def slow(fd, data):
        clock[0] += 1.0
        return real(fd, data)

    monkeypatch.setattr(os, "write", slow)
    journal = JournalWriter(tmp_path, SEAL, share=0.1)
    for number in range(20):
        journal.add(["S", number], now=True)
    assert events(tmp_path) == [["S", 0]]
    clock[0] += 60.0
    journal.add(["S", 20], now=True)
    assert events(tmp_path) == [["S", number] for number in range(21)]
    journal.add(["S", 21], now=True)
    assert len(events(tmp_path)) == 22, "what was saved up may be spent"
    journal.sync()
    journal.close()


def test_what_events_name_is_written_before_them(tmp_path):
    order: list[str] = []

    def before():
        order.append(f"{len(events(tmp_path))} events")

    journal = JournalWriter(tmp_path, SEAL, before=before)
    journal.add(["S"])
    journal.add(["S"], now=True)
    journal.add(["S"], now=True)
    assert order == ["0 events", "2 events"]
    journal.close()


def test_events_that_name_what_could_not_be_written_are_dropped(tmp_path):
    failing = [True]

    def before():
        if failing[0]:
            raise OSError(errno.ENOSPC, "no space left on device")

    journal = JournalWriter(tmp_path, SEAL, before=before)
    with pytest.raises(OSError, match="no space"):
        journal.add(["B", "0" * 32], now=True)
    failing[0] = False
    journal.add(["stop", "why"], now=True)
    assert events(tmp_path) == [["stop", "why"]]
    journal.close()


def test_what_happens_in_quick_succession_goes_to_the_disk_together(tmp_path, monkeypatch):
    """An event of a loop is soon there; the next ones wait until it was a moment ago, or text comes."""
    now = [100.0]
    monkeypatch.setattr("florc.runtime.journal.perf_counter", lambda: now[0])
    monkeypatch.setattr("florc.runtime.journal.SOON_AFTER", 2)
    journal = JournalWriter(tmp_path, SEAL)
    seen = []
    moments = (0, 0.001, 0.002, 0.003, 0.2)
    for moment, event in zip(moments, [["L", name] for name in "abcde"], strict=True):
        now[0] = 100.0 + moment
        journal.add(event, soon=True)
        seen.append(len(read(tmp_path, SEAL).events))
    assert seen == [1, 2, 2, 2, 5]  # the first ones are not many
    journal.add(["L", "f"], soon=True)
    journal.add(["w", 1, "a.py", 1, "text", 0], now=True)
    assert len(read(tmp_path, SEAL).events) == 7
    journal.close()
