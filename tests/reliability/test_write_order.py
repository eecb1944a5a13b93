"""Whatever a run's files hold at any instant of its record, nothing names what is not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from florc.runtime import journal, key
from florc.runtime.runs import Run, load
from florc.runtime.store import BlobReader

from .bench import Bench

CHECKPOINTS: dict[object, int] = {"I": 3, "X": 3, "C": 2}  # events with a checkpoint's hashes, and where
FILES = ("journal.jsonl", "data.pack", "data.idx")


def writes(log: Path) -> list[tuple[str, int, bytes]]:
    """Every write to the store, in order: its file, its place there (-1: the end), its bytes."""
    lines = [line.split(" ") for line in log.read_text().splitlines()]
    return [(name, int(place), bytes.fromhex(data)) for name, place, data in lines if name in FILES]


def named(events: list[list[object]]) -> set[str]:
    """The payloads that events name."""
    found: set[str] = set()
    for event in events:
        if event[0] == "B":
            found.add(str(event[1]))
        elif event[0] in CHECKPOINTS:
            hashes = event[CHECKPOINTS[event[0]]]
            found.update(map(str, hashes if isinstance(hashes, list) else ()))
        elif event[0] == "f" and isinstance(event[1], list) and event[1][0] in ("prior", "read"):
            place = 4 if event[1][0] == "prior" else 3
            found.update(str(part) for part in event[1][place : place + 1] if part)
    return found


def check_prefix(run: Run, folder: Path) -> int:
    """Read what is there so far; how many payloads it names, all of them readable."""
    read = journal.read(folder, run.seal)
    assert read.damage == "", read.damage
    blobs = BlobReader(folder, run.seal)
    keys = named(read.events)
    for name in keys:
        blobs.get(name)
    blobs.close()
    return len(keys)


@pytest.mark.program
def test_every_prefix_of_the_writes_names_only_what_is_there(tmp_path, monkeypatch):
    bench = Bench(tmp_path).lay()
    done = bench.record(options=("--overhead", "1"), world={"log": str(tmp_path / "log")})
    assert done.code == 0, done.err
    monkeypatch.setenv(key.VARIABLE, str(tmp_path / "key"))
    run = load(bench.store, bench.run.name)
    folder = tmp_path / "so far"
    folder.mkdir()
    for name in FILES:
        (folder / name).touch()
    most = 0
    for name, place, data in writes(tmp_path / "log"):
        before = (folder / name).stat().st_size
        for part in (data[: len(data) // 2], data):
            with open(folder / name, "r+b") as stream:
                stream.truncate(before)
                stream.seek(before if place < 0 else place)
                stream.write(part)
            most = max(most, check_prefix(run, folder))
    assert most > 20  # a dense record of this program names about a hundred
    for name in FILES:
        assert (folder / name).read_bytes() == (bench.run / name).read_bytes()
