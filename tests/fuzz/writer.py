"""The lines of a program being written, what is in sight, and where a probe may stand."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

INDENT = "    "


@dataclass(frozen=True)
class Place:
    """Where a value lies: `xs`, `self.xs`."""

    expr: str
    kind: str


@dataclass(frozen=True)
class Point:
    """Where a probe may stand: before line `at`, with the places it may look at.

    inside: in a main loop. names: the variables of the loops around, and the parameters of the function.
    """

    at: int
    indent: int
    places: tuple[Place, ...]
    inside: bool
    names: tuple[str, ...] = ()


@dataclass
class Writer:
    """The lines so far, and what is in sight.

    rebindable: the places' bare names that may be bound anew here; None: all of them, at module level.
    counters: the counting variables in sight. names: what a probe's test may ask for besides.
    """

    rng: random.Random
    lines: list[str] = field(default_factory=list)
    indent: int = 0
    places: list[Place] = field(default_factory=list)
    points: list[Point] = field(default_factory=list)
    rebindable: set[str] | None = None
    inside: bool = False
    counters: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    count: int = 0

    def emit(self, text: str, *, probe_after: bool = True) -> None:
        """Write statements at the present indentation."""
        self.lines.extend(INDENT * self.indent + line for line in text.split("\n"))
        if probe_after:
            self._point()

    def _point(self) -> None:
        self.points.append(Point(len(self.lines), self.indent, tuple(self.places), self.inside,
                                 (*self.names, *self.counters)))

    @contextmanager
    def block(self, header: str) -> Iterator[None]:
        """Write a compound statement; what the block of the with statement writes is its body."""
        self.emit(header, probe_after=False)
        self.indent += 1
        places, start = list(self.places), len(self.lines)
        self._point()
        yield
        if len(self.lines) == start:
            self.emit("pass")
        self.indent -= 1
        self.places = places
        self._point()

    def enter(self, name: str, header: str) -> tuple[list[str], list[str]]:
        """Have a loop's variables in sight; what was before, to be put back behind it."""
        before = list(self.counters), list(self.names)
        self.counters.append(name)
        target = ast.parse(header + " pass").body[0]
        if isinstance(target, ast.For):
            self.names += sorted(bound_names(ast.unparse(target.target) + " = 0") - {name})
        return before

    def new_name(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def may_bind(self, text: str) -> bool:
        """Whether the statements bind no place's name that is another scope's."""
        if self.rebindable is None:
            return True
        return not (bound_names(text) & {place.expr for place in self.places}) - self.rebindable


def bound_names(text: str) -> set[str]:
    """The bare names that statements bind or delete."""
    nodes = list(ast.walk(ast.parse(text)))
    stored = {node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    return stored | {node.name for node in nodes if isinstance(node, ast.ExceptHandler) and node.name}
