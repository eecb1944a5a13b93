"""Where walks of the object graph start: a guard's frame and the project's modules."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

HIDDEN = "_florc"  # the names that instrumentation adds start so


class Namespace:
    """A project module's globals (or names watched in a library's), as one node of the graph."""

    def __init__(self, name: str, names: MutableMapping[str, Any]) -> None:
        self.name = name
        self.names = names


@dataclass
class Root:
    """Where a walk starts.

    `allowed` restricts the names looked at (key: "" for the frame, else the module's name): on
    replay only what the record knew counts, so names that probes add do not.
    """

    frame: dict[str, Any]
    modules: list[Namespace]
    allowed: dict[str, frozenset[str]] | None = None

    def pick(self, key: str, names: Mapping[str, Any]) -> list[tuple[str, Any]]:
        """The (name, value) pairs that count, sorted by name."""
        if self.allowed is not None:
            wanted = self.allowed.get(key, frozenset())
            return [(name, names[name]) for name in sorted(wanted) if name in names]
        return [(name, names[name]) for name in sorted(names) if not name.startswith((HIDDEN, "__"))]


def is_hidden(name: str) -> bool:
    """True for names that are Python's or florc's own."""
    return name.startswith((HIDDEN, "__"))
