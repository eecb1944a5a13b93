"""From one finding to a probe or a change."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from .knowledge import Facts
from .logged import Taken, name_why
from .look import Surroundings
from .observe import Verdict, judge, judge_output, judge_wrapper
from .output_only import is_output, output_effects
from .pairing import Finding
from .probes import Change, Probe
from .statements import DEFINITIONS, first_line, header_end, import_gains, is_compound, last_line
from .when import Loops, When
from .wrappers import is_null

NOTHING = Verdict(why="", own=frozenset(), recorded=frozenset(), pure=True, inert=False)
"""The verdict on a statement that is no longer there."""

DROPPED = "the recorded line made a call that may change state, and that is gone"


@dataclass(frozen=True)
class Side:
    """One of the two modules that are matched."""

    tree: ast.Module
    lines: Sequence[str]
    facts: Facts
    noted: Taken = field(default_factory=Taken)

    def text(self, node: ast.stmt) -> str:
        """Return the first source line of a statement, stripped."""
        return self.lines[first_line(node) - 1].strip()


@dataclass(frozen=True)
class Court:
    """Where findings are judged: both modules and what is known around the added code."""

    old: Side
    new: Side
    around: Surroundings
    loops: Loops

    def decide(self, finding: Finding) -> Probe | Change:
        """Return what a finding is."""
        if finding.step.kind == "removed":
            return self._removed(finding)
        assert finding.step.new is not None
        if finding.step.kind == "modified":
            return self._change(finding, _what_changed(finding.step.old[0], self.old))
        if finding.step.kind == "edited":
            return self._edited(finding, finding.step.new)
        if finding.step.kind == "noted":
            return self._noted(finding, finding.step.new)
        return self._added(finding, finding.step.new)

    def _added(self, finding: Finding, node: ast.stmt) -> Probe | Change:
        scope = finding.place.scope
        if finding.step.kind == "wrapped":
            assert isinstance(node, ast.With)
            verdict = judge_wrapper(node, scope, self.around)
            probe = self._probe(finding, verdict, "added", (first_line(node), header_end(node)))
            if isinstance(probe, Change):
                return probe
            return replace(probe, wraps=True, watches=0 if is_null(node) else last_line(node))
        if finding.step.kind == "extended":
            verdict = judge(_gained(finding.step.old[0], node), scope, self.around)
        else:
            verdict = judge(node, scope, self.around)
        return self._probe(finding, verdict, "added", (first_line(node), last_line(node)))

    def _edited(self, finding: Finding, node: ast.stmt) -> Probe | Change:
        effects = list(output_effects(node, self.new.facts))
        if self._drops(finding.step.old[0], effects):
            return self._change(finding, DROPPED)
        verdict = judge_output(node, finding.place.scope, self.around)
        return self._probe(finding, verdict, "edited", (first_line(node), last_line(node)))

    def _noted(self, finding: Finding, node: ast.stmt) -> Probe | Change:
        """A statement that is the recorded one but for the values that it hands to `florc.log`."""
        old = finding.step.old[0]
        why = name_why(node, self.new.noted, self.new.facts) or name_why(old, self.old.noted, self.old.facts)
        verdict = replace(NOTHING, why=why)
        found = self._probe(finding, verdict, "noted", (first_line(node), header_end(node)))
        return replace(found, old=(first_line(old), header_end(old))) if isinstance(found, Probe) else found

    def _removed(self, finding: Finding) -> Probe | Change:
        old = finding.step.old[0]
        if not is_output(old, self.old.facts):
            return self._change(finding, "removed")
        if self._drops(old, []):
            return self._change(finding, DROPPED)
        return self._probe(finding, NOTHING, "removed", (finding.new_line, finding.new_line))

    def _drops(self, old: ast.stmt, left: list[str]) -> bool:
        """Tell whether an output statement did something besides that is not ``left`` in its new form."""
        for effect in output_effects(old, self.old.facts):
            if effect not in left:
                return True
            del left[: left.index(effect) + 1]
        return False

    def _probe(self, finding: Finding, verdict: Verdict, kind: str, span: tuple[int, int]) -> Probe | Change:
        if verdict.why:
            return self._change(finding, verdict.why)
        old, new = finding.step.old[0] if kind != "added" else None, finding.step.new
        scope = finding.place.scope
        return Probe(
            line=span[0],
            end_line=span[1],
            kind=kind,
            region=finding.place.region,
            old=(first_line(old), last_line(old)) if old else None,
            text=self._text(finding),
            own=verdict.own,
            recorded=verdict.recorded,
            pure=verdict.pure,
            inert=verdict.inert,
            scope=first_line(scope.new_node) if isinstance(scope.new_node, DEFINITIONS) else 0,
            to_globals=verdict.own.intersection(self.around.own.globals.get(scope.node, ())),
            when=self._when(new) if kind == "added" and new is not None else None,
            columns=(new.col_offset, new.end_col_offset or 0) if new is not None else (0, 0),
        )

    def _when(self, node: ast.stmt) -> When | None:
        """When an added statement can show anything: at any time where a test of its notes values itself."""
        noting = self.new.noted.names
        if any(isinstance(part, ast.If) and part in noting for part in ast.walk(node)):
            return None
        return self.loops.when(node)

    def _change(self, finding: Finding, why: str) -> Change:
        added = not finding.step.old
        return Change(finding.old_line, finding.new_line, self._text(finding), why, added)

    def _text(self, finding: Finding) -> str:
        new = finding.step.new
        return self.new.text(new) if new is not None else self.old.text(finding.step.old[0])


def _what_changed(old: ast.stmt, side: Side) -> str:
    what = "its first line" if is_compound(old) else "it"
    if isinstance(old, DEFINITIONS):
        what = "its decorators, arguments, annotations or bases changed; it"
    elif isinstance(old, ast.Match) or hasattr(old, "handlers"):
        return "changed: its `case` or `except` clauses"
    return f"changed: {what} was `{side.text(old)}`"


def _gained(old: ast.stmt, new: ast.stmt) -> ast.stmt:
    """Return an import of what an import statement gained, standing where it stands."""
    gains = list(import_gains(old, new) or ())
    if isinstance(new, ast.ImportFrom):
        return ast.copy_location(ast.ImportFrom(new.module, gains, new.level), new)
    return ast.copy_location(ast.Import(gains), new)
