"""Copies made while a walk hashes: just the bytes that the hash is of, used where they are new."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import xxhash

from florc.runtime.checkpoint import LiveState, Snapshots, Taken
from florc.runtime.large import FOLDER, LARGE_BYTES
from florc.runtime.roots import Namespace, Root
from florc.runtime.staging import CHUNK, SLOTS, Copies, Slot
from florc.runtime.store import BlobReader, BlobWriter, Part
from tests.runtime.sealed import SEAL

torch = pytest.importorskip("torch")
numpy = pytest.importorskip("numpy")

CELLS = LARGE_BYTES // 4 + 5


def prepared(size: int) -> Copies:
    slot = Slot()
    slot.prepare(size)
    return Copies(slot)


@pytest.mark.parametrize("size", [1, CHUNK - 1, CHUNK, 3 * CHUNK + 7])
def test_the_hash_is_of_the_copy_and_both_are_of_the_buffer(size):
    data = bytearray(i * 7 % 251 for i in range(size))
    copies = prepared(4 * CHUNK)
    key = copies.hashed(data)
    assert key == xxhash.xxh3_128_hexdigest(bytes(data))
    before = bytes(data)
    data[:] = bytes(size)
    copy = copies.copy(key, size)
    assert copy is not None and bytes(copy) == before
    assert copies.copy("of another", size) is None


def test_equal_bytes_take_room_once_and_what_has_no_room_is_hashed_alone():
    copies = prepared(1 << 20)
    one, two = bytes(1 << 19), b"x" * (1 << 19)
    assert copies.hashed(one) == copies.hashed(one) and copies.end == 1 << 19
    copies.hashed(two)
    end, more = copies.end, b"y" * (1 << 20)
    assert copies.hashed(more) == xxhash.xxh3_128_hexdigest(more)
    assert copies.end == end and copies.copy(copies.hashed(more), 1 << 20) is None


class Run:
    """A recording of one module's names."""

    def __init__(self, home: Path, names: dict[str, Any]) -> None:
        self.folder = home / "run"
        self.folder.mkdir()
        self.writer = BlobWriter(self.folder, SEAL, home / "objects")
        self.snapshots = Snapshots(self.writer, lambda name: name == "m")
        self.root = Root({}, [Namespace("m", names)])
        self.base, self.key = self.snapshots.enter(self.root, full=True)

    def take(self) -> Taken:
        taken = self.snapshots.take(self.base, self.root, "block")
        if taken.job is not None:
            taken.job.wait()
        return taken

    def restored(self, taken: Taken, fresh: dict[str, Any]) -> dict[str, Any]:
        """The names as a replay has them after the checkpoint."""
        space = Namespace("m", fresh)
        state = LiveState(BlobReader(self.folder, SEAL), self.key, [taken.hashes], {}, lambda name: space,
                          lambda name: name == "m")
        state.restore(taken.hashes, {})
        assert state.compare(taken.hashes, {}).wrong == []
        return fresh

    def files(self) -> int:
        return len(list((self.folder / FOLDER).iterdir()))


def start() -> dict[str, Any]:
    still, changing = torch.ones(CELLS), torch.zeros(CELLS)
    return {"a": changing, "b": numpy.zeros(CELLS, numpy.float32), "still": still, "c": {}}


def step(names: dict[str, Any], number: int) -> None:
    names["a"] += number
    names["b"] -= number
    names["c"] = {"new": torch.full((CELLS,), 0.5 + number), "small": torch.full((3000,), number)}


def check(names: dict[str, Any], number: int) -> None:
    total = number * (number + 1) / 2
    assert torch.equal(names["a"], torch.full((CELLS,), total))
    assert (names["b"] == -total).all() and torch.equal(names["still"], torch.ones(CELLS))
    assert torch.equal(names["c"]["new"], torch.full((CELLS,), 0.5 + number))
    assert torch.equal(names["c"]["small"], torch.full((3000,), number))


def test_checkpoints_from_copies_bring_back_what_was_there(tmp_path, monkeypatch):
    names = start()
    run = Run(tmp_path, names)
    copied: list[int] = []
    put_all = BlobWriter.put_all

    def spy(self: BlobWriter, parts: Any, copies: Copies | None = None) -> Any:
        copied.append(len(copies.places) if copies else 0)
        return put_all(self, parts, copies)

    monkeypatch.setattr(BlobWriter, "put_all", spy)
    taken = []
    for number in range(1, 6):
        step(names, number)
        taken.append(run.take())
    assert copied == [0, 3, 3, 3, 3]  # the first does not know what changes
    names["a"] += 1000.0  # what has been copied is not looked at again
    run.writer.close()
    for number, one in enumerate(taken, 1):
        check(run.restored(one, start()), number)
    assert run.files() == 5 * 3


def test_what_did_not_change_after_all_is_copied_in_vain_and_not_stored(tmp_path):
    names = start()
    run = Run(tmp_path, names)
    for number in (1, 2):
        step(names, number)
        run.take()
    files = run.files()
    assert run.take().job is None and run.files() == files  # nothing is new: not even the slot is kept
    for number in (3, 4, 5):
        step(names, number)
        latest = run.take()
    assert run.files() == files + 3 * 3
    run.writer.close()
    check(run.restored(latest, start()), 5)


def test_a_state_that_grows_finds_room_for_all_of_it(tmp_path):
    names = start() | {"more": []}
    run = Run(tmp_path, names)
    for number in (1, 2, 3):
        step(names, number)
        names["more"].append(torch.full((8 * CELLS,), float(number)))
        latest = run.take()
    run.writer.close()
    fresh = run.restored(latest, start() | {"more": []})
    check(fresh, 3)
    assert [float(one[-1]) for one in fresh["more"]] == [1.0, 2.0, 3.0]


def test_a_checkpoint_that_cannot_see_all_gives_its_room_back(tmp_path):
    names = start()
    run = Run(tmp_path, names)
    for number in (1, 2):
        step(names, number)
        run.take()
    names["hidden"] = iter(open(__file__))  # noqa: SIM115
    for number in range(3, 3 + 2 * SLOTS):
        step(names, number)
        run.take()
    names.pop("hidden").close()
    step(names, 3 + 2 * SLOTS)
    assert run.take().hashes and run.writer.has_room


def test_without_memory_to_spare_there_are_no_copies(tmp_path, monkeypatch):
    writer = BlobWriter(tmp_path, SEAL, tmp_path / "objects")
    monkeypatch.setattr("florc.runtime.store.fits", lambda size: False)
    assert writer.copies(1 << 30) is None
    writer.put_all([Part(bytes(LARGE_BYTES))])
    writer.close()


def test_a_line_of_the_index_alone_is_written_though_copies_were_made_in_vain(tmp_path):
    writer = BlobWriter(tmp_path, SEAL, tmp_path / "objects")
    large, small = b"z" * (2 * LARGE_BYTES), b"x" * 2000
    writer.put_all([Part(large), Part(small)])
    writer.finish()
    copies = writer.copies(len(large))
    assert copies is not None
    put = writer.put_all([Part(large, copies.hashed(large)), Part(small, sealed=True)], copies)
    assert put.job is None and put.large == frozenset() and writer.has_room
    writer.close()
    assert BlobReader(tmp_path, SEAL).get_sealed(put.keys[1]) == small
