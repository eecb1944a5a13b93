"""Pairing the statements of an old body with those of a new one, at least cost.

The cost table says what is preferred: first an alignment that only adds, then one that only touches
output, and among changed programs the one that is told in the fewest, nearest words.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from .knowledge import Facts
from .output_only import is_output
from .statements import (
    DEFINITIONS,
    WITHS,
    bodies,
    head,
    header,
    import_gains,
    is_compound,
    is_noop,
    key,
    statement_count,
)
from .wrappers import is_watching_with

Kind = Literal[
    "same", "inside", "extended", "edited", "modified", "removed", "added", "wrapped", "noted", "nothing"
]

ADD = 2
"""An added statement: the unit, two so that half a unit can break ties."""
EXTEND = 1
"""An import that gained names: nearer than the old one gone and a new one there."""
EDIT = 8
"""An edited output statement; the likeness of the two takes off up to EDIT_LIKENESS."""
EDIT_LIKENESS = 4
REMOVE_OUTPUT = 10
"""More than EDIT - ADD, so that an old and a new print are one edited statement."""
MODIFY = 100_000
"""A changed statement: more than any number of permitted edits that a body can hold."""
REMOVE = 110_000
"""A removed statement, for each statement in it; more than MODIFY, so that it pairs with one of its kind."""
LIKENESS = 9_000
"""What the likeness of two changed statements takes off, so that a report pairs what belongs together."""

FULL_TABLE_CELLS = 250_000
"""Above so many pairs in one body (a file rewritten, not edited) the full table would take seconds."""


@dataclass(frozen=True)
class Step:
    """One step through a body: what became of ``old``, what ``new`` came from.

    ``wrapped`` has the old statements that stand inside the new ``with``; all other kinds have at most one.
    """

    kind: Kind
    old: tuple[ast.stmt, ...]
    new: ast.stmt | None


@dataclass(frozen=True)
class _Move:
    cost: int
    kind: Kind
    back: tuple[int, int]


class Aligner:
    """Aligns bodies of one old and one new module; remembers what it has compared."""

    def __init__(self, old_facts: Facts, new_facts: Facts) -> None:
        self._facts = (old_facts, new_facts)
        self._keys: dict[ast.stmt, str] = {}
        self._heads: dict[ast.stmt, str] = {}
        self._pairs: dict[tuple[ast.stmt, ast.stmt], tuple[int, Kind] | None] = {}

    def align(self, old: Sequence[ast.stmt], new: Sequence[ast.stmt]) -> list[Step]:
        """Return the steps that lead from one body to the other, in the order of both."""
        return self._solve(old, new)[1]

    def same(self, old: ast.stmt, new: ast.stmt) -> bool:
        """Tell whether two statements are equal but for layout and comments."""
        return self._key(old) == self._key(new)

    def _key(self, node: ast.stmt) -> str:
        if node not in self._keys:
            self._keys[node] = key(node)
        return self._keys[node]

    def _head(self, node: ast.stmt) -> str:
        if node not in self._heads:
            self._heads[node] = head(node) if is_compound(node) else self._key(node)
        return self._heads[node]

    def _solve(self, old: Sequence[ast.stmt], new: Sequence[ast.stmt]) -> tuple[int, list[Step]]:
        start, stop = self._equal_ends(old, new)
        middle = self._middle(old[start : len(old) - stop], new[start : len(new) - stop])
        before = [Step("same", (a,), b) for a, b in zip(old[:start], new[:start], strict=True)]
        tails = (old[len(old) - stop :], new[len(new) - stop :])
        after = [Step("same", (a,), b) for a, b in zip(*tails, strict=True)]
        return middle[0], before + middle[1] + after

    def _equal_ends(self, old: Sequence[ast.stmt], new: Sequence[ast.stmt]) -> tuple[int, int]:
        shorter = min(len(old), len(new))
        start = 0
        while start < shorter and self.same(old[start], new[start]):
            start += 1
        stop = 0
        while stop < shorter - start and self.same(old[-1 - stop], new[-1 - stop]):
            stop += 1
        return start, stop

    def _middle(self, old: Sequence[ast.stmt], new: Sequence[ast.stmt]) -> tuple[int, list[Step]]:
        if len(old) * len(new) <= FULL_TABLE_CELLS:
            return self._table(old, new, len(old))
        blocks = SequenceMatcher(
            None, [self._head(a) for a in old], [self._head(b) for b in new], autojunk=False
        )
        longest = blocks.find_longest_match()
        if not longest.size:
            return self._unlike(old, new)
        parts = [
            self._solve(old[: longest.a], new[: longest.b]),
            self._one_by_one(old[longest.a :][: longest.size], new[longest.b :][: longest.size]),
            self._solve(old[longest.a + longest.size :], new[longest.b + longest.size :]),
        ]
        return sum(cost for cost, _ in parts), [step for _, steps in parts for step in steps]

    def _unlike(self, old: Sequence[ast.stmt], new: Sequence[ast.stmt]) -> tuple[int, list[Step]]:
        cost = sum(self._removal(a) for a in old) + sum(self._addition(b) for b in new)
        return cost, [Step("removed", (a,), None) for a in old] + [Step("added", (), b) for b in new]

    def _one_by_one(self, old: Sequence[ast.stmt], new: Sequence[ast.stmt]) -> tuple[int, list[Step]]:
        parts = [self._table([a], [b], 1) for a, b in zip(old, new, strict=True)]
        return sum(cost for cost, _ in parts), [step for _, steps in parts for step in steps]

    def _table(self, old: Sequence[ast.stmt], new: Sequence[ast.stmt], stop: int) -> tuple[int, list[Step]]:
        """Solve by the usual table, plus moves that put a run of old statements into a ``with``."""
        best = self._fill(old, new)
        steps: list[Step] = []
        at = (stop, len(new))
        while at != (0, 0):
            move = best[at]
            i, j = move.back
            steps.append(Step(move.kind, tuple(old[i : at[0]]), new[j] if at[1] > j else None))
            at = move.back
        return (best[stop, len(new)].cost if (stop or new) else 0), steps[::-1]

    def _fill(self, old: Sequence[ast.stmt], new: Sequence[ast.stmt]) -> dict[tuple[int, int], _Move]:
        best = {(0, 0): _Move(0, "nothing", (0, 0))}

        def offer(at: tuple[int, int], back: tuple[int, int], cost: int, kind: Kind) -> None:
            total = best[back].cost + cost
            if at not in best or total < best[at].cost:
                best[at] = _Move(total, kind, back)

        wraps = {j: self._wraps(old, node) for j, node in enumerate(new) if isinstance(node, WITHS)}
        for j in range(len(new) + 1):
            for i in range(len(old) + 1):
                here = (i, j)
                if i < len(old) and j < len(new):
                    pair = self._pair(old[i], new[j])
                    if pair is not None:
                        offer((i + 1, j + 1), here, *pair)
                if i < len(old):
                    offer((i + 1, j), here, self._removal(old[i]), "removed")
                if j < len(new):
                    offer((i, j + 1), here, self._addition(new[j]), "added")
                    for end, cost in wraps.get(j, {}).get(i, ()):
                        offer((end, j + 1), here, cost, "wrapped")
        return best

    def _wraps(self, old: Sequence[ast.stmt], new: ast.stmt) -> dict[int, list[tuple[int, int]]]:
        """Return start -> (end, cost) for the runs of old statements that may stand in an added ``with``."""
        assert isinstance(new, WITHS)
        if not is_watching_with(new, self._facts[1]):
            return {}
        heads = {self._head(a) for a in old}
        first = next((self._head(b) for b in new.body if self._head(b) in heads), "")
        nested = any(
            isinstance(b, WITHS) for b in new.body
        )  # the first one may stand inside a further wrapper
        found: dict[int, list[tuple[int, int]]] = {}
        for start in (i for i, a in enumerate(old) if nested or self._head(a) == first):
            best = self._fill(old[start:], new.body)
            ends = range(1, len(old) - start + 1)
            found[start] = [(start + n, ADD + best[n, len(new.body)].cost) for n in ends]
        return found

    def _addition(self, node: ast.stmt) -> int:
        return 0 if is_noop(node) else ADD

    def _removal(self, node: ast.stmt) -> int:
        if is_noop(node):
            return 0
        if is_output(node, self._facts[0]):
            return REMOVE_OUTPUT
        return REMOVE * statement_count(node)

    def _pair(self, old: ast.stmt, new: ast.stmt) -> tuple[int, Kind] | None:
        if (old, new) not in self._pairs:
            self._pairs[old, new] = self._compare(old, new)
        return self._pairs[old, new]

    def _compare(self, old: ast.stmt, new: ast.stmt) -> tuple[int, Kind] | None:
        """Return what pairing two statements costs and means, None where they have nothing in common."""
        if self.same(old, new):
            return 0, "same"
        if is_noop(old) or is_noop(new):
            return None
        if is_compound(old) and self._head(old) == self._head(new):
            changed = isinstance(old, DEFINITIONS) and header(old) != header(new)
            inside = self._inside(old, new)
            return (MODIFY + inside, "modified") if changed else (inside, "inside")
        if import_gains(old, new) is not None:
            return EXTEND, "extended"
        if is_output(old, self._facts[0]) and is_output(new, self._facts[1]):
            return EDIT - round(EDIT_LIKENESS * self._likeness(old, new)), "edited"
        if type(old) is type(new) and not isinstance(old, DEFINITIONS):
            inside = self._inside(old, new) if is_compound(old) else 0
            return MODIFY - round(LIKENESS * self._likeness(old, new)) + inside, "modified"
        return None

    def _inside(self, old: ast.stmt, new: ast.stmt) -> int:
        parts = zip(bodies(old), bodies(new), strict=False)  # a changed header may have fewer
        return sum(self._solve(a.statements, b.statements)[0] for a, b in parts)

    def _likeness(self, old: ast.stmt, new: ast.stmt) -> float:
        first, second = (header(node) if is_compound(node) else self._key(node) for node in (old, new))
        return SequenceMatcher(None, first.split("'"), second.split("'"), autojunk=False).quick_ratio()
