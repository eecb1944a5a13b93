"""Writing past the system's cache: the same bytes, wherever the disk stands."""

from __future__ import annotations

import errno
import itertools
import mmap
import sys
from pathlib import Path

import pytest

from florc.runtime import past_cache
from florc.runtime.appending import BLOCK, Appender
from florc.runtime.past_cache import WORTH_BYTES, PastCache
from florc.runtime.store import PACK, BlobReader, BlobWriter, Part, read_index
from tests.runtime.sealed import SEAL

DATA = bytes(range(256)) * (WORTH_BYTES // 256)


def staged(data: bytes) -> memoryview:
    """The bytes where staging memory has them: at the start of a block."""
    memory = mmap.mmap(-1, len(data))
    memory[:] = data
    return memoryview(memory)


@pytest.fixture
def file(tmp_path: Path) -> Appender:
    return Appender(tmp_path / "file", placed=True)


@pytest.fixture
def past(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Place and size of what went past the cache."""
    found: list[tuple[int, int]] = []
    write = Appender.write_past_cache

    def noted(self: Appender, place: int, data: memoryview) -> None:
        write(self, place, data)
        found.append((place, len(data)))

    monkeypatch.setattr(Appender, "write_past_cache", noted)
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="no O_DIRECT")
@pytest.mark.parametrize("place", [0, 3 * BLOCK])
@pytest.mark.parametrize("more", [0, 1, BLOCK - 1])
def test_whole_blocks_go_past_the_cache_and_the_rest_behind_them(tmp_path, file, past, place, more):
    data = DATA + bytes([7]) * more
    PastCache().write(file, place, staged(data))
    assert (tmp_path / "file").read_bytes() == bytes(place) + data
    assert past in ([(place, len(DATA))], [])  # not all file systems can do it


@pytest.mark.parametrize(("place", "data"), [
    (1, staged(DATA)),
    (0, staged(b"x" + DATA)[1:]),
    (0, memoryview(DATA)),
    (0, staged(DATA[:BLOCK])),
], ids=["another place", "other memory", "memory that tells not where", "little"])  # fmt: skip
def test_what_does_not_fit_takes_the_usual_way(tmp_path, file, past, place, data):
    PastCache().write(file, place, data)
    assert (tmp_path / "file").read_bytes() == bytes(place) + data
    assert past == []


def test_a_disk_that_refuses_is_asked_once(tmp_path, file, monkeypatch):
    asked = []

    def refuse(self: Appender, place: int, data: memoryview) -> None:
        asked.append(len(data))
        raise OSError(errno.EINVAL, "not here")

    monkeypatch.setattr(Appender, "write_past_cache", refuse)
    cache = PastCache()
    cache.write(file, 0, staged(DATA))
    cache.write(file, len(DATA), staged(DATA[::-1]))
    assert (tmp_path / "file").read_bytes() == DATA + DATA[::-1]
    assert asked == [len(DATA)]


@pytest.mark.parametrize(("seconds", "count"), [(1e-4, 5), (1.0, 2)])
def test_a_slow_disk_gets_its_bytes_through_the_cache(file, monkeypatch, past, seconds, count):
    now = itertools.count(0.0, seconds)
    monkeypatch.setattr(past_cache, "perf_counter", lambda: next(now))
    monkeypatch.setattr(past_cache, "TRIED_BYTES", 2 * len(DATA))
    monkeypatch.setattr(Appender, "write_past_cache", lambda _, place, data: past.append((place, len(data))))
    cache = PastCache()
    for number in range(5):
        cache.write(file, number * len(DATA), staged(DATA))
    assert len(past) == count


def test_to_wait_for_pythons_lock_does_not_make_the_disk_slow(file, monkeypatch, past):
    ticks = itertools.count(0.0, past_cache.TAKINGS * sys.getswitchinterval())
    monkeypatch.setattr(past_cache, "_now", lambda: next(ticks))
    monkeypatch.setattr(past_cache, "TRIED_BYTES", 2 * len(DATA))
    monkeypatch.setattr(Appender, "write_past_cache", lambda _, place, data: past.append((place, len(data))))
    cache = PastCache()
    for _ in range(60):
        cache.write(file, 0, staged(DATA))
    assert len(past) == 60


def test_to_wait_for_a_core_does_not_make_the_disk_slow(file, monkeypatch, past, tmp_path):
    waited = itertools.count(10**9, 10**9)  # a second from look to look
    scheduled = tmp_path / "schedstat"
    now = itertools.count(0.0, 1.0)

    def look() -> float:
        scheduled.write_text(f"5 {next(waited)} 1\n")
        return next(now)

    monkeypatch.setattr(past_cache, "perf_counter", look)
    monkeypatch.setattr(past_cache, "_SCHEDULED", str(scheduled))
    monkeypatch.setattr(past_cache, "TRIED_BYTES", 2 * len(DATA))
    monkeypatch.setattr(Appender, "write_past_cache", lambda _, place, data: past.append((place, len(data))))
    scheduled.write_text("5 0 1\n")
    cache = PastCache()
    for number in range(5):
        cache.write(file, number * len(DATA), staged(DATA))
    assert len(past) == 5


def test_a_file_that_has_been_put_in_its_place_is_not_written(tmp_path, file):
    (tmp_path / "file").rename(tmp_path / "mine")
    (tmp_path / "file").write_bytes(b"another's")
    PastCache().write(file, 0, staged(DATA))
    assert (tmp_path / "mine").read_bytes() == DATA
    assert (tmp_path / "file").read_bytes() == b"another's"


@pytest.mark.skipif(sys.platform != "linux", reason="no O_DIRECT")
def test_large_batches_of_the_pack_begin_with_a_block_and_read_back(tmp_path, past):
    writer = BlobWriter(tmp_path, SEAL)
    blobs = [bytes([n]) * 3000 + DATA[n:] for n in range(4)]
    keys: list[str] = []
    for blob in blobs:
        made, _, _ = writer.put_all([Part(blob), Part(b"small %d" % len(keys))])
        keys += made[:1]
        writer.put_all([Part(b"in between %d" % len(keys))])
    writer.sync()
    writer.close()
    reader = BlobReader(tmp_path, SEAL)
    assert [bytes(reader.get(key)) for key in keys] == blobs
    starts = [read_index(tmp_path)[key].offset for key in keys]
    assert all(start % BLOCK == 0 for start in starts)
    assert sorted(place for place, _ in past) in (starts, [])
    assert (tmp_path / PACK).stat().st_size < sum(map(len, blobs)) + 4 * BLOCK
