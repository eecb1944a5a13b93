"""The pack of a run: content addressed, verified, readable after any kill."""

from __future__ import annotations

import array
import errno
import os
import tempfile
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from florc.runtime.seal import Seal
from florc.runtime.staging import SLOTS
from florc.runtime.store import (
    ALIGNMENT,
    AT_ONCE_BYTES,
    GATHERED_BYTES,
    INDEX,
    PACK,
    BlobReader,
    BlobWriter,
    DamagedBlob,
    Part,
    read_index,
)
from tests.runtime.sealed import SEAL

SAMPLES = [b"", b"a", b"\0" * 63, b"\1" * 64, b"\2" * 65, bytes(range(256)) * 40]


def filled(folder: Path, blobs: list[bytes] | None = None) -> list[str]:
    """Write blobs; their keys."""
    writer = BlobWriter(folder, SEAL)
    keys = [writer.put(blob) for blob in (SAMPLES if blobs is None else blobs)]
    writer.sync()
    writer.close()
    return keys


def readable(folder: Path, keys: list[str]) -> list[bool]:
    """Which of the blobs can be read; a wrong byte would fail here."""
    reader, answers = BlobReader(folder, SEAL), []
    for key, blob in zip(keys, SAMPLES, strict=True):
        try:
            assert reader.get(key) == blob
            answers.append(True)
        except DamagedBlob:
            answers.append(False)
    return answers


def test_what_is_put_can_be_got(tmp_path):
    keys = filled(tmp_path)
    assert readable(tmp_path, keys) == [True] * len(SAMPLES)
    assert sorted(BlobReader(tmp_path, SEAL).keys()) == sorted(keys)
    assert [BlobReader(tmp_path, SEAL).size(key) for key in keys] == [len(blob) for blob in SAMPLES]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.one_of(st.binary(max_size=300), st.sampled_from(SAMPLES)), max_size=20))
def test_any_bytes_come_back_and_equal_ones_are_stored_once(blobs):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        keys = filled(folder, blobs)
        reader = BlobReader(folder, SEAL)
        assert [reader.get(key) for key in keys] == blobs
        assert len(reader.keys()) == len(set(blobs))
        assert (folder / PACK).stat().st_size <= sum(len(blob) + ALIGNMENT for blob in set(blobs))


def test_equal_bytes_are_stored_once_also_by_a_later_writer(tmp_path):
    filled(tmp_path)
    size, index = (tmp_path / PACK).stat().st_size, (tmp_path / INDEX).read_bytes()
    writer = BlobWriter(tmp_path, SEAL)
    for blob in SAMPLES:
        writer.put(blob)
    assert (writer.written, writer.logical) == (0, sum(map(len, SAMPLES)))
    writer.close()
    assert (tmp_path / PACK).stat().st_size == size
    assert (tmp_path / INDEX).read_bytes() == index


def test_every_blob_starts_at_a_multiple_of_the_alignment(tmp_path):
    filled(tmp_path)
    offsets = [offset for offset, *_ in read_index(tmp_path).values()]
    assert len(offsets) == len(SAMPLES)
    assert all(offset % ALIGNMENT == 0 for offset in offsets)


@pytest.mark.parametrize(
    "data",
    [bytearray(b"abcd"), memoryview(b"abcd"), array.array("B", b"abcd")],
    ids=["bytearray", "memoryview", "array"],
)
def test_any_buffer_of_bytes_is_taken(tmp_path, data):
    (key,) = filled(tmp_path, [data])
    assert BlobReader(tmp_path, SEAL).get(key) == b"abcd"


@pytest.mark.parametrize(
    ("cut", "kept"),
    [
        pytest.param(100, 5, id="100 bytes off the end: the last blob is gone"),
        pytest.param(len(SAMPLES[-1]), 5, id="the whole last blob"),
        pytest.param(len(SAMPLES[-1]) + 128, 4, id="into the one before"),
    ],
)
def test_a_pack_cut_short_is_noticed_and_the_rest_is_readable(tmp_path, cut, kept):
    keys = filled(tmp_path)
    pack = tmp_path / PACK
    pack.write_bytes(pack.read_bytes()[:-cut])
    assert readable(tmp_path, keys) == [True] * kept + [False] * (len(SAMPLES) - kept)


@pytest.mark.parametrize("bit", range(8))
def test_one_flipped_bit_is_noticed(tmp_path, bit):
    keys = filled(tmp_path)
    pack = tmp_path / PACK
    offset, size, *_ = read_index(tmp_path)[keys[-1]]
    data = bytearray(pack.read_bytes())
    data[offset + size // 2] ^= 1 << bit
    pack.write_bytes(data)
    assert readable(tmp_path, keys) == [True] * 5 + [False]


def test_an_empty_pack_is_damaged_not_an_error_of_ours(tmp_path):
    keys = filled(tmp_path)
    (tmp_path / PACK).write_bytes(b"")
    assert readable(tmp_path, keys) == [True] + [False] * 5  # the empty blob needs no bytes


def test_a_pack_that_is_not_there_is_damaged_not_an_error_of_ours(tmp_path):
    keys = filled(tmp_path)
    (tmp_path / PACK).unlink()
    assert readable(tmp_path, keys) == [False] * 6


def test_a_store_that_is_not_there_has_no_blobs(tmp_path):
    reader = BlobReader(tmp_path / "nowhere", SEAL)
    assert reader.keys() == []
    assert "0" * 32 not in reader
    with pytest.raises(DamagedBlob, match="missing"):
        reader.get("0" * 32)


@pytest.mark.parametrize("left", range(0, 48, 5))
def test_a_torn_last_index_line_hides_its_blob_alone(tmp_path, left):
    keys = filled(tmp_path)
    lines = (tmp_path / INDEX).read_bytes().splitlines(keepends=True)
    (tmp_path / INDEX).write_bytes(b"".join(lines[:-1]) + lines[-1].rstrip(b"\n")[:left])
    assert readable(tmp_path, keys) == [True] * 5 + [False]


def test_a_nonsense_index_line_hides_no_other(tmp_path):
    keys = filled(tmp_path)
    lines = (tmp_path / INDEX).read_bytes().splitlines(keepends=True)
    lines.insert(2, b"\xff\xfe nonsense here or there\n")
    (tmp_path / INDEX).write_bytes(b"".join(lines))
    assert readable(tmp_path, keys) == [True] * 6


def test_an_index_that_points_elsewhere_is_noticed(tmp_path):
    keys = filled(tmp_path)
    index = (tmp_path / INDEX).read_text().splitlines()
    index[-1] = " ".join([keys[-1], "0", *index[-1].split()[2:]])
    (tmp_path / INDEX).write_text("\n".join(index) + "\n")
    assert readable(tmp_path, keys) == [True] * 5 + [False]


def test_an_index_with_absurd_numbers_is_damaged_not_an_error_of_ours(tmp_path):
    keys = filled(tmp_path)
    (tmp_path / INDEX).write_text(f"{keys[-1]} {10**17} 5 r {keys[-1]}\n{keys[0]} {10**30} 5 r {keys[0]}\n")
    assert keys[0] not in BlobReader(tmp_path, SEAL)
    with pytest.raises(DamagedBlob):
        BlobReader(tmp_path, SEAL).get(keys[-1])


def test_a_writer_that_goes_on_after_a_kill_loses_nothing_it_writes(tmp_path):
    keys = filled(tmp_path)
    index = (tmp_path / INDEX).read_bytes()
    (tmp_path / INDEX).write_bytes(index[:-5])
    filled(tmp_path)
    assert readable(tmp_path, keys) == [True] * 6


def test_only_what_was_sealed_is_given_as_sealed(tmp_path):
    writer = BlobWriter(tmp_path, SEAL)
    raw, sealed = writer.put(b"raw"), writer.put(b"sealed", sealed=True)
    writer.close()
    reader = BlobReader(tmp_path, SEAL)
    assert reader.get_sealed(sealed) == reader.get(sealed) == b"sealed"
    assert reader.get(raw) == b"raw"
    with pytest.raises(DamagedBlob, match="not sealed"):
        reader.get_sealed(raw)


@pytest.mark.parametrize("first", [False, True])
def test_bytes_that_are_both_raw_and_sealed_are_stored_once_and_given_as_sealed(tmp_path, first):
    writer = BlobWriter(tmp_path, SEAL)
    keys = {writer.put(b"same", sealed=first), writer.put(b"same", sealed=not first)}
    writer.close()
    assert len(keys) == 1
    assert BlobReader(tmp_path, SEAL).get_sealed(keys.pop()) == b"same"
    assert (tmp_path / PACK).read_bytes() == b"same"


@pytest.mark.parametrize("sealed", [False, True])
def test_blobs_of_another_run_do_not_fit(tmp_path, sealed):
    writer = BlobWriter(tmp_path, Seal(b"of another run"))
    key = writer.put(b"code", sealed=sealed)
    writer.close()
    with pytest.raises(DamagedBlob, match="seal is broken"):
        BlobReader(tmp_path, SEAL).get(key)
    with pytest.raises(DamagedBlob):
        BlobReader(tmp_path, SEAL).get_sealed(key)


def test_other_bytes_of_the_same_checksum_are_not_given_as_sealed(tmp_path, monkeypatch):
    """The checksum is no cryptographic hash: one who can write the pack can make bytes that fit it."""
    monkeypatch.setattr("florc.runtime.store.xxhash.xxh3_128_hexdigest", lambda data: "0" * 32)
    writer = BlobWriter(tmp_path, SEAL)
    key = writer.put(b"right", sealed=True)
    writer.close()
    (tmp_path / PACK).write_bytes(b"wrong")
    with pytest.raises(DamagedBlob, match="seal is broken"):
        BlobReader(tmp_path, SEAL).get_sealed(key)


def test_a_raw_line_cannot_be_turned_into_a_sealed_one(tmp_path):
    (key,) = filled(tmp_path, [b"code"])
    index = (tmp_path / INDEX).read_bytes()
    (tmp_path / INDEX).write_bytes(index.replace(b" r ", b" s "))
    with pytest.raises(DamagedBlob, match="seal is broken"):
        BlobReader(tmp_path, SEAL).get_sealed(key)


def test_a_reader_without_a_seal_looks_at_checksums_alone(tmp_path):
    writer = BlobWriter(tmp_path, SEAL)
    key = writer.put(b"code", sealed=True)
    writer.close()
    assert BlobReader(tmp_path, None).get(key) == b"code"
    with pytest.raises(DamagedBlob, match="not sealed"):
        BlobReader(tmp_path, None).get_sealed(key)


@settings(max_examples=200, deadline=None)
@given(place=st.integers(0, 10**6), bit=st.integers(0, 7), data=st.data())
def test_a_flipped_bit_anywhere_gives_no_other_bytes(place, bit, data):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        writer = BlobWriter(folder, SEAL)
        blobs = {writer.put(blob, sealed=i % 2 == 0): (blob, i % 2 == 0) for i, blob in enumerate(SAMPLES)}
        writer.close()
        file = folder / data.draw(st.sampled_from([PACK, INDEX]))
        content = bytearray(file.read_bytes())
        content[place % len(content)] ^= 1 << bit
        file.write_bytes(content)
        reader = BlobReader(folder, SEAL)
        for key, (blob, sealed) in blobs.items():
            for get in (reader.get, reader.get_sealed):
                try:
                    assert get(key) == blob
                    assert sealed or get == reader.get
                except DamagedBlob:
                    pass
        reader.close()


def test_small_blobs_wait_and_are_written_together(tmp_path):
    writer = BlobWriter(tmp_path, SEAL)
    keys = [writer.put(blob) for blob in SAMPLES]
    assert (tmp_path / PACK).stat().st_size == (tmp_path / INDEX).stat().st_size == 0
    writer.flush()
    assert readable(tmp_path, keys) == [True] * len(SAMPLES)
    writer.close()


def test_a_large_blob_does_not_wait_in_memory_and_lies_behind_those_that_did(tmp_path):
    large = bytes(range(256)) * (GATHERED_BYTES // 256 + 1)
    writer = BlobWriter(tmp_path, SEAL)
    keys = [writer.put(b"small"), writer.put(large), writer.put(b"last")]
    assert (tmp_path / PACK).stat().st_size > len(large)
    writer.close()
    reader = BlobReader(tmp_path, SEAL)
    assert [reader.get(key) for key in keys] == [b"small", large, b"last"]


@pytest.mark.parametrize("failing", [1, 2], ids=["the bytes", "the lines"])
def test_after_a_failed_write_nothing_more_is_taken_and_nothing_wrong_is_named(
    tmp_path, monkeypatch, failing
):
    calls = []

    def failing_at(real):
        def write(fd, data, *place):
            calls.append(fd)
            if len(calls) == failing:
                real(fd, bytes(data)[: len(data) // 2], *place)
                raise OSError(errno.ENOSPC, "no space left on device")
            return real(fd, data, *place)

        return write

    writer = BlobWriter(tmp_path, SEAL)
    first = writer.put(b"first")
    writer.flush()
    for name in ("write", "pwrite"):
        monkeypatch.setattr(os, name, failing_at(getattr(os, name)))
    writer.put(b"second " * 99)
    with pytest.raises(OSError, match="no space"):
        writer.flush()
    writer.put(b"third")
    with pytest.raises(OSError, match="an earlier write"):
        writer.flush()
    monkeypatch.undo()
    assert BlobReader(tmp_path, SEAL).keys() == [first]
    assert BlobReader(tmp_path, SEAL).get(first) == b"first"


LARGE = bytes(range(256)) * (AT_ONCE_BYTES // 256 + 1)


def stored(folder: Path, keys: list[str]) -> list[bytes]:
    """What a reader of now gets for them."""
    reader = BlobReader(folder, SEAL)
    return [reader.get(key) for key in keys]


def parts(*blobs: bytes) -> list[Part]:
    return [Part(blob) for blob in blobs]


def test_a_snapshot_is_what_it_was_when_it_was_put(tmp_path):
    """The next optimizer step writes into the same memory while the disk is written to."""
    writer, memory = BlobWriter(tmp_path, SEAL), bytearray(LARGE)
    keys, job, _ = writer.put_all([Part(memory), Part(b"small", sealed=True)])
    memory[:] = bytes(len(memory))
    assert job is not None
    writer.close()
    assert job.done and job.error is None
    assert stored(tmp_path, keys) == [LARGE, b"small"]
    assert BlobReader(tmp_path, SEAL).get_sealed(keys[1]) == b"small"


def test_what_is_small_is_written_at_once(tmp_path):
    writer = BlobWriter(tmp_path, SEAL)
    keys, job, _ = writer.put_all(parts(b"one", b"two", b"one"))
    assert job is None and keys[0] == keys[2]
    assert stored(tmp_path, keys) == [b"one", b"two", b"one"]
    assert (tmp_path / PACK).stat().st_size == ALIGNMENT + 3
    writer.close()


def test_what_memory_has_no_room_for_is_written_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr("florc.runtime.store.fits", lambda size: False)
    writer = BlobWriter(tmp_path, SEAL)
    keys, job, _ = writer.put_all(parts(LARGE, b"small"))
    assert job is None and stored(tmp_path, keys) == [LARGE, b"small"]
    writer.close()


def test_where_the_system_gives_no_memory_it_is_written_at_once(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise OSError(errno.ENOMEM, "cannot allocate memory")

    writer = BlobWriter(tmp_path, SEAL)
    monkeypatch.setattr("florc.runtime.staging.mmap.mmap", refuse)
    keys, job, _ = writer.put_all(parts(LARGE, b"small"))
    monkeypatch.undo()
    assert job is None and writer.has_room and stored(tmp_path, keys) == [LARGE, b"small"]
    writer.close()


def test_known_bytes_are_not_staged(tmp_path):
    writer = BlobWriter(tmp_path, SEAL)
    first, _, _ = writer.put_all(parts(LARGE, b"a"))
    written = writer.written
    second, job, _ = writer.put_all(parts(LARGE, b"a"))
    assert (first, writer.written, job) == (second, written, None)
    assert writer.logical == 2 * (len(LARGE) + 1)
    writer.close()


def test_a_blob_put_at_once_is_there_even_if_it_was_on_its_way(tmp_path):
    writer = BlobWriter(tmp_path, SEAL)
    writer.put_all(parts(LARGE))
    key = writer.put(LARGE)
    assert stored(tmp_path, [key]) == [LARGE]
    writer.close()


def test_blobs_of_both_ways_do_not_overlap(tmp_path):
    writer = BlobWriter(tmp_path, SEAL)
    blobs = [b"before", LARGE, b"between", LARGE[::-1], b"after"]
    keys = []
    for blob in blobs:
        keys += [writer.put(blob)] if len(blob) < 10 else writer.put_all(parts(blob, blob[:3]))[0][:1]
    writer.close()
    assert stored(tmp_path, keys) == blobs


def test_no_more_snapshots_wait_than_there_are_slots(tmp_path, monkeypatch):
    gate, entered = threading.Event(), threading.Event()
    real = os.pwrite

    def slow(fd, data, place):
        if threading.current_thread() is not threading.main_thread():
            entered.set()
            gate.wait(30)
        return real(fd, data, place)

    monkeypatch.setattr(os, "pwrite", slow)
    writer = BlobWriter(tmp_path, SEAL)
    for mark in range(SLOTS):
        assert writer.has_room
        writer.put_all(parts(bytes([mark]) + LARGE))
    assert entered.wait(30) and not writer.has_room
    threading.Timer(0.1, gate.set).start()
    keys, job, _ = writer.put_all(parts(b"x" + LARGE))  # waits for the disk
    assert job is not None and len(keys) == 1
    writer.close()
    assert stored(tmp_path, keys) == [b"x" + LARGE] and len(read_index(tmp_path)) == SLOTS + 1


@pytest.mark.parametrize("failing", ["pwrite", "write"], ids=["the bytes", "the lines"])
def test_a_snapshot_that_could_not_be_written_is_not_named_and_says_so(tmp_path, monkeypatch, failing):
    writer = BlobWriter(tmp_path, SEAL)

    def fail(*_):
        raise OSError(errno.ENOSPC, "no space left on device")

    monkeypatch.setattr(os, failing, fail)
    _, job, _ = writer.put_all(parts(LARGE))
    assert job is not None
    job.wait()
    assert job.error is not None and job.error.errno == errno.ENOSPC
    with pytest.raises(OSError, match="an earlier write"):
        writer.put_all(parts(b"more"))
    monkeypatch.undo()
    assert read_index(tmp_path) == {}


def test_many_blobs_are_read_at_once_each_as_it_was(tmp_path):
    writer = BlobWriter(tmp_path, SEAL)
    blobs = [LARGE, b"", b"one", LARGE[::-1], b"two", b"x" * ALIGNMENT]
    keys = writer.put_all(parts(*blobs))[0]
    writer.put(b"between")
    keys += writer.put_all(parts(b"later", LARGE[7:]))[0]
    writer.close()
    reader = BlobReader(tmp_path, SEAL)
    some = [keys[0], keys[2], keys[3], keys[7], keys[1]]  # with gaps, and not in their order
    found = reader.get_all(some)
    assert {key: bytes(data) for key, data in found.items()} == {key: reader.get(key) for key in some}
    assert reader.get_all([]) == {}
    assert bytes(reader.get_all([keys[4]])[keys[4]]) == b"two"


@pytest.mark.parametrize("which", range(3))
def test_one_damaged_blob_among_many_is_noticed(tmp_path, which):
    writer = BlobWriter(tmp_path, SEAL)
    keys = writer.put_all(parts(LARGE, b"one", LARGE[::-1]))[0]
    writer.close()
    entry = read_index(tmp_path)[keys[which]]
    with open(tmp_path / PACK, "r+b") as stream:
        stream.seek(entry.offset + entry.size - 1)
        stream.write(b"?")
    with pytest.raises(DamagedBlob, match=f"at byte {entry.offset}"):
        BlobReader(tmp_path, SEAL).get_all(keys)
    with open(tmp_path / PACK, "r+b") as stream:
        stream.truncate(entry.offset)
    with pytest.raises(DamagedBlob):
        BlobReader(tmp_path, SEAL).get_all(keys)
