"""Where a statement can be added to a source text, and the text with statements added there.

A position is before a statement of some body, or at the end of a body that control can fall out of. Left out
are the places where an added statement means something else: before a docstring, before a `from __future__`
import, before an `elif`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

_JUMPS = (ast.Return, ast.Raise, ast.Break, ast.Continue)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_OWNERS = (ast.Module, ast.ClassDef, *_FUNCTIONS)  # their bodies may begin with a docstring
_BODIES = ("body", "orelse", "finalbody")


@dataclass(frozen=True)
class Position:
    """One place for a statement.

    Attributes:
        line, column: where the text goes, 1-based and 0-based in characters; `column` None: a line of its own
            above `line`.
        after: the text ends a body: it goes below `line`, or behind `column`.
        indent: the white space of a line of its own.
        body: what kind of body it is in, for the sample and the table ("method", "for", "if else").
        scope: the names of the classes and functions around.
    """

    line: int
    column: int | None
    after: bool
    indent: str
    body: str
    scope: str


def positions(source: str) -> list[Position]:
    """Find every position of a module, in the order of the text."""
    found = list(_Finder(source).body(ast.parse(source), "body", "module", ()))
    return sorted(found, key=_order)


def insert(source: str, added: Sequence[tuple[Position, str]]) -> str:
    """Return the source with a statement added at each of the positions."""
    lines = source.split("\n")
    for place, text in sorted(added, key=lambda item: _order(item[0]), reverse=True):
        row = place.line - 1
        if place.column is not None:
            line = lines[row]
            spliced = f"; {text}" if place.after else f"{text}; "
            lines[row] = line[: place.column] + spliced + line[place.column :]
        else:
            end = "\r" if lines[row].endswith("\r") else ""
            lines.insert(row + place.after, place.indent + text + end)
    return "\n".join(lines)


def _order(place: Position) -> tuple[int, int, int, int]:
    """By line; there: a line above it, what shares it by column, lines below it with inner bodies first."""
    if place.column is not None:
        return place.line, 1, place.column, 0
    return place.line, 2 if place.after else 0, -len(place.indent), 0


class _Finder:
    """One walk over a module."""

    def __init__(self, source: str) -> None:
        self._lines = source.split("\n")

    def body(self, owner: ast.AST, field: str, kind: str, scope: tuple[str, ...]) -> Iterator[Position]:
        """The positions of one statement list and of all below it."""
        statements: list[ast.stmt] = getattr(owner, field, None) or []
        is_elif = field == "orelse" and len(statements) == 1 and self._is_elif(owner, statements[0])
        for index, node in enumerate(statements):
            if not (is_elif or _is_leading(owner, field, index, node)):
                yield self._before(node, kind, scope)
            yield from self._inside(node, scope)
        if statements and not is_elif and not isinstance(statements[-1], _JUMPS):
            yield self._end(statements, owner, kind, scope)

    def _is_elif(self, owner: ast.AST, node: ast.stmt) -> bool:
        if not (isinstance(owner, ast.If) and isinstance(node, ast.If)):
            return False
        return self._lines[node.lineno - 1][self._column(node.lineno, node.col_offset) :].startswith("elif")

    def _inside(self, node: ast.stmt, scope: tuple[str, ...]) -> Iterator[Position]:
        kind = type(node).__name__.lower()
        if isinstance(node, (ast.ClassDef, *_FUNCTIONS)):
            in_class = bool(scope) and scope[-1][:1].isupper()
            kind = "class" if isinstance(node, ast.ClassDef) else "method" if in_class else "function"
            scope = (*scope, node.name)
        for field in _BODIES:
            suffix = {"orelse": " else", "finalbody": " finally"}.get(field, "")
            yield from self.body(node, field, kind + suffix, scope)
        for part in [*getattr(node, "handlers", ()), *getattr(node, "cases", ())]:
            word = "except" if isinstance(part, ast.ExceptHandler) else "case"
            yield from self.body(part, "body", word, scope)

    def _before(self, node: ast.stmt, kind: str, scope: tuple[str, ...]) -> Position:
        line, offset = node.lineno, node.col_offset
        for decorator in getattr(node, "decorator_list", ()):
            if decorator.lineno < line:
                line, offset = decorator.lineno, decorator.col_offset
        column = self._column(line, offset)
        ahead = self._lines[line - 1][:column]
        if ahead.strip(" \t\f@"):  # something else stands before it on its line
            return Position(line, column, False, "", kind, ".".join(scope))
        return Position(line, None, False, ahead.split("@")[0], kind, ".".join(scope))

    def _end(
        self, statements: Sequence[ast.stmt], owner: ast.AST, kind: str, scope: tuple[str, ...]
    ) -> Position:
        first, last = statements[0], statements[-1]
        assert last.end_lineno is not None and last.end_col_offset is not None
        start = self._before(first, kind, scope)
        if start.column is not None:  # the body stands on its header's line
            column = self._column(last.end_lineno, last.end_col_offset)
            return Position(last.end_lineno, column, True, "", kind, ".".join(scope))
        return Position(last.end_lineno, None, True, start.indent, kind, ".".join(scope))

    def _column(self, line: int, offset: int) -> int:
        """A column in characters for one in UTF-8 bytes."""
        return len(self._lines[line - 1].encode()[:offset].decode())


def _is_leading(owner: ast.AST, field: str, index: int, node: ast.stmt) -> bool:
    """True for a docstring and for `from __future__` imports: an added statement before one unmakes it."""
    if isinstance(node, ast.ImportFrom) and node.module == "__future__":
        return True
    is_first = field == "body" and index == 0 and isinstance(owner, _OWNERS)
    return is_first and isinstance(node, ast.Expr) and isinstance(getattr(node.value, "value", None), str)


def insert_all(
    sources: Mapping[str, str], added: Mapping[str, Sequence[tuple[Position, str]]]
) -> dict[str, str]:
    """`insert` for each file of a program that gets something."""
    return {file: insert(sources[file], here) for file, here in added.items() if here}
