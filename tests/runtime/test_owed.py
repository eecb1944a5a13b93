"""What a restore owes to an optimizer: nobody can see that it is not there yet."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from copy import deepcopy
from io import BytesIO
from pathlib import Path
from threading import Event, Thread
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from florc.runtime import owed, sole
from florc.runtime.behind import looks_behind
from florc.runtime.checkpoint import LiveState, Snapshots
from florc.runtime.errors import StoreError
from florc.runtime.owed import Ledger
from florc.runtime.roots import Namespace, Root
from florc.runtime.store import PACK, BlobReader, BlobWriter, read_index
from tests.runtime.sealed import SEAL

SIZE = 40
MOMENT = SIZE * SIZE * 4  # bytes of one moment of the weight; the bias' are too small to be owed


class Broken(BaseException):
    """What a payload that is damaged ends a replay with."""


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ledger]:
    """The process' ledger, as new."""
    monkeypatch.setattr(owed.ledger, "owed", 0)
    monkeypatch.setattr(owed.ledger, "paid", 0)
    monkeypatch.setattr(owed, "_alone", lambda: True)  # the tests' own threads are no program's
    yield owed.ledger
    for number in list(owed.ledger._debtors):
        owed.ledger._drop(number)
    owed.ledger.close()


def _step(names: dict[str, Any], times: int) -> None:
    model, optimizer = names["model"], names["opt"]
    for i in range(times):
        optimizer.zero_grad()
        model(torch.full((3, SIZE), 1.0 + i)).pow(2).sum().backward()
        optimizer.step()


def _program(kind: Any = torch.optim.Adam, **options: Any) -> dict[str, Any]:
    torch.manual_seed(0)
    model = torch.nn.Linear(SIZE, SIZE)
    names = {"model": model, "opt": kind(model.parameters(), 0.01, **options)}
    _step(names, 1)
    return names


def _restored(
    folder: Path, ledger: Ledger, names: dict[str, Any], again: dict[str, Any]
) -> tuple[LiveState, list[str], dict[str, Any]]:
    """Record a few steps of one program, and put their end back in another."""
    writer = BlobWriter(folder, SEAL)
    snapshots = Snapshots(writer, lambda name: False)
    base, key = snapshots.enter(Root(names, []), full=True)
    _step(names, 3)
    taken = snapshots.take(base, Root(names, []))
    writer.close()
    ledger.open(BlobReader(folder, SEAL), Broken)
    blobs, space = BlobReader(folder, SEAL), Namespace("none", {})
    state = LiveState(blobs, key, [taken.hashes], again, lambda name: space, lambda name: False)
    return state, taken.hashes, state.restore(taken.hashes, again)


def _moments(optimizer: Any) -> list[Any]:
    return [value.clone() for entry in optimizer.state.values() for value in entry.values()]


def _same(left: list[Any], right: list[Any]) -> bool:
    return len(left) == len(right) and all(torch.equal(a, b) for a, b in zip(left, right, strict=True))


def _saved(optimizer: Any) -> Any:
    torch.save(optimizer, stream := BytesIO())
    stream.seek(0)
    return torch.load(stream, weights_only=False)


class _Again:
    """What a state dict gives back when another optimizer loads it."""

    def __init__(self, optimizer: Any) -> None:
        self.state = {0: optimizer.state_dict()["state"][0], 1: optimizer.state_dict()["state"][1]}


LOOKS: dict[str, Any] = {
    "the attribute": lambda optimizer: SimpleNamespace(state=optimizer.state),
    "state_dict": _Again,
    "deepcopy": deepcopy,
    "pickle": lambda optimizer: pickle.loads(pickle.dumps(optimizer)),
    "torch.save": _saved,
}


@pytest.mark.parametrize("look", LOOKS)
def test_whoever_looks_at_the_state_sees_it_paid(tmp_path: Path, ledger: Ledger, look: str) -> None:
    names, again = _program(), _program()
    _restored(tmp_path, ledger, names, again)
    assert (ledger.owed, ledger.paid) == (2 * MOMENT, 0)
    found = LOOKS[look](again["opt"])
    assert ledger.paid == 2 * MOMENT
    assert _same(_moments(found), _moments(names["opt"]))


@pytest.mark.parametrize("touch", ["hasattr", "set", "delete", "step", "load_state_dict", "add_param_group"])
def test_whoever_touches_the_state_finds_it_paid(tmp_path: Path, ledger: Ledger, touch: str) -> None:
    names, again = _program(), _program()
    _restored(tmp_path, ledger, names, again)
    for one in (again, names):
        optimizer = one["opt"]
        if touch == "hasattr":
            assert hasattr(optimizer, "state")
        elif touch == "set":
            optimizer.state = optimizer.state
        elif touch == "delete":
            kept = optimizer.state
            del optimizer.state
            assert not hasattr(optimizer, "state")
            optimizer.state = kept
        elif touch == "step":
            _step(one, 2)
        elif touch == "load_state_dict":
            optimizer.load_state_dict(deepcopy(optimizer.state_dict()))
        else:
            optimizer.add_param_group({"params": [torch.nn.Parameter(torch.ones(3))]})
    assert repr(again["opt"]) == repr(names["opt"])
    assert _same(_moments(again["opt"]), _moments(names["opt"]))
    assert sorted(vars(again["opt"])) == sorted(vars(names["opt"]))


def test_the_class_has_the_attribute_only_while_something_is_owed(tmp_path: Path, ledger: Ledger) -> None:
    names, again = _program(), _program()
    order = list(vars(again["opt"]))
    _restored(tmp_path, ledger, names, again)
    assert "state" in vars(torch.optim.Optimizer)
    assert not hasattr(torch.optim.Optimizer, "state")  # as ever, for whoever asks
    assert list(vars(again["opt"])) == order
    _step(again, 1)
    assert "state" not in vars(torch.optim.Optimizer)


def test_an_optimizer_that_ends_takes_its_debts_along(tmp_path: Path, ledger: Ledger) -> None:
    names, again = _program(), _program()
    state, _, values = _restored(tmp_path, ledger, names, again)
    assert ledger._debts
    del state, values, again["opt"]
    assert not ledger._debts and "state" not in vars(torch.optim.Optimizer)


HOLDERS: dict[str, Any] = {
    "a moment": lambda optimizer: next(iter(optimizer.state.values()))["exp_avg"],
    "a view": lambda optimizer: next(iter(optimizer.state.values()))["exp_avg"][2:5],
    "an array": lambda optimizer: next(iter(optimizer.state.values()))["exp_avg"].numpy(),
    "an alias without a graph": lambda optimizer: next(iter(optimizer.state.values()))["exp_avg_sq"].detach(),
    "the memory": lambda optimizer: next(iter(optimizer.state.values()))["exp_avg"].untyped_storage(),
    "an entry": lambda optimizer: next(iter(optimizer.state.values())),
    "the state": lambda optimizer: optimizer.state,
    "a state dict": lambda optimizer: optimizer.state_dict(),
    "the attributes": lambda optimizer: vars(optimizer),
    "a graph": lambda optimizer: (
        next(iter(optimizer.state.values()))["exp_avg"] * torch.ones(1, requires_grad=True)
    ).sum(),
}


@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("seen", [True, False], ids=["by the walk", "by nobody"])
def test_what_another_holds_is_there_at_once(tmp_path: Path, ledger: Ledger, holder: str, seen: bool) -> None:
    names, again = _program(), _program()
    held = HOLDERS[holder](again["opt"])
    if seen and holder not in ("a graph", "an array"):
        again["held"], names["held"] = held, HOLDERS[holder](names["opt"])
    _restored(tmp_path, ledger, names, again)
    assert not ledger._debts
    assert _same(_moments(again["opt"]), _moments(names["opt"]))
    del held


def test_walks_take_what_is_owed_for_what_it_will_be(tmp_path: Path, ledger: Ledger) -> None:
    names, again = _program(), _program()
    state, hashes, values = _restored(tmp_path, ledger, names, again)
    assert state.compare(hashes, again).wrong == []
    assert ledger.paid == 0 and values["opt"] is again["opt"]
    state.restore(hashes, again)  # what is promised already is not promised again
    assert ledger.owed == 2 * MOMENT
    _step(again, 1)
    assert any("exp_avg" in words for words in state.compare(hashes, again).wrong)
    state.restore(hashes, again)
    assert ledger.owed == 4 * MOMENT
    assert _same(_moments(again["opt"]), _moments(names["opt"]))


@pytest.mark.parametrize(
    ("kind", "options"),
    [(torch.optim.SGD, {"momentum": 0.9}), (torch.optim.AdamW, {"amsgrad": True}), (torch.optim.RMSprop, {})],
)
def test_other_optimizers(tmp_path: Path, ledger: Ledger, kind: Any, options: dict[str, Any]) -> None:
    names, again = _program(kind, **options), _program(kind, **options)
    _restored(tmp_path, ledger, names, again)
    assert ledger.owed > 0 and ledger.paid == 0
    assert _same(_moments(again["opt"]), _moments(names["opt"]))


class Own(torch.optim.Adam):
    """An optimizer of the program's own."""


def test_an_optimizer_of_ones_own_is_put_back_at_once(tmp_path: Path, ledger: Ledger) -> None:
    names, again = _program(Own), _program(Own)
    _restored(tmp_path, ledger, names, again)
    assert ledger.owed == 0
    assert _same(_moments(again["opt"]), _moments(names["opt"]))


def test_moments_that_share_memory_are_put_back_at_once(tmp_path: Path, ledger: Ledger) -> None:
    def tied() -> dict[str, Any]:
        names = _program(amsgrad=True)
        entry = names["opt"].state[names["model"].weight]
        entry["max_exp_avg_sq"] = entry["exp_avg_sq"].view(-1).view(SIZE, SIZE)
        return names

    names, again = tied(), tied()
    _restored(tmp_path, ledger, names, again)
    entry = again["opt"].state[again["model"].weight]
    assert entry["max_exp_avg_sq"].data_ptr() == entry["exp_avg_sq"].data_ptr()
    assert _same(_moments(again["opt"]), _moments(names["opt"]))


def test_a_payload_found_damaged_when_it_is_paid_ends_the_attempt(tmp_path: Path, ledger: Ledger) -> None:
    names, again = _program(), _program()
    _restored(tmp_path, ledger, names, again)
    places = read_index(tmp_path)
    with (tmp_path / PACK).open("r+b") as pack:
        for debt in ledger._debts.values():
            pack.seek(places[debt.key].offset)
            pack.write(b"\xff\x00\xff")
    with pytest.raises(Broken) as caught:
        _step(again, 1)
    assert isinstance(caught.value.args[0], StoreError)
    assert ledger._debts  # whoever goes on all the same meets it again


def test_nothing_is_owed_once_the_ledger_is_closed(tmp_path: Path, ledger: Ledger) -> None:
    names, again = _program(), _program()
    state, hashes, _ = _restored(tmp_path, ledger, names, again)
    ledger.close()
    assert ledger.paid == 2 * MOMENT
    _step(again, 1)
    state.restore(hashes, again)
    assert ledger.owed == 2 * MOMENT and not ledger._debts


def test_nothing_is_owed_while_another_thread_runs() -> None:
    end = Event()
    other = Thread(target=end.wait)
    other.start()
    try:
        assert not owed._alone()
    finally:
        end.set()
        other.join()


def test_the_counts_tell_who_holds_a_thing_here() -> None:
    assert sole._expected() is not None


@pytest.mark.parametrize(
    ("source", "behind"),
    [
        ("import re\nre.compile('x')", False),
        ("# vars(optimizer) would do", False),
        ("model.train(); optimizer.step()", False),
        ("print(vars(optimizer))", True),
        ("optimizer.__dict__['state']", True),
        ("getattr(optimizer, '__dict__')", True),
        ("from gc import get_objects as g", True),
        ("import ctypes", True),
        ("model = torch.compile(model)", True),
        ("def broken(:  # gc", True),
    ],
)
def test_which_programs_look_behind_attributes(source: str, behind: bool) -> None:
    assert looks_behind(source.encode()) is behind
