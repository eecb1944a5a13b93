"""Any value as plain data that JSON holds: what `florc.log` keeps of it."""

from __future__ import annotations

import json
from typing import Any

MAX_CHARS = 1 << 16  # of a value's text: a log is for numbers and words, tensors are in checkpoints
MAX_ITEMS = 10_000  # of a list or dict, the lists in it included
MAX_DEPTH = 8  # of lists in lists
MAX_INT = 10**400  # Python turns no larger ones than ten times as many digits into text

SCALARS = (type(None), bool, int, float, str)


def as_data(value: Any) -> tuple[Any, str]:
    """The value as JSON holds it, and what it was if it is only told in words ("" if it is the value itself).

    Numbers of NumPy, and tensors and arrays with no dimension, are Python's numbers; of lists, tuples and
    dicts with strings as keys the items are plain too. Everything else is its repr().
    """
    try:
        return _plain(value, _Budget()), ""
    except _Unfit:
        return _words(value)


class _Unfit(Exception):
    """It is no plain data."""


class _Budget:
    items = MAX_ITEMS


def _plain(value: Any, budget: _Budget, depth: int = 0) -> Any:
    kind = type(value)
    if kind is int:
        if not -MAX_INT < value < MAX_INT:
            raise _Unfit
        return value
    if kind is str:
        if len(value) > MAX_CHARS:
            raise _Unfit
        return value
    if kind in SCALARS:
        return value
    if kind in (list, tuple, dict):
        return _container(value, budget, depth)
    return _plain(_number(value), budget, MAX_DEPTH)


def _container(value: Any, budget: _Budget, depth: int) -> Any:
    budget.items -= len(value)
    if depth >= MAX_DEPTH or budget.items < 0:
        raise _Unfit
    if type(value) is not dict:
        return [_plain(item, budget, depth + 1) for item in value]
    if not all(type(key) is str for key in value):
        raise _Unfit
    return {key: _plain(item, budget, depth + 1) for key, item in value.items()}


def _number(value: Any) -> Any:
    """A number of NumPy's, or the only element of what has no dimension."""
    if type(value).__module__.partition(".")[0] in ("torch", "numpy") and getattr(value, "ndim", None) == 0:
        found = value.item()
        if type(found) in SCALARS:
            return found
    raise _Unfit


def _words(value: Any) -> tuple[str, str]:
    """Its text, and its type."""
    kind = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
    try:
        text = repr(value)
    except Exception as error:
        return "", f"{kind}, which has no text: {type(error).__name__}"
    if len(text) > MAX_CHARS:
        return text[:MAX_CHARS], f"{kind}, shortened from {len(text)} characters"
    return text, kind


def text(value: Any) -> str:
    """One text for equal values; NaN is equal to itself."""
    return json.dumps(value, sort_keys=True)
