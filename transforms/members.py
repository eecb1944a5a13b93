"""Whether a name added to the body of a recorded class changes what the class is."""

from __future__ import annotations

import ast

from .own import Scope
from .statements import FUNCTIONS, access_path

MODULE_HOOKS = frozenset({"forward", "extra_repr"})
"""Methods torch.nn.Module calls without the program naming them."""


def member_why(name: str, statement: ast.stmt, scope: Scope) -> str:
    """Return why binding ``name`` in the class body ``scope`` changes the program, "" if it does not."""
    assert isinstance(scope.node, ast.ClassDef)
    cls = scope.node
    bases = [access_path(base) for base in cls.bases]
    if name.startswith("__") and name.endswith("__"):
        return f"adds `{name}` to class `{cls.name}`, which Python itself looks up"
    if not isinstance(statement, FUNCTIONS):
        return f"adds `{name}` to class `{cls.name}`, whose attributes are put back as recorded"
    if bases and name in MODULE_HOOKS:
        return f"adds `{name}` to class `{cls.name}`, whose base class calls it"
    module = scope.module.node
    if (bases or _is_base(cls.name, module)) and name in _attributes(module):
        return f"adds `{name}` to class `{cls.name}`, where it may hide one that the recorded program uses"
    return ""


def _is_base(name: str, module: ast.AST) -> bool:
    classes = [node for node in ast.walk(module) if isinstance(node, ast.ClassDef)]
    return any(name in access_path(base) for cls in classes for base in cls.bases)


def _attributes(module: ast.AST) -> set[str]:
    return {node.attr for node in ast.walk(module) if isinstance(node, ast.Attribute)}
