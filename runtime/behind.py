"""Whether a program's text may read an object's memory behind its attributes' back."""

from __future__ import annotations

import ast
import re

# By these an optimizer's state, or what it holds, is found without reading its attribute `state`
WAYS = frozenset({
    "__dict__",
    "__getstate__",
    "__reduce__",
    "__reduce_ex__",
    "compile",
    "ctypes",
    "exec",
    "gc",
    "inspect",
    "vars",
})  # fmt: skip
_ANY = re.compile(rb"\b(?:" + "|".join(sorted(WAYS)).encode() + rb")\b")


def looks_behind(source: bytes) -> bool:
    """True if a module's source names one of the ways, in code or as a text; `re.compile` is none."""
    if not _ANY.search(source):
        return False
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return True
    return any(_names(node) for node in ast.walk(tree))


def _names(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute):
        of_re = isinstance(node.value, ast.Name) and node.value.id == "re"
        return node.attr in WAYS and not of_re
    if isinstance(node, ast.Name):
        return node.id in WAYS
    if isinstance(node, ast.alias):
        return not WAYS.isdisjoint(node.name.split("."))
    if isinstance(node, ast.ImportFrom):
        return not WAYS.isdisjoint((node.module or "").split("."))
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in WAYS
