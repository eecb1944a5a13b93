"""Statements as the matcher sees them: a key for equality, a head for pairing, the bodies inside.

Comments, blank lines, layout and string prefixes are not part of a key; decorators, defaults and annotations
are. A statement that does nothing (``pass``, a docstring, ``...``) is no change wherever it stands.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
LOOPS = (ast.For, ast.AsyncFor, ast.While)
WITHS = (ast.With, ast.AsyncWith)

BODY_FIELDS = frozenset({"body", "orelse", "handlers", "finalbody", "cases"})
"""Fields of a compound statement that hold statements rather than belong to its header."""


@dataclass(frozen=True)
class Body:
    """One statement list of a compound statement; ``kind`` names it as ``Region.kind`` does."""

    kind: str
    statements: Sequence[ast.stmt]


def parse(source: bytes) -> ast.Module:
    """Parse a module and forget what reformatting may change (the ``u`` prefix of strings).

    Raises SyntaxError as ``ast.parse`` does.
    """
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            node.kind = None
    return tree


def is_noop(node: ast.stmt) -> bool:
    """Tell whether a statement does nothing at all."""
    return isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


def is_compound(node: ast.stmt) -> bool:
    """Tell whether a statement holds statements."""
    return any(field in BODY_FIELDS for field in node._fields)


def key(node: ast.AST) -> str:
    """Return a text that is equal for equal code."""
    return ast.dump(node)


def header(node: ast.stmt) -> str:
    """Return the key of a compound statement without its bodies, but with handlers' types and patterns."""
    parts = [type(node).__name__]
    for field, value in ast.iter_fields(node):
        if field not in BODY_FIELDS:
            parts.append(f"{field}={_dump(value)}")
        elif field in ("handlers", "cases"):
            parts.extend(f"{field}={_dump(_own_fields(part))}" for part in value)
    return " ".join(parts)


def head(node: ast.stmt) -> str:
    """Return what two statements must share to be paired: a definition's name, the header, or the key."""
    if isinstance(node, FUNCTIONS):
        return f"def {node.name}"
    if isinstance(node, ast.ClassDef):
        return f"class {node.name}"
    return header(node) if is_compound(node) else key(node)


def _own_fields(part: ast.AST) -> list[object]:
    return [value for field, value in ast.iter_fields(part) if field not in BODY_FIELDS]


def _dump(value: object) -> str:
    if isinstance(value, ast.AST):
        return ast.dump(value)
    if isinstance(value, list):
        return "[" + ",".join(_dump(item) for item in value) + "]"
    return repr(value)


_BODY_KINDS = {
    "If": "if", "For": "for", "AsyncFor": "for", "While": "while", "With": "with", "AsyncWith": "with",
    "Try": "try", "TryStar": "try", "FunctionDef": "function", "AsyncFunctionDef": "function",
    "ClassDef": "class",
}  # fmt: skip


def bodies(node: ast.stmt) -> list[Body]:
    """Return the statement lists of a compound statement, in source order, empty ``else`` lists included."""
    if isinstance(node, ast.Match):
        return [Body("match", case.body) for case in node.cases]
    found: list[Body] = []
    for field in ("body", "handlers", "orelse", "finalbody"):
        value = getattr(node, field, None)
        if value is None:
            continue
        if field == "body":
            found.append(Body(_BODY_KINDS[type(node).__name__], value))
        elif field == "handlers":
            found.extend(Body("except", handler.body) for handler in value)
        else:
            found.append(Body("else" if field == "orelse" else "finally", value))
    return found


def first_line(node: ast.stmt) -> int:
    """Return the line a statement starts on, its decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def last_line(node: ast.stmt) -> int:
    """Return the line a statement ends on."""
    return node.end_lineno or node.lineno


def header_end(node: ast.stmt) -> int:
    """Return the last line of a compound statement's header, or of a simple statement."""
    inner = [statement for body in bodies(node) for statement in body.statements]
    if not inner:
        return last_line(node)
    ends = [_end(child) for child in ast.iter_child_nodes(node) if not isinstance(child, (ast.stmt, *_PARTS))]
    return min(max([node.lineno, *ends]), first_line(inner[0]))


_PARTS = (ast.ExceptHandler, ast.match_case, ast.type_ignore)


def _end(node: ast.AST) -> int:
    ends = [line for sub in ast.walk(node) if (line := getattr(sub, "end_lineno", None)) is not None]
    return max(ends, default=0)


def statement_count(node: ast.stmt) -> int:
    """Return how many statements a statement is, itself included."""
    return 1 + sum(statement_count(inner) for body in bodies(node) for inner in body.statements)


def import_gains(old: ast.stmt, new: ast.stmt) -> tuple[ast.alias, ...] | None:
    """Return the names an import statement gained, or None where ``new`` is not ``old`` with more names."""
    if not isinstance(old, (ast.Import, ast.ImportFrom)) or type(old) is not type(new):
        return None
    assert isinstance(new, (ast.Import, ast.ImportFrom))
    if _imported_from(old) != _imported_from(new):
        return None
    kept = iter(key(alias) for alias in old.names)
    waiting = next(kept, None)
    gained: list[ast.alias] = []
    for alias in new.names:
        if waiting is not None and key(alias) == waiting:
            waiting = next(kept, None)
        else:
            gained.append(alias)
    return tuple(gained) if waiting is None and gained else None


def _imported_from(node: ast.Import | ast.ImportFrom) -> tuple[str | None, int] | None:
    return (node.module, node.level) if isinstance(node, ast.ImportFrom) else None


def access_path(node: ast.expr) -> tuple[str, ...]:
    """Return the parts of a dotted name, calls and subscripts skipped: a, b, d of ``a.b(c)[0].d``."""
    parts: list[str] = []
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        elif isinstance(node, ast.Call):
            node = node.func
        elif isinstance(node, ast.Subscript):
            node = node.value
        else:
            return ()
    return (node.id, *reversed(parts))
