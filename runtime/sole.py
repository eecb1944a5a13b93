"""Whether anything but an optimizer leads to its state: by counting who holds it.

The walk sees what the guard's frame and the project's modules lead to, but not the frames of callers, nor
what C++ holds (a graph's saved tensors, a view, an array that shares the memory). Counts of references see it
all: if a tensor has exactly as many as the optimizer's own way to it and florc's lists account for, nobody
else has one. How many a way accounts for depends on the versions of Python and torch: a sample tells.
"""

from __future__ import annotations

import functools
import sys
import weakref
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import torch

from .kind import instance_dict

SAMPLE_ITEMS = 1024


class _Row(NamedTuple):
    """One object on the way: what it is, and how many hold it (in Python, in C++)."""

    what: str
    number: int
    held: int
    used: int


def is_optimizer(obj: Any) -> bool:
    """True for torch's own optimizers as they come, no subclass."""
    if not isinstance(obj, torch.optim.Optimizer):
        return False
    return all(cls is object or cls.__module__.startswith("torch.optim.") for cls in type(obj).__mro__)


def storages(optimizer: Any) -> list[Any]:
    """The memory of the plain tensors that stand in an optimizer's state, parameter by parameter."""
    state: Any = (instance_dict(optimizer) or {}).get("state")
    if type(state) not in (dict, defaultdict):
        return []
    entries = [entry for entry in state.values() if type(entry) is dict]
    return [value.untyped_storage() for entry in entries for value in entry.values() if _is_plain(value)]


def solely(optimizer: Any, held: Mapping[int, int]) -> set[int]:
    """Ids of the storages to which nothing but the optimizer's state leads.

    held: by id, references that are known of and do not count.
    """
    expected = _expected()
    found: set[int] = set()
    sound: dict[str, bool] = {}  # for each step of the way: nobody else holds the one looked at last
    if expected is None:
        return set()
    for row in _rows(optimizer):
        above = _ABOVE[row.what]
        number, used = row.held - held.get(row.number, 0), row.used
        sound[row.what] = sound.get(above, True) and (number, used) == expected[row.what]
        if row.what == "storage" and sound[row.what]:
            found.add(row.number)
    return found


_ABOVE = {"names": "", "state": "names", "entry": "state", "tensor": "entry", "storage": "tensor"}


def _rows(holder: Any) -> Iterator[_Row]:
    """The way from a holder to each storage in its state; what holds an object comes before it."""
    names = object.__getattribute__(holder, "__dict__")
    yield _Row("names", id(names), sys.getrefcount(names), 0)
    state = names.get("state")
    if type(state) not in (dict, defaultdict):
        return
    yield _Row("state", id(state), sys.getrefcount(state), 0)
    for entry in state.values():
        if type(entry) is not dict:
            continue
        yield _Row("entry", id(entry), sys.getrefcount(entry), 0)
        for value in entry.values():
            if _is_plain(value):
                used = value._use_count() + weakref.getweakrefcount(value)
                yield _Row("tensor", id(value), sys.getrefcount(value), used)
                storage = value.untyped_storage()
                used = torch._C._storage_Use_Count(storage._cdata) + weakref.getweakrefcount(storage)
                yield _Row("storage", id(storage), sys.getrefcount(storage), used)


def _is_plain(value: Any) -> bool:
    """True for a tensor with memory of this process alone: who uses a device's cannot be counted."""
    if type(value) is not torch.Tensor or value.layout is not torch.strided or value.device.type != "cpu":
        return False
    return not value.untyped_storage().is_shared()


class _Sample:
    """Holds a state as an optimizer does."""

    def __init__(self) -> None:
        self.state = defaultdict(dict, {0: {"m": torch.zeros(SAMPLE_ITEMS, device="cpu")}})


@functools.cache
def _expected() -> dict[str, tuple[int, int]] | None:
    """What the counts are where nobody else holds a thing; None if they do not tell that here."""
    sample = _Sample()
    held = [sample.state[0]["m"].untyped_storage()]  # as florc's lists hold those of an entry state
    try:
        alone = _counted(sample, len(held))
        with torch.inference_mode(False), torch.enable_grad():
            for look in _LOOKS:
                seen = look(sample.state[0]["m"])
                if _counted(sample, len(held)) == alone:
                    return None
                del seen
        return alone if _counted(sample, len(held)) == alone else None
    except (AttributeError, TypeError, RuntimeError):
        return None


def _counted(sample: _Sample, known: int) -> dict[str, tuple[int, int]]:
    """The sample's counts, but for the known holders of its storage."""
    found = {row.what: (row.held, row.used) for row in _rows(sample)}
    held, used = found["storage"]
    return {**found, "storage": (held - known, used)}


# ways to hold on to a tensor's memory, each of which must show in the counts
_LOOKS: tuple[Any, ...] = (
    lambda tensor: tensor,
    lambda tensor: tensor[:1],
    lambda tensor: tensor.detach(),
    lambda tensor: tensor.numpy(),
    lambda tensor: memoryview(tensor.numpy()),
    lambda tensor: tensor.untyped_storage(),
    lambda tensor: tensor.__dlpack__(),
    lambda tensor: weakref.ref(tensor),
    lambda tensor: (tensor * torch.ones(1, device="cpu", requires_grad=True)).sum(),
)
