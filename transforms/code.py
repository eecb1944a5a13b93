"""Instrumented text to code objects that carry the original file, lines and columns."""

from __future__ import annotations

import ast
import types
from collections.abc import Sequence

from .hide import hide
from .instrument import Instrumented
from .isolate import isolate
from .marks import ensure_import, insert_marks
from .positions import with_original_positions
from .probes import Probe
from .quiet import parse_quietly
from .shape import alias_for


def to_code(
    result: Instrumented, path: str, *, marks: bool, probes: Sequence[Probe] = ()
) -> types.CodeType:
    """Compile ``result`` as the module at ``path``.

    Tracebacks, warnings, pdb and inspect.getsource see the original source. With ``marks`` each region
    but the module's notes that it ran. Of ``probes`` (a replay's) those that may change state are isolated.
    A module refused as a whole is compiled as it is written.
    """
    if result.plan.refused:
        return compile(result.original, path, "exec", dont_inherit=True)
    return compile(_tree(result, path, marks, probes), path, "exec", dont_inherit=True)


def full_text(result: Instrumented) -> str:
    """Return the program as it runs under record, marks and all, without the source's formatting."""
    if result.plan.refused:
        return ast.unparse(ast.parse(result.original))
    return ast.unparse(_tree(result, result.plan.file, True, ()))


def _tree(result: Instrumented, path: str, marks: bool, probes: Sequence[Probe]) -> ast.Module:
    alias = alias_for(result.original)
    original = ast.parse(result.original, path)  # not quietly: here the user sees Python's warnings
    tree = parse_quietly(result.text, path)
    with_original_positions(tree, original, alias)
    if marks:
        insert_marks(tree, result.plan, alias)
    isolate(tree, probes, result.plan.file, alias)
    if hide(tree, alias):
        ensure_import(tree, alias)
    return tree
