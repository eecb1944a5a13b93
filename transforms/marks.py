"""Marks: each region notes, as its first act, that it ran. Added to the syntax tree, never to the text."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .plan import MODULE_REGION, Plan
from .positions import is_added
from .shape import import_line

_MARKS = "_marks"
"""Suffix of the name the marks are reached under."""


def insert_marks(tree: ast.Module, plan: Plan, alias: str) -> None:
    """Put a mark at the start of every region's body in ``tree``, whose positions are the original ones.

    A loop's mark comes after its guard's boundary, so that it counts for the iteration that begins, and
    before the guard of a loop that the body starts with, so that it does not count for that.
    """
    starts = {(region.line, region.col): region.index for region in plan.regions[MODULE_REGION + 1 :]}
    for body in list(_bodies(tree, alias)):
        first = next(node for node in body if not is_added(node, alias))
        index = starts.get((first.lineno, first.col_offset))
        if index is not None:
            place = int(_is_boundary(body[0], alias)) + _is_docstring(body[0])
            anchor = body[min(place, len(body) - 1)]
            body.insert(place, placed(f"{alias}{_MARKS}[{index}] = 1", anchor))
    _insert_opening(tree, plan, alias)


def _bodies(root: ast.AST, alias: str) -> Iterator[list[ast.stmt]]:
    """Yield the user's statement lists below ``root``, not those inside guards."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node is not root:
            for field in ("body", "orelse", "finalbody"):
                body = getattr(node, field, None)
                if isinstance(body, list) and body:  # an expression's body is no list
                    yield body
        below = (ast.stmt, ast.ExceptHandler, ast.match_case)
        waiting += [
            child
            for child in ast.iter_child_nodes(node)
            if isinstance(child, below) and not is_added(child, alias)
        ]


def _is_boundary(node: ast.stmt, alias: str) -> bool:
    return isinstance(node, ast.If) and is_added(node, alias)


def _is_docstring(node: ast.stmt) -> bool:
    value = node.value if isinstance(node, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def ensure_import(tree: ast.Module, alias: str) -> int:
    """Import the runtime where the text does not; the place after the import."""
    place = 0
    while place < len(tree.body) and _is_preamble(tree.body[place], place):
        place += 1
    if place == len(tree.body) or not is_added(tree.body[place], alias):
        anchor = tree.body[min(place, len(tree.body) - 1)] if tree.body else None
        tree.body.insert(place, placed(import_line(alias), anchor))
    return place + 1


def _insert_opening(tree: ast.Module, plan: Plan, alias: str) -> None:
    """Make the marks right after the import of the runtime."""
    place = ensure_import(tree, alias)
    opening = f"{alias}{_MARKS} = {alias}.marks({plan.file!r}, {len(plan.regions)})"
    tree.body.insert(place, placed(opening, tree.body[place - 1]))


def _is_preamble(node: ast.stmt, place: int) -> bool:
    if isinstance(node, ast.ImportFrom):
        return node.module == "__future__" and node.level == 0
    return place == 0 and _is_docstring(node)


def placed(line: str, anchor: ast.stmt | None) -> ast.stmt:
    """One added statement, standing where ``anchor`` stands in the source."""
    statement = ast.parse(line).body[0]
    for node in ast.walk(statement):
        if hasattr(node, "lineno"):
            node.lineno = node.end_lineno = anchor.lineno if anchor else 1  # type: ignore[attr-defined]
            node.col_offset = anchor.col_offset if anchor else 0  # type: ignore[attr-defined]
            node.end_col_offset = node.col_offset + 1  # type: ignore[attr-defined]
    return statement
