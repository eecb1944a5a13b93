"""Matching the recorded source of a module against the edited one.

What enters: both sources and the plan of the recorded one. What leaves: the probes, or the changes that make
it another program, and where the recorded loops and lines are now. The steps: `statements` says when two
statements are equal, `align` pairs the statements of two bodies, `pairing` walks both trees and keeps what is
no plain pair, `judging` makes probes and changes of that: `observe` (by `look`, `own`, `imports`, `members`,
`helpers`) says whether added code only observes, `output_only` what may be edited or removed, `when` under
which condition an added `if` shows anything. The calls of `florc.log` around values are taken out beforehand
(`logged`): a statement is the same with them and without.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize

from .align import Aligner
from .helpers import Helpers
from .judging import Court, Side
from .knowledge import facts_of
from .logged import Noted, take_out
from .look import Surroundings
from .own import Own, Scope
from .pairing import Finding, Pairing, Place
from .plan import MODULE_REGION, Plan
from .probes import Change, Match, Probe
from .statements import Body, parse
from .when import Loops

__all__ = ["Change", "Match", "Probe", "match"]


def match(old: bytes, new: bytes, old_plan: Plan, *, isolating: bool = False) -> Match:
    """Match the edited source ``new`` against the recorded ``old``.

    With ``isolating`` a probe may assign a variable of the recorded scope it stands in, since the caller puts
    it back; without, that is a change. Raises SyntaxError where ``new`` does not parse.
    """
    after, before = _side(new), _side(old)
    noted = Noted(before.noted, after.noted)
    module = Scope(before.tree, after.tree, None)
    pairing = Pairing(Aligner(before.facts, after.facts), old_plan, noted)
    bodies = Body("module", before.tree.body), Body("module", after.tree.body)
    pairing.body(*bodies, Place(module, MODULE_REGION, 1))
    own = _own_names(pairing.findings)
    helpers = Helpers(after.tree, module, own, after.facts)
    around = Surroundings(own, after.facts, isolating, helpers.find)
    court = Court(before, after, around, Loops(after.tree, pairing.ids))
    decided = [court.decide(finding) for finding in pairing.findings]
    probes = [found for found in decided if isinstance(found, Probe)]
    changes = [found for found in decided if isinstance(found, Change)]
    return Match(
        probes=tuple(sorted(probes, key=lambda probe: (probe.line, probe.end_line))),
        changes=tuple(sorted(changes, key=lambda change: (change.new_line, change.old_line))),
        ids=pairing.ids,
        lines=dict(sorted(pairing.lines.items())),
    )


def _side(source: bytes) -> Side:
    tree = parse(source)
    facts = facts_of(tree)
    return Side(tree, _lines(source), facts, take_out(tree, facts))


def _lines(source: bytes) -> list[str]:
    """Split a source into the lines Python counts (a form feed ends none)."""
    encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
    return re.split(r"\r\n|\r|\n", source.decode(encoding, "replace"))


def _own_names(findings: list[Finding]) -> Own:
    """Collect the names that added statements bind, scope by scope."""
    scopes: dict[ast.AST, tuple[Scope, list[ast.AST]]] = {}
    for finding in findings:
        kind, node = finding.step.kind, finding.step.new
        if kind in ("added", "edited", "wrapped", "extended") and node is not None:
            parts = list(node.items) if kind == "wrapped" and isinstance(node, ast.With) else [node]
            scopes.setdefault(finding.place.scope.node, (finding.place.scope, []))[1].extend(parts)
    own = Own()
    for scope, nodes in scopes.values():
        own.add(scope, nodes)
    return own
