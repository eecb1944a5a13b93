"""The walk over a recorded and an edited tree along their alignment.

It maps lines and loops of what is paired and hands on, as findings, every step that needs a judgement.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

from .align import Aligner, Step
from .logged import Noted
from .own import Scope
from .plan import Plan
from .statements import (
    DEFINITIONS,
    LOOPS,
    Body,
    bodies,
    first_line,
    header_end,
    is_compound,
    is_noop,
    last_line,
)


@dataclass(frozen=True)
class Place:
    """Where a body stands: its scope, its region, and the new line of the header it belongs to."""

    scope: Scope
    region: int
    line: int


@dataclass(frozen=True)
class Finding:
    """A step that is no plain pair, with where it was found."""

    step: Step
    place: Place
    old_line: int
    new_line: int


@dataclass
class Pairing:
    """Walks both trees along the alignment; collects lines, ids and what needs a judgement."""

    aligner: Aligner
    plan: Plan
    noted: Noted = field(default_factory=Noted)
    findings: list[Finding] = field(default_factory=list)
    ids: dict[tuple[int, int], str] = field(default_factory=dict)
    lines: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._loops = {(loop.line, loop.col): loop.id for loop in self.plan.loops if loop.id}
        self._regions = {(region.line, region.col): region.index for region in self.plan.regions}

    def body(self, old: Body, new: Body, place: Place, *, same: bool = False) -> None:
        """Walk one pair of statement lists; ``same``: they are known to be equal."""
        place = Place(place.scope, self._region(old, place.region), place.line)
        if same:
            steps = [Step("same", (a,), b) for a, b in zip(old.statements, new.statements, strict=True)]
        else:
            steps = self.aligner.align(old.statements, new.statements)
        self._steps(steps, place, old.statements, new.statements)

    def _steps(
        self, steps: list[Step], place: Place, old_body: Sequence[ast.stmt], new_body: Sequence[ast.stmt]
    ) -> None:
        done_old = done_new = 0
        for step in steps:
            old_line = _here(old_body[done_old:], old_body, 0)
            new_line = _here(new_body[done_new:], new_body, place.line)
            done_old += len(step.old)
            done_new += step.new is not None
            if step.kind not in ("same", "inside") and not _is_nothing(step):
                self.findings.append(Finding(step, place, old_line, new_line))
            if step.kind == "wrapped":
                assert isinstance(step.new, ast.With)
                inside = self.aligner.align(step.old, step.new.body)
                inner = Place(place.scope, place.region, header_end(step.new))
                self._steps(inside, inner, step.old, step.new.body)
            elif step.old and step.new is not None:
                self._pair(step.old[0], step.new, place, same=step.kind == "same")

    def _region(self, body: Body, enclosing: int) -> int:
        if body.kind == "module" or not body.statements:
            return enclosing
        first = body.statements[:2] if is_noop(body.statements[0]) else body.statements[:1]
        known = [
            self._regions[at] for node in first if (at := (node.lineno, node.col_offset)) in self._regions
        ]
        return known[0] if known else enclosing

    def _pair(self, old: ast.stmt, new: ast.stmt, place: Place, *, same: bool) -> None:
        self._map_lines(old, new)
        if self.noted.differ(old, new):
            self.findings.append(Finding(Step("noted", (old,), new), place, first_line(old), first_line(new)))
        at = (old.lineno, old.col_offset)
        if isinstance(old, LOOPS) and at in self._loops:
            self.ids[new.lineno, new.col_offset] = self._loops[at]
        if type(old) is not type(new) or not is_compound(old):
            return
        scope = place.scope
        if isinstance(old, DEFINITIONS):
            scope = Scope(old, new, scope)
        for inner, partner in zip(bodies(old), bodies(new), strict=False):
            self.body(inner, partner, Place(scope, place.region, header_end(new)), same=same)

    def _map_lines(self, old: ast.stmt, new: ast.stmt) -> None:
        first, last = first_line(old), header_end(old)
        start, stop = first_line(new), header_end(new)
        for line in range(first, last + 1):
            self.lines.setdefault(line, min(start + line - first, stop))
        if last != first:
            self.lines[last] = stop


def _is_nothing(step: Step) -> bool:
    nodes = [*step.old, step.new] if step.new is not None else step.old
    return all(node is not None and is_noop(node) for node in nodes)


def _here(rest: Sequence[ast.stmt], body: Sequence[ast.stmt], otherwise: int) -> int:
    """Return the line of the next statement of a body, else the body's last, else that of its header."""
    if rest:
        return first_line(rest[0])
    return last_line(body[-1]) if body else otherwise
