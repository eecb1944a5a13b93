"""Whether an added import changes what the recorded program's names mean."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .own import Scope
from .recorded import SCOPES, inside_parts


def import_why(node: ast.Import | ast.ImportFrom, scope: Scope, *, direct: bool) -> str:
    """Return why an added import changes the program, "" if it does not.

    An import of a name that the recorded program uses is fine if it imports the very same thing;
    ``direct`` says that it stands in no other statement.
    """
    if isinstance(node, ast.ImportFrom) and node.module == "__future__":
        return "a `__future__` import changes how the recorded program is compiled"
    for name, thing in _imported(node):
        if name == "*":
            return "`import *` may bind names that the recorded program uses"
        if name not in scope.names.used:
            continue
        if (name, thing) in _all_imported(inside_parts(scope.node)):
            continue
        if (name, thing) in _all_imported(inside_parts(scope.module.node)) and _comes_first(
            node, name, scope, direct
        ):
            continue
        return f"imports `{name}`, a name which the recorded program uses"
    return ""


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
    for alias in node.names:
        if isinstance(node, ast.ImportFrom):
            yield alias.asname or alias.name, f"{'.' * node.level}{node.module or ''}:{alias.name}"
        elif alias.asname:
            yield alias.asname, alias.name
        else:
            top = alias.name.split(".")[0]
            yield top, top


def _all_imported(nodes: list[ast.AST]) -> set[tuple[str, str]]:
    """Return the imports of one scope, those inside its ``if`` and ``try`` included."""
    found: set[tuple[str, str]] = set()
    for node in nodes:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found.update(_imported(node))
        elif not isinstance(node, SCOPES):
            found |= _all_imported(list(ast.iter_child_nodes(node)))
    return found


def _comes_first(node: ast.stmt, name: str, scope: Scope, direct: bool) -> bool:
    """Tell whether a function's new local name is bound before the function reads it, whatever its way."""
    if not direct or node not in getattr(scope.new_node, "body", ()):
        return False
    reads = [
        part.lineno for part in ast.walk(scope.new_node) if isinstance(part, ast.Name) and part.id == name
    ]
    return all(line > node.lineno for line in reads)
