"""Leaving a block early: once nothing in it can show any more, its recorded exit is put back for the rest.

What the loop runs over is then let go of before its end, as by a ``break``. Where that could be seen (a
generator's ``finally``, a progress bar's last line, worker processes with batches under way) it runs on.
"""

from __future__ import annotations

import sys
from typing import Any

_ITERATED: tuple[Any, ...] = (
    [], (), {}, set(), "", b"", range(0), range(1 << 70), reversed([]), {}.values(), {}.items(),
)  # fmt: skip
_PLAIN_ITERATORS = frozenset(type(iter(iterated)) for iterated in _ITERATED)
_LOADER = "torch.utils.data"  # its classes iterate by generators that hold nothing to be undone
MAX_DEPTH = 8  # of iterators in iterators


def is_past(run_last: tuple[str, float], names: Any) -> bool:
    """True if the counting variable has gone beyond the last value of interest."""
    name, last = run_last
    value = names.get(name)
    return type(value) is int and value > last


def counts_and_may_be_dropped(iterable: Any) -> bool:
    """True if a loop over this has a number that only grows, and nobody sees it when the loop is left."""
    if type(iterable) is range:
        return iterable.step > 0
    return type(iterable) is enumerate and _may_be_dropped(iterable, MAX_DEPTH)


def _may_be_dropped(iterator: Any, depth: int) -> bool:
    if not depth:
        return False
    if type(iterator) in (enumerate, zip):
        parts = iterator.__reduce__()[1]
        held = parts[:1] if type(iterator) is enumerate else parts
        return all(_may_be_dropped(part, depth - 1) for part in held)
    return type(iterator) in _PLAIN_ITERATORS or _is_plain_loader(iterator)


def _is_plain_loader(iterator: Any) -> bool:
    """True for a DataLoader's iterator in this process, over a dataset by index and torch's own samplers."""
    data = sys.modules.get("torch.utils.data.dataloader")
    if data is None or type(iterator) is not data._SingleProcessDataLoaderIter:
        return False
    batches = getattr(iterator, "_index_sampler", None)
    samplers = (batches, getattr(batches, "sampler", None))
    own = all(sampler is None or type(sampler).__module__.startswith(_LOADER) for sampler in samplers)
    return own and iterator._dataset_kind == data._DatasetKind.Map
