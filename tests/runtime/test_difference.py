"""What is said of two states that differ: where, what it is, what was recorded, by how much."""

from __future__ import annotations

from typing import Any

import pytest

from florc.runtime.difference import Teller
from florc.runtime.graph import Walk
from florc.runtime.roots import Root

torch = pytest.importorskip("torch")
np = pytest.importorskip("numpy")


class Net(torch.nn.Module):  # type: ignore[name-defined,misc]
    def __init__(self) -> None:
        super().__init__()
        self.fc = torch.nn.Linear(30, 20)


class Trainer:
    def __init__(self) -> None:
        self.net = Net()
        self.history = [1.0, 2.0]
        self.best = {"acc": 0.5, "epoch": 3}


def told(before: dict[str, Any], change: Any) -> list[str]:
    """Walk a state, change it, and tell of what differs."""
    base = Walk(Root(before, []), None, lambda _: False).run()
    recorded = dict(base.contents)
    blobs = {key: bytes(blob.get()) for key, blob in base.blobs.items()}
    change(before)
    walk = Walk(Root(before, []), base.as_base(), lambda _: False).run()
    teller = Teller(
        recorded.get, walk.contents, walk.path, blobs.__getitem__, lambda key: bytes(walk.blobs[key].get())
    )
    return [teller.words(number) for number in walk.contents if walk.contents[number] != recorded.get(number)]


def set_weight(state: dict[str, Any]) -> None:
    with torch.no_grad():
        state["trainer"].net.fc.weight[3, 17] += 0.5
        state["trainer"].net.fc.weight[19, 29] -= 2.0


def test_a_parameter_is_told_with_its_first_element_and_the_largest_difference():
    trainer = Trainer()
    with torch.no_grad():
        trainer.net.fc.weight.fill_(1.0)
    assert told({"trainer": trainer}, set_weight) == [
        "trainer.net.fc.weight[3, 17] is 1.5 (recorded 1.0; 2 of 600 elements differ, by at most 2)"
    ]


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "float16", "int64", "bool"])
def test_every_dtype_is_told_in_its_own_values(dtype):
    tensor = torch.ones(5, dtype=getattr(torch, dtype))
    (words,) = told({"x": tensor}, lambda state: state["x"][2].fill_(0))
    zero, one = torch.zeros((), dtype=tensor.dtype).item(), torch.ones((), dtype=tensor.dtype).item()
    assert words == f"x[2] is {zero!r} (recorded {one!r}; 1 of 5 elements differ, by at most 1)"


def test_not_a_number_is_told_without_a_size():
    (words,) = told({"x": torch.ones(4)}, lambda state: state["x"][1].fill_(float("nan")))
    assert words == "x[1] is nan (recorded 1.0; 1 of 4 elements differ)"


def test_an_array_is_told_by_its_elements_large_or_small():
    for size in (6, 6000):
        array = np.zeros((2, size // 2), dtype=np.float32)
        (words,) = told({"a": array}, lambda state: state["a"].__setitem__((1, 2), 0.25))
        assert words == f"a[1, 2] is 0.25 (recorded 0.0; 1 of {size} elements differ, by at most 0.25)"


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        (lambda s: setattr(s["t"], "wait", 3), "t.wait"),
        (lambda s: s["t"].best.update(acc=0.75), "t.best['acc'] is 0.75 (recorded 0.5)"),
        (lambda s: s["t"].history.__setitem__(1, 9.0), "t.history[1] is 9.0 (recorded 2.0)"),
        (lambda s: s["t"].history.append(9.0), "t.history has 3 items (recorded 2)"),
        (lambda s: s.update(lr=0.2), "lr is 0.2 (recorded 0.1)"),
    ],
)
def test_plain_values_are_told_with_their_names(change, wanted):
    words = told({"t": Trainer(), "lr": 0.1}, change)
    assert words[0] == wanted
