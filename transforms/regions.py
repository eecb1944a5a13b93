"""The statement lists whose execution a record marks: functions, classes and branches that call something.

So replay knows in which iterations a line that somebody adds to one of them would have run.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from .names import ScopeNode
from .plan import MODULE_REGION, Region

Body = Sequence[ast.stmt]


def find_regions(
    tree: ast.Module, compiled: frozenset[ScopeNode], guarded: frozenset[tuple[int, int]]
) -> tuple[Region, ...]:
    """Return the regions outside ``compiled`` scopes in source order, the module's body first."""
    found = [("module", tree.body), *_below(tree, compiled, guarded)]
    return tuple(_region(index, kind, body) for index, (kind, body) in enumerate(found))


def module_region() -> Region:
    """Return the one region of a module that is left as it is."""
    return _region(MODULE_REGION, "module", [])


def _region(index: int, kind: str, body: Body) -> Region:
    if not body:
        return Region(index, 1, 0, 1, kind)
    last = body[-1]
    return Region(index, body[0].lineno, body[0].col_offset, last.end_lineno or last.lineno, kind)


def _below(
    node: ast.AST, compiled: frozenset[ScopeNode], guarded: frozenset[tuple[int, int]]
) -> Iterator[tuple[str, Body]]:
    """Yield kind and body of the regions inside ``node``."""
    if node in compiled:
        return
    for kind, body in _bodies(node):
        always = kind in ("function", "class") or _is_guarded(node, kind, guarded)
        if always or (kind in _MARKED and _is_telling(body)):
            yield kind, body
        for statement in body:
            yield from _below(statement, compiled, guarded)


def _is_guarded(node: ast.AST, kind: str, guarded: frozenset[tuple[int, int]]) -> bool:
    """Tell whether a body is a guarded loop's: replay must know of a probe in it."""
    place = (getattr(node, "lineno", 0), getattr(node, "col_offset", 0))
    return kind in ("for", "while") and place in guarded


# what makes a branch worth a mark: work, or leaving the usual way (people ask why a batch was dropped)
_TELLING = (ast.Call, ast.Continue, ast.Break, ast.Return, ast.Raise)


def _is_telling(body: Body) -> bool:
    return any(isinstance(node, _TELLING) for statement in body for node in ast.walk(statement))


def _bodies(node: ast.AST) -> Iterator[tuple[str, Body]]:
    """Yield the statement lists of a statement with their kinds, in source order."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        yield "function", node.body
    elif isinstance(node, ast.match_case):
        yield "match", node.body
    elif isinstance(node, ast.Match):
        for case in node.cases:
            yield from _bodies(case)
    elif isinstance(node, ast.Module):
        yield "", node.body
    elif isinstance(node, ast.stmt) and hasattr(node, "body"):
        yield _KINDS[type(node).__name__], node.body
        for handler in getattr(node, "handlers", ()):
            yield "except", handler.body
        if getattr(node, "orelse", None):
            yield "elif" if is_elif(node) else "else", node.orelse  # type: ignore[attr-defined]
        if getattr(node, "finalbody", None):
            yield "finally", node.finalbody  # type: ignore[attr-defined]


_KINDS = {
    "ClassDef": "class",
    "If": "if",
    "For": "for",
    "AsyncFor": "for",
    "While": "while",
    "Try": "try",
    "TryStar": "try",
    "With": "with",
    "AsyncWith": "with",
}

_MARKED = frozenset([*_KINDS.values(), "function", "except", "else", "finally", "match"])
"""The module's own body always runs, and an ``elif`` is no list of its own."""


def is_elif(node: ast.AST) -> bool:
    """Tell whether the ``else`` part of ``node`` is an ``elif``: an ``if`` that starts in its column."""
    return (
        isinstance(node, ast.If)
        and len(node.orelse) == 1
        and isinstance(node.orelse[0], ast.If)
        and node.orelse[0].col_offset == node.col_offset
    )
