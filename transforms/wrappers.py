"""``with`` statements that watch what they wrap and change nothing in it: profilers, timers and the like."""

from __future__ import annotations

import ast

from .knowledge import Facts
from .statements import access_path

PROFILER_MODULES = ("torch.profiler", "torch.autograd.profiler", "torch.cuda.profiler", "torch.cuda.nvtx")
"""Everything in these modules that can stand in a ``with`` watches."""

WATCHERS = frozenset({"record_function", "nullcontext", "emit_nvtx", "emit_itt"})
"""Names of context managers that watch, or do nothing."""

WATCHING_WORDS = ("timer", "profile")
"""Parts of a name by which one knows a user's own stopwatch or profiler."""


def is_watching_with(node: ast.With | ast.AsyncWith, facts: Facts) -> bool:
    """Tell whether every context manager of a ``with`` only watches the code inside."""
    return isinstance(node, ast.With) and all(_watches(item.context_expr, facts) for item in node.items)


def _watches(node: ast.expr, facts: Facts) -> bool:
    parts = access_path(node)
    if not parts:
        return False
    full = ".".join((facts.imports.get(parts[0], parts[0]), *parts[1:]))
    if full.startswith(tuple(module + "." for module in PROFILER_MODULES)):
        return True
    return parts[-1] in WATCHERS or any(word in full.lower() for word in WATCHING_WORDS)
