"""The values by which a user may name an iteration of a main loop: short plain ones, as they change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .kind import instance_dict
from .roots import is_hidden

LOOKED_THROUGH = 3  # iterations in which all names of a module are looked through for plain values
MOST_ATTRIBUTES = 200  # an object with more is a table, not a trainer
MAX_VALUE_CHARS, MAX_VALUE = 60, 10**18  # longer strings and larger numbers do not name an iteration

_NOT_PLAIN = None  # a name that held a plain value, and does not any more (no plain value is None)


def plain(names: Iterable[str], values: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the names that hold short plain values."""
    return {name: values[name] for name in names if _is_short(values.get(name))}


def _is_short(value: Any) -> bool:
    if type(value) is int:
        return -MAX_VALUE < value < MAX_VALUE
    return type(value) is str and len(value) <= MAX_VALUE_CHARS


class Noted:
    """What has been written down so far for one run of a main loop."""

    def __init__(self) -> None:
        self._held: dict[str, Any] = {}  # None: nothing plain at the moment
        self._attributes: dict[str, Any] = {}

    def of_function(self, names: Iterable[str], values: Mapping[str, Any]) -> dict[str, Any]:
        """All plain values of a function's names; None for those that are plain no more.

        In a method those of `self` too, as `self.NAME`, where they are new or have changed.
        """
        found = plain(names, values)
        gone = dict.fromkeys(self._held.keys() - found.keys(), _NOT_PLAIN)
        self._held = found
        return found | gone | self._of_attributes(values.get("self"))

    def _of_attributes(self, owner: Any) -> dict[str, Any]:
        held = instance_dict(owner) or {}
        if len(held) > MOST_ATTRIBUTES:
            held = {}
        now = {f"self.{name}": value for name, value in held.items() if _is_short(value)}
        before, self._attributes = self._attributes, now
        changed = {name: value for name, value in now.items() if before.get(name) != value}
        return dict.fromkeys(before.keys() - now.keys(), _NOT_PLAIN) | changed

    def of_module(self, values: Mapping[str, Any], iteration: int) -> dict[str, Any]:
        """The plain values of a module's names that are new or have changed; None for those plain no more."""
        if iteration <= LOOKED_THROUGH:
            found = plain([name for name in values if not is_hidden(name)], values)
            self._held = dict.fromkeys(found, _NOT_PLAIN) | self._held
        # most are the very objects they were
        moved = [name for name, held in self._held.items() if values.get(name) is not held]
        now = dict.fromkeys(moved, _NOT_PLAIN) | plain(moved, values)
        changed = {name: value for name, value in now.items() if self._held[name] != value}
        self._held.update(changed)
        return changed
