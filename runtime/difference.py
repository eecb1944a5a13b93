"""Saying in words how a live state differs from the recorded one: where, first element, by how much."""

from __future__ import annotations

import marshal
import math
import pickle
import sys
from collections.abc import Callable, Mapping
from typing import Any

from .errors import StoreError

MAX_SHOWN = 60  # characters of a value
Fetch = Callable[[str], bytes]


class Teller:
    """Tells of differences between recorded contents and those of a walk.

    Args:
        recorded: the recorded contents by node number, as far as they are known.
        live: the contents found now.
        path: the way to a node in words.
        old: fetches recorded blobs; new: those found now. Either may raise StoreError or KeyError.
    """

    def __init__(
        self,
        recorded: Callable[[int], bytes | None],
        live: Mapping[int, bytes],
        path: Callable[[int], str],
        old: Fetch,
        new: Fetch,
    ) -> None:
        self._recorded, self._live, self._path = recorded, live, path
        self._old, self._new = old, new

    def words(self, number: int) -> str:
        """One node's difference: its path, what it is now, what was recorded."""
        path = self._path(number)
        recorded = self._recorded(number)
        if recorded is None:
            return path or "the names bound"
        old, new = marshal.loads(recorded), marshal.loads(self._live[number])
        if old[0] != new[0]:
            return f"{path} is a {new[0]} (recorded a {old[0]})"
        try:
            found = self._memory(number, path, old, new)
        except (StoreError, KeyError, TypeError, ValueError, RuntimeError, AttributeError):
            found = ""  # not to be had, or of a kind that does not compare: the path alone
        return found or self._leaf(path, old, new)

    # -- memory -------------------------------------------------------------------------
    def _memory(self, number: int, path: str, old: Any, new: Any) -> str:
        if old[0] == "storage":
            view = self._view(number)
            if view is None or (old[1:4]) != new[1:4]:
                return ""
            dtype, shape, contiguous = view
            values = self._tensors(dtype, old[4], new[4])
        elif old[0] == "array" and old[1] != "objects":
            place = 7 if old[1] == "view" else 4
            if old[2] != new[2] or old[3] != new[3]:
                return ""
            shape, contiguous = old[3], True
            values = self._arrays(pickle.loads(old[2]), old[place], new[place])
        else:
            return ""
        return _elements(path, shape if contiguous else (), *values)

    def _bytes(self, data: Any, fetch: Fetch) -> bytearray:
        return bytearray(data if isinstance(data, bytes) else fetch(data))

    def _tensors(self, dtype: str, old: Any, new: Any) -> tuple[list[int], Any, Any]:
        torch = sys.modules["torch"]
        kind = getattr(torch, dtype)
        was, now = (
            torch.frombuffer(self._bytes(data, fetch), dtype=kind)
            for data, fetch in ((old, self._old), (new, self._new))
        )
        raw = (was.view(torch.uint8) != now.view(torch.uint8)).reshape(len(was), -1).any(1)
        return raw.nonzero().flatten().tolist(), was, now

    def _arrays(self, dtype: Any, old: Any, new: Any) -> tuple[list[int], Any, Any]:
        np = sys.modules["numpy"]
        was, now = (
            np.frombuffer(self._bytes(data, fetch), dtype=dtype)
            for data, fetch in ((old, self._old), (new, self._new))
        )
        raw = (was.view(np.uint8) != now.view(np.uint8)).reshape(len(was), -1).any(1)
        return raw.nonzero()[0].tolist(), was, now

    def _view(self, storage: int) -> tuple[str, tuple[int, ...], bool] | None:
        """(dtype, shape, whether elements lie in order) of a tensor that shows the storage."""
        for content in self._live.values():
            if b"tensor" in content:
                loaded = marshal.loads(content)
                if loaded[0] == "tensor" and loaded[6] == (storage,):
                    return loaded[2], loaded[3], loaded[4] == _strides(loaded[3])
        return None

    # -- everything else ------------------------------------------------------------------
    def _leaf(self, path: str, old: Any, new: Any) -> str:
        if old[0] in ("storage", "array"):
            return path
        if old[0] in ("list", "deque", "tuple") and len(old[1]) != len(new[1]):
            return f"{path} has {len(new[1])} items (recorded {len(old[1])})"
        if old[0] in ("list", "deque", "tuple", "dict"):
            found = _first_item(old[0], old[1], new[1])
        else:
            found = _first(old[1:], new[1:], "")
        if found is None:
            return path
        name, was, now = found
        where = f"{path}{name}" if name.startswith("[") else f"{path}.{name}".strip(".")
        if _is_value(was) and _is_value(now):
            return f"{where} is {_show(now)} (recorded {_show(was)})"
        return where or "the names bound"


def _strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def _elements(path: str, shape: tuple[int, ...], places: list[int], was: Any, now: Any) -> str:
    """``model.weight[3, 17] is 0.5 (recorded 0.25; 2 of 4096 elements differ, by at most 0.25)``."""
    if not places:
        return ""
    first, total = places[0], len(was)
    index = _unravel(first, shape) if math.prod(shape) == total else (first,)
    size = _largest(places, was, now)
    many = f"{len(places)} of {total} elements differ" + (f", by at most {size:.3g}" if size else "")
    at = f"[{', '.join(map(str, index))}]" if index else ""
    return f"{path}{at} is {_show(now[first].item())} (recorded {_show(was[first].item())}; {many})"


def _unravel(flat: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    index = []
    for size in reversed(shape):
        flat, rest = divmod(flat, size)
        index.append(rest)
    return tuple(reversed(index))


def _largest(places: list[int], was: Any, now: Any) -> float:
    """The largest difference of two elements that are numbers."""
    gaps = (abs(complex(now[i].item()) - complex(was[i].item())) for i in places)
    return max((gap for gap in gaps if math.isfinite(gap)), default=0.0)


def _first_item(tag: str, old: Any, new: Any) -> tuple[str, Any, Any] | None:
    """The first item in which two containers differ, and how it is asked for."""
    old_items, new_items = (dict(side) if tag == "dict" else dict(enumerate(side)) for side in (old, new))
    for key, value in old_items.items():
        if key not in new_items or value != new_items[key]:
            return f"[{key!r}]" if _is_value(key) else "", value, new_items.get(key, ())
    return None


def _first(old: Any, new: Any, name: str) -> tuple[str, Any, Any] | None:
    """The first leaf in which two contents differ, with the name it stands under."""
    if old == new and type(old) is type(new):
        return None
    if not (isinstance(old, (tuple, list)) and isinstance(new, (tuple, list))):
        return name, old, new
    if _are_pairs(old) and _are_pairs(new):
        return _first_pair(dict(old), dict(new), name)
    if len(old) != len(new):
        return name, None, ()
    for was, now in zip(old, new, strict=True):
        found = _first(was, now, name)
        if found is not None:
            return found
    return None


def _first_pair(old: dict[str, Any], new: dict[str, Any], name: str) -> tuple[str, Any, Any]:
    for key in [*old, *(key for key in new if key not in old)]:
        inner = f"{name}.{key}".strip(".")
        if key not in new or key not in old:
            return inner, (), ()
        found = _first(old[key], new[key], inner)
        if found is not None:
            return found
    return name, (), ()  # the same pairs in another order


def _are_pairs(value: Any) -> bool:
    return (
        len(value) > 0
        and all(isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str) for item in value)
        and len({item[0] for item in value}) == len(value)
    )


def _is_value(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, complex, str))


def _show(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"
