"""Bytes to and from an accelerator: in the right order, without waiting for all of the device."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any

import pytest
import torch

from florc.runtime import device, tensors
from florc.runtime.checkpoint import LiveState, Snapshots
from florc.runtime.device import Lane
from florc.runtime.roots import Namespace, Root
from florc.runtime.store import BlobReader, BlobWriter

from .sealed import SEAL


class FakeCuda:
    """torch.cuda as far as a lane uses it, on the CPU; notes what is asked of it."""

    def __init__(self) -> None:
        self.log: list[str] = []
        fake = self

        class Stream:
            def __init__(self, where: Any) -> None:
                self.name = "side" if where is not None else "current"

            def wait_stream(self, other: Any) -> None:
                fake.log.append(f"{self.name} waits for {other.name}")

        class Event:
            def record(self, stream: Any) -> None:
                self.stream = stream.name
                fake.log.append(f"event on {self.stream}")

            def synchronize(self) -> None:
                fake.log.append(f"wait for the event on {self.stream}")

        self.Stream, self.Event = Stream, Event

    def current_stream(self, _: Any) -> Any:
        return self.Stream(None)

    @contextmanager
    def stream(self, stream: Any) -> Any:
        self.log.append(f"on {stream.name}")
        yield
        self.log.append("off")

    def synchronize(self, *_: Any) -> None:
        raise AssertionError("the whole device was waited for")


@pytest.fixture
def cuda(monkeypatch):
    monkeypatch.setattr(Lane, "_pinned", staticmethod(lambda size: torch.empty(size, dtype=torch.uint8)))
    return FakeCuda()


def test_what_is_fetched_comes_behind_what_the_program_has_queued(cuda):
    lane = Lane("a device", cuda)
    first, second = torch.arange(10, dtype=torch.uint8), torch.arange(100, 200, dtype=torch.uint8)
    found = lane.fetch([(first.untyped_storage(), 0, 10), (second.untyped_storage(), 7, 9)])
    assert [bytes(one) for one in found] == [bytes(range(10)), bytes([107, 108])]
    assert cuda.log == [
        "side waits for current", "on side", "event on side", "off", "wait for the event on side"
    ]  # fmt: skip


def test_what_is_filled_comes_in_turn_and_its_memory_waits_for_it(cuda):
    lane, target = Lane("a device", cuda), torch.zeros(8, dtype=torch.uint8)
    lane.fill(target.untyped_storage(), 2, bytearray(b"\1\2\3"))
    assert target.tolist() == [0, 0, 1, 2, 3, 0, 0, 0]
    assert cuda.log == ["event on current"]
    lane.fill(target.untyped_storage(), 0, bytearray(b"\7"))
    assert cuda.log[1:] == ["wait for the event on current", "event on current"]


def test_memory_is_kept_while_it_is_large_enough(cuda):
    lane, target = Lane("a device", cuda), torch.zeros(300, dtype=torch.uint8)
    lane.fill(target.untyped_storage(), 0, bytearray(200))
    memory = lane._memory
    lane.fetch([(target.untyped_storage(), 0, 100)])
    assert lane._memory is memory
    lane.fetch([(target.untyped_storage(), 0, 300)])
    assert lane._memory is not memory


class Elsewhere:
    """A lane as a walk sees it; counts the trips."""

    def __init__(self, cuda: FakeCuda) -> None:
        self.lane, self.trips = Lane("a device", cuda), 0

    def fetch(self, pieces: Any) -> Any:
        self.trips += 1
        return self.lane.fetch(pieces)

    def fill(self, *piece: Any) -> None:
        self.lane.fill(*piece)


def net(seed: int) -> dict[str, Any]:
    torch.manual_seed(seed)
    model: Any = torch.nn.Sequential(torch.nn.Linear(40, 30), torch.nn.Linear(30, 3))
    return {"model": model, "view": model[0].weight.detach()[3:5]}


def check_round_trip(tmp_path: Any, move: Any) -> dict[str, Any]:
    """Record a changed net, restore it into a fresh one; both moved to a device first."""
    names, live = move(net(1)), move(net(1))
    writer = BlobWriter(tmp_path, SEAL)
    snapshots = Snapshots(writer, lambda name: False)
    base, key = snapshots.enter(Root({}, [Namespace("m", names)]), full=True)
    with torch.no_grad():
        for parameter in names["model"].parameters():
            parameter.mul_(3).add_(1)
    taken = snapshots.take(base, Root({}, [Namespace("m", names)]))
    assert not taken.opaque
    writer.close()
    state = LiveState(
        BlobReader(tmp_path, SEAL), key, [taken.hashes], {}, lambda n: Namespace(n, live), lambda n: False
    )
    assert state.entry_differences == []
    state.restore(taken.hashes, {})
    for was, now in zip(names["model"].parameters(), live["model"].parameters(), strict=True):
        assert torch.equal(was, now)
    assert torch.equal(names["view"], live["view"])
    assert live["view"].data_ptr() == live["model"][0].weight[3:5].data_ptr()
    return live  # type: ignore[no-any-return]


def test_a_walk_fetches_all_it_meets_in_one_trip(tmp_path, cuda, monkeypatch):
    """On the CPU, with storages that say they are elsewhere."""
    away = Elsewhere(cuda)
    monkeypatch.setattr(tensors, "lane", lambda where: away)
    monkeypatch.setattr(tensors, "device_name", lambda storage: "away")
    trips = []
    read = tensors.Storage._copied

    def copied(obj: Any, walk: Any) -> Any:
        before = away.trips
        found = read(obj, walk)
        trips.append(away.trips - before)
        return found

    monkeypatch.setattr(tensors.Storage, "_copied", staticmethod(copied))
    check_round_trip(tmp_path, lambda names: names)
    assert sum(trips) == away.trips and 0 < away.trips < len(trips)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")
def test_a_net_on_a_device_comes_back(tmp_path):
    def move(names: dict[str, Any]) -> dict[str, Any]:
        model = names["model"].cuda()
        return {"model": model, "view": model[0].weight.detach()[3:5]}

    live = check_round_trip(tmp_path, move)
    assert live["view"].device.type == "cuda" and device.lane(live["view"].device) is not None
