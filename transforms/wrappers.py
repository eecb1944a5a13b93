"""``with`` statements that watch what they wrap and change nothing in it: profilers, timers and the like."""

from __future__ import annotations

import ast

from .knowledge import Facts
from .statements import access_path

PROFILER_MODULES = ("torch.profiler", "torch.autograd.profiler", "torch.cuda.profiler", "torch.cuda.nvtx")
"""Everything in these modules that can stand in a ``with`` watches."""

_PROFILERS = tuple(module + "." for module in PROFILER_MODULES)

WATCHERS = frozenset({"record_function", "nullcontext", "emit_nvtx", "emit_itt"})
"""Names of context managers that watch, or do nothing."""

WATCHING_WORDS = ("timer", "profile")
"""Parts of a name by which one knows a user's own stopwatch or profiler."""


def is_watching_with(node: ast.With | ast.AsyncWith, facts: Facts) -> bool:
    """Tell whether every context manager of a ``with`` only watches the code inside."""
    return isinstance(node, ast.With) and all(_watches(item.context_expr, facts) for item in node.items)


def is_null(node: ast.With) -> bool:
    """Tell whether every context manager of a ``with`` does nothing at all."""
    paths = [access_path(item.context_expr) for item in node.items]
    return all(path and path[-1] == "nullcontext" for path in paths)


def watching_calls(node: ast.With, facts: Facts) -> list[ast.expr]:
    """Return the calls in a header that make the watchers, a profiler's schedule and handlers included."""
    calls = [part for item in node.items for part in ast.walk(item) if isinstance(part, ast.Call)]
    heads = [item.context_expr for item in node.items]
    return [call for call in calls if call in heads or _full_name(call, facts).startswith(_PROFILERS)]


def _watches(node: ast.expr, facts: Facts) -> bool:
    parts = access_path(node)
    if not parts:
        return False
    full = _full_name(node, facts)
    if full.startswith(_PROFILERS):
        return True
    return parts[-1] in WATCHERS or any(word in full.lower() for word in WATCHING_WORDS)


def _full_name(node: ast.expr, facts: Facts) -> str:
    first, *rest = access_path(node) or ("",)
    return ".".join((facts.imports.get(first, first), *rest))
