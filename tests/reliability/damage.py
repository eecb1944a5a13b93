"""Bits that flip and files that lose their ends: each file of a run, at random places."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from random import Random

from .bench import Bench, Fault

DENSE = ("--overhead", "1")
VERSIONS = ("outer.py", "inner.py", "train.py")
FILES = ("journal.jsonl", "data.pack", "data.idx", "run.json")


def _recorded(bench: Bench) -> None:
    bench.must_be_plain(bench.lay().record(options=DENSE))


def flip(bench: Bench, chance: Random, name: str) -> str:
    """One bit of a file is another one."""
    _recorded(bench)
    path = bench.run / name
    data = bytearray(path.read_bytes())
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(data)
    return bench.judge(chance.choice(VERSIONS), "")


def cut(bench: Bench, chance: Random, name: str) -> str:
    """A file lacks its end."""
    _recorded(bench)
    path = bench.run / name
    path.write_bytes(path.read_bytes()[: chance.randrange(path.stat().st_size)])
    return bench.judge(chance.choice(VERSIONS), "")


def zeros(bench: Bench, chance: Random, name: str) -> str:
    """A page of a file is zeros, as after a power loss."""
    _recorded(bench)
    path = bench.run / name
    data = bytearray(path.read_bytes())
    start = chance.randrange(len(data)) // 4096 * 4096
    data[start : start + 4096] = bytes(len(data[start : start + 4096]))
    path.write_bytes(data)
    return bench.judge(chance.choice(VERSIONS), "")


def lost(bench: Bench, chance: Random, name: str) -> str:
    """A file is gone."""
    _recorded(bench)
    (bench.run / name).unlink()
    return bench.judge(chance.choice(VERSIONS), "")


def cache(bench: Bench, chance: Random) -> str:
    """A bit of the cached code is another one: the next record makes it again."""
    _recorded(bench)
    (path,) = (bench.store / "cache").glob("*.code")
    data = bytearray(path.read_bytes())
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(data)
    for name in bench.files():
        if name != "train.py":
            (bench.home / name).unlink()
    bench.must_be_plain(bench.record(options=DENSE))
    return bench.judge(chance.choice(VERSIONS[:2]), bench.truth().out)


def _each(name: str) -> list[Fault]:
    ways = [("flip", "a bit of {} flips", flip, 0), ("cut", "{} lacks its end", cut, 0),
            ("zeros", "a page of {} is zeros", zeros, 20), ("lost", "{} is gone", lost, 3)]  # fmt: skip
    stem = Path(name).name.replace(".", "-")
    made = {"flip": "at a random bit", "cut": "at a random byte", "zeros": "a random one", "lost": "removed"}
    return [
        Fault(f"{way}-{stem}", what.format(name), made[way],
              partial(trial, name=name), most=most)
        for way, what, trial, most in ways
    ]  # fmt: skip


FAULTS = [
    *(fault for name in FILES for fault in _each(name)),
    Fault(
        "flip-cache",
        "a bit of the code cache flips",
        "at a random bit, before a second record",
        cache,
        most=20,
    ),
]
