"""Staging memory: copies that stay, slots that are used again, a limit that leaves the program its memory."""

from __future__ import annotations

import os

import pytest

from florc.runtime import staging
from florc.runtime.staging import IDLE, SLOTS, SPARE, Slot, Staging, fits, free_memory


def test_what_is_staged_stays_as_it_was():
    data = bytearray(b"abcdef")
    staged = Slot().fill([(0, memoryview(data)), (64, memoryview(b"xy"))], 66)
    data[:] = b"------"
    assert bytes(staged[:6]) == b"abcdef" and bytes(staged[64:]) == b"xy" and len(staged) == 66


def test_a_slot_keeps_its_memory_while_sizes_are_alike():
    slot = Slot()
    slot.fill([], 1 << 20)
    first = slot.memory
    slot.fill([], 1 << 19)
    assert slot.memory is first
    slot.fill([], (1 << 20) + 1000)  # the next snapshot is often a little larger
    assert slot.memory is first
    slot.fill([], 1 << 21)
    assert slot.memory is not first


def test_a_slot_far_larger_than_needed_is_given_back():
    slot = Slot()
    slot.fill([], 1 << 20)
    slot.fill([], (1 << 20) // SPARE - 1)
    assert slot.memory is not None and len(slot.memory) < 1 << 20


def test_there_are_so_many_slots_and_no_more():
    staging_ = Staging()
    slots = [staging_.take() for _ in range(SLOTS)]
    assert not staging_.has_room
    with pytest.raises(IndexError):
        staging_.take()
    staging_.give(slots[0])
    assert staging_.has_room and staging_.take() is slots[0]


def test_small_and_large_snapshots_in_turns_have_a_slot_each():
    found = Staging()
    memories = []
    for size in (8 << 20, 1 << 16) * 4:
        slot = found.take(size)
        slot.fill([], size)
        memories.append(slot.memory)
        found.give(slot)
    assert len(set(map(id, memories))) == 2


def test_memory_that_many_snapshots_did_not_need_is_given_back():
    found = Staging()
    large = found.take(8 << 20)
    large.fill([], 8 << 20)
    found.give(large)
    for _ in range(IDLE + 1):
        slot = found.take(1 << 16)
        slot.fill([], 1 << 16)
        assert slot is not large
        found.give(slot)
    assert large.memory is None


def test_a_child_sees_the_same_memory_and_costs_no_copy():
    """Private memory would be copied page by page at the parent's next write."""
    slot = Slot()
    view = slot.fill([(0, memoryview(b"before"))], 6)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.read(reader, 1)
        os._exit(0 if bytes(view) == b"after!" else 1)
    view[:] = b"after!"
    os.write(writer, b"x")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    os.close(reader)
    os.close(writer)


def test_memory_is_left_to_the_program(monkeypatch):
    monkeypatch.setattr(staging, "free_memory", lambda: 1 << 30)
    assert fits(1 << 28) and not fits((1 << 28) + 1)


def test_free_memory_is_what_the_tightest_limit_leaves(tmp_path, monkeypatch):
    monkeypatch.setattr(staging, "_MEMINFO", str(tmp_path / "meminfo"))
    monkeypatch.setattr(staging, "_CGROUP", str(tmp_path))
    (tmp_path / "meminfo").write_text("MemTotal:  2000 kB\nMemAvailable:    1000 kB\n")
    assert free_memory() == 1000 << 10
    (tmp_path / "memory.current").write_text("5000\n")
    (tmp_path / "memory.max").write_text("9000\n")
    assert free_memory() == 4000
    (tmp_path / "memory.max").write_text("max\n")
    assert free_memory() == 1000 << 10
    (tmp_path / "memory.max").write_text("4000\n")
    assert free_memory() == 0
