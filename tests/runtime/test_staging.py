"""Staging memory: copies that stay, slots that are used again, a limit that leaves the program its memory."""

from __future__ import annotations

import gc
import mmap
import os
import resource
import subprocess
import sys

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


def test_what_new_memory_takes_is_told_apart():
    slot = Slot()
    slot.fill([], 1 << 20)
    assert slot.making > 0
    slot.fill([], 1 << 20)
    assert slot.making == 0


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


@pytest.mark.skipif(not hasattr(mmap, "MADV_DONTFORK"), reason="shared memory there")
def test_a_child_costs_no_copy():
    """What both have would be copied page by page at the parent's next write."""
    slot, size = Slot(), 32 << 20
    data = memoryview(bytes(size))
    slot.fill([(0, data)], size)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(writer)
        os.read(reader, 1)  # until the parent closes it
        os._exit(0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    slot.fill([(0, data)], size)
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
    os.close(writer)
    os.close(reader)
    assert os.waitpid(child, 0)[1] == 0
    assert faults < 1000  # of 8192 pages


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


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_process_ends_well_and_leaves_the_staged_bytes_alone():
    slot = Slot()
    staged = slot.fill([(0, memoryview(b"abc"))], 8 << 20)
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            slot.memory, kept = None, slot.memory
            del staged, kept
            gc.collect()
            other = mmap.mmap(-1, 16 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            other[:] = bytes([7]) * len(other)  # takes the place, where the system likes it
            status = 0 if other[:] == bytes([7]) * len(other) else 2
        finally:
            os._exit(status)
    assert os.waitpid(pid, 0)[1] == 0
    assert bytes(staged[:3]) == b"abc"
    slot.fill([(0, memoryview(b"xyz"))], 8 << 20)
    assert bytes(staged[:3]) == b"xyz"


def test_memory_not_in_a_child_is_never_unmapped_there(tmp_path):
    """The interpreter's end would unmap what stands in its place."""
    text = """
import mmap, os, sys
from florc.runtime.staging import Slot
slot = Slot()
slot.fill([(0, memoryview(b"abc"))], 64 << 20)
if os.fork() == 0:
    blocks = [mmap.mmap(-1, 64 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) for _ in range(4)]
    for block in blocks:
        block[:4] = b"used"
    slot.memory = None
    slot = None
    assert all(block[:4] == b"used" for block in blocks)
    sys.exit(5)
print(os.waitstatus_to_exitcode(os.wait()[1]))
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("5\n", "")


def test_a_limit_of_the_address_space_counts(monkeypatch):
    taken = staging._taken()
    assert taken > 1 << 20
    monkeypatch.setattr(resource, "getrlimit", lambda what: (taken + (64 << 20), resource.RLIM_INFINITY))
    assert 0 <= free_memory() <= 65 << 20
    assert not fits(32 << 20) and fits(1 << 20)
