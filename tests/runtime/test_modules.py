"""torch's modules: empty registries are no objects of the walk's, and come back all the same."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest
import torch

from florc.runtime.checkpoint import LiveState, Snapshots
from florc.runtime.modules import REGISTRIES
from florc.runtime.roots import Namespace, Root
from florc.runtime.store import BlobReader, BlobWriter

from .sealed import SEAL


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(2, 2)
        self.drop = torch.nn.Dropout()


def is_project(name: str) -> bool:
    return False


def back(folder: Path, change: Any) -> tuple[Any, Any]:
    """A net as it is after a recorded change, and a fresh one to which that was restored."""
    names = {"net": Net()}
    writer = BlobWriter(folder, SEAL)
    snapshots = Snapshots(writer, is_project)
    base, key = snapshots.enter(Root({}, [Namespace("m", names)]), full=True)
    change(names["net"])
    taken = snapshots.take(base, Root({}, [Namespace("m", names)]))
    assert not taken.opaque
    writer.close()
    live = {"net": Net()}
    held = {name: vars(live["net"])[name] for name in REGISTRIES}
    state = LiveState(
        BlobReader(folder, SEAL), key, [taken.hashes], {}, lambda name: Namespace(name, live), is_project
    )
    state.restore(taken.hashes, {})
    assert state.compare(taken.hashes, {}).wrong == []
    restored = vars(live["net"])
    assert all(restored[name] is was for name, was in held.items() if not restored[name])
    return names["net"], live["net"]


def hook(*_: Any) -> None:
    """A forward hook of this module's."""


def test_the_registries_are_torchs_own():
    assert {
        "_parameters",
        "_buffers",
        "_modules",
        "_forward_hooks",
        "_non_persistent_buffers_set",
    } <= REGISTRIES
    assert "training" not in REGISTRIES


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda net: net.eval(), id="nothing of them changes"),
        pytest.param(lambda net: net.register_buffer("mean", torch.ones(2)), id="one is filled"),
        pytest.param(
            lambda net: net.drop.register_buffer("m", torch.ones(2), persistent=False), id="two are"
        ),
        pytest.param(lambda net: net.add_module("more", torch.nn.ReLU()), id="a submodule comes"),
        pytest.param(lambda net: delattr(net, "drop"), id="a submodule goes"),
        pytest.param(lambda net: net.layer.register_parameter("bias", None), id="a parameter goes"),
        pytest.param(lambda net: setattr(net, "_forward_hooks", OrderedDict()), id="one is replaced"),
    ],
)
def test_a_module_comes_back_with_its_registries(tmp_path, change):
    recorded, restored = back(tmp_path, change)
    assert list(vars(restored)) == list(vars(recorded))
    for (path, was), (other, now) in zip(recorded.named_modules(), restored.named_modules(), strict=True):
        assert (path, was.training) == (other, now.training)
        for name in REGISTRIES:
            old, new = vars(was)[name], vars(now)[name]
            assert type(old) is type(new) and sorted(old) == sorted(new), name
    assert recorded.state_dict().keys() == restored.state_dict().keys()


def test_a_registry_filled_before_the_loop_and_emptied_in_it_stays_the_same_object(tmp_path):
    names, live = {"net": Net()}, {"net": Net()}
    handle = names["net"].register_forward_hook(hook)
    other = live["net"].register_forward_hook(hook)
    other.id, live["net"]._forward_hooks = handle.id, OrderedDict({handle.id: hook})
    writer = BlobWriter(tmp_path, SEAL)
    snapshots = Snapshots(writer, is_project)
    base, key = snapshots.enter(Root({}, [Namespace("m", names)]), full=True)
    handle.remove()
    taken = snapshots.take(base, Root({}, [Namespace("m", names)]))
    writer.close()
    registry = live["net"]._forward_hooks
    state = LiveState(
        BlobReader(tmp_path, SEAL), key, [taken.hashes], {}, lambda name: Namespace(name, live), is_project
    )
    state.restore(taken.hashes, {})
    assert live["net"]._forward_hooks is registry and not registry
