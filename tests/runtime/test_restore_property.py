"""Random object graphs, changed at random, checkpointed, restored into a fresh copy: the same graph again.

A seeded program builds the graph (so that it can be built twice) and changes it. Two graphs are the
same if their canonical forms are: types, contents, order, and who shares what with whom.
"""

from __future__ import annotations

import random
import tempfile
from collections import OrderedDict, defaultdict, deque
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from florc.runtime.checkpoint import LiveState, Snapshots
from florc.runtime.roots import Namespace, Root
from florc.runtime.store import BlobReader, BlobWriter
from tests.runtime.sealed import SEAL

Names = dict[str, Any]
MODULE = "m"
SIZE, CHANGES = 14, 10  # objects and changes of one program: small, so that a failure can be read


class Box:
    """An object with attributes."""


class Slotted:
    """An object with slots."""

    __slots__ = ("left", "right")


class Stack(list[Any]):
    """A subclass of list, with attributes."""


def plain(rng: random.Random) -> Any:
    return rng.choice([None, True, 0, 1, -1, 2**70, 0.5, -0.0, "a", "b" * 70, b"\xff", 1 + 2j, rng.random()])


def anything(rng: random.Random, pool: list[Any]) -> Any:
    return rng.choice(pool) if pool and rng.random() < 0.6 else plain(rng)


def make(rng: random.Random, pool: list[Any]) -> Any:
    """A new object that refers to some of the pool."""
    some = [anything(rng, pool) for _ in range(rng.randrange(4))]
    keys = rng.sample(["x", "y", 3, (1, "t"), 2.5, b"k"], len(some))
    kind = rng.randrange(11)
    if kind in (0, 1):
        return some
    if kind == 2:
        return dict(zip(keys, some, strict=True))
    if kind == 3:
        return OrderedDict(zip(keys, some, strict=True))
    if kind == 4:
        return defaultdict(list, zip(keys, some, strict=True))
    if kind == 5:
        return deque(some, maxlen=rng.choice([None, 3]))
    if kind == 6:
        return tuple(some)
    if kind == 7:
        return {rng.randrange(5) for _ in some}  # an order that does not depend on how it grew
    if kind == 8:
        return bytearray(rng.randbytes(3))
    made: Any = Slotted() if kind == 9 else Box() if kind == 10 else None
    change(rng, made, pool)
    return made


def change(rng: random.Random, obj: Any, pool: list[Any]) -> None:
    """Change one object in place, if it can be."""
    value = anything(rng, pool)
    if isinstance(obj, (list, deque)):
        action = rng.randrange(4)
        if action == 0 and obj:
            obj.pop()
        elif action == 1 and obj:
            obj[rng.randrange(len(obj))] = value
        elif action == 2:
            obj.clear()
        else:
            obj.append(value)
    elif isinstance(obj, dict):
        key = rng.choice(["x", "y", 3, (1, "t"), "new"])
        if rng.random() < 0.3:
            obj.pop(key, None)
        else:
            obj[key] = value
    elif isinstance(obj, set):
        obj.add(rng.randrange(5))
    elif isinstance(obj, bytearray):
        obj.append(7)
    elif isinstance(obj, (Box, Slotted)):
        name = rng.choice(["left", "right"])
        if rng.random() < 0.3 and hasattr(obj, name):
            delattr(obj, name)
        else:
            setattr(obj, name, value)


def build(seed: int) -> tuple[Names, list[Any]]:
    """Names and all objects."""
    rng, pool = random.Random(seed), list[Any]()
    for _ in range(SIZE):
        pool.append(make(rng, pool))
    for _ in range(SIZE):  # cycles
        change(rng, rng.choice(pool), pool)
    return {f"n{i}": rng.choice(pool) for i in range(4)}, pool


def mutate(seed: int, names: Names, pool: list[Any]) -> None:
    """Change objects, make new ones, bind and unbind names."""
    rng = random.Random(seed)
    for _ in range(CHANGES):
        action = rng.randrange(5)
        if action == 0:
            pool.append(make(rng, pool))
        elif action == 1:
            names[f"n{rng.randrange(6)}"] = anything(rng, pool)
        elif action == 2 and rng.random() < 0.3:
            names.pop(f"n{rng.randrange(6)}", None)
        else:
            change(rng, rng.choice(pool), pool)


def canonical(names: Names) -> list[Any]:
    """One entry an object, in the order of their discovery, with references by number."""
    seen: dict[int, int] = {}
    found: list[Any] = []

    def ref(obj: Any) -> Any:
        if isinstance(obj, (type(None), bool, int, float, complex, str, bytes)):
            return (type(obj).__name__, repr(obj))
        if id(obj) not in seen:
            seen[id(obj)] = len(found)
            found.append(obj)
        return seen[id(obj)]

    top = [(name, ref(names[name])) for name in sorted(names)]
    described: list[Any] = []
    while len(described) < len(found):
        described.append((type(found[len(described)]).__name__, *parts(found[len(described)], ref)))
    return [top, *described]


def parts(obj: Any, ref: Any) -> list[Any]:
    if isinstance(obj, dict):
        return [(repr(key), ref(value)) for key, value in obj.items()]
    if isinstance(obj, (set, bytearray)):
        return [list(obj)]
    if isinstance(obj, (list, tuple, deque)):
        return [getattr(obj, "maxlen", None), *map(ref, obj)]
    return [(name, ref(getattr(obj, name))) for name in ("left", "right") if hasattr(obj, name)]


class Program:
    """A recorded run of build and some mutations, each with a checkpoint; in a frame or in a module."""

    def __init__(self, folder: Path, seeds: list[int], in_module: bool) -> None:
        self.seeds, self.in_module = seeds, in_module
        names, pool = build(seeds[0])
        root = Root({}, [Namespace(MODULE, names)]) if in_module else Root(names, [])
        writer = BlobWriter(folder, SEAL)
        snapshots = Snapshots(writer, self.is_project)
        base, self.key = snapshots.enter(root, full=True)
        self.checkpoints, self.truths = [], []
        for seed in seeds[1:]:
            mutate(seed, names, pool)
            taken = snapshots.take(base, root)
            assert not taken.opaque
            self.checkpoints.append(taken.hashes)
            self.truths.append(canonical(names))
        writer.close()
        self.blobs = BlobReader(folder, SEAL)

    @staticmethod
    def is_project(name: str) -> bool:
        return False

    def live(self, frame: Names, space: Namespace | None = None) -> LiveState:
        spaces = {MODULE: space or Namespace(MODULE, {})}
        return LiveState(self.blobs, self.key, self.checkpoints, frame, spaces.__getitem__, self.is_project)

    def replay(self, order: list[int]) -> None:
        """Restore these checkpoints one after the other into a fresh copy, comparing each time."""
        names, pool = build(self.seeds[0])
        space = Namespace(MODULE, names)
        frame = {} if self.in_module else names
        state = self.live(frame, space)
        assert state.entry_differences == []
        for i in order:
            values = state.restore(self.checkpoints[i], frame)
            frame = {} if self.in_module else values
            assert canonical(names if self.in_module else frame) == self.truths[i]
            compared = state.compare(self.checkpoints[i], frame)
            assert (compared.wrong, compared.clocks) == ([], [])
        del pool


@pytest.mark.parametrize("in_module", [False, True], ids=["in a frame", "in a module"])
@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 2**32), min_size=4, max_size=4), st.sampled_from(["last", "each", "skipping"]))
def test_any_graph_comes_back_with_all_its_sharing(in_module, seeds, order):
    with tempfile.TemporaryDirectory() as name:
        program = Program(Path(name), seeds, in_module)
        program.replay({"last": [2], "each": [0, 1, 2], "skipping": [0, 2]}[order])


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 2**32), st.integers(0, 2**32))
def test_any_difference_is_told_by_a_comparison(seed, right, wrong):
    """A replay that computes something else than the record did is told so."""
    with tempfile.TemporaryDirectory() as name:
        program = Program(Path(name), [seed, right], in_module=False)
        names, pool = build(seed)
        state = program.live(names)
        mutate(wrong, names, pool)
        found = state.compare(program.checkpoints[0], names)
        assert bool(found.wrong or found.clocks) == (canonical(names) != program.truths[0])


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 2**32))
def test_equal_programs_take_equal_checkpoints(seed, change_seed):
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        first = Program(Path(one), [seed, change_seed], in_module=False)
        second = Program(Path(two), [seed, change_seed], in_module=False)
        assert (first.key, first.checkpoints) == (second.key, second.checkpoints)
