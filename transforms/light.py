"""Calls that do not make a loop worth a guard: they are over before a guard would pay."""

from __future__ import annotations

import ast

LIGHT_FUNCTIONS = frozenset(
    """
    abs all any bool bytes chr dict divmod enumerate float format frozenset getattr hasattr hash hex id int
    isinstance issubclass len list max min oct ord print range repr reversed round set setattr slice sorted
    str sum super tuple type vars zip
    """.split()
)
"""Builtins; a file that binds one of these names itself is believed to mean its own."""

LIGHT_METHODS = frozenset(
    """
    add append appendleft capitalize casefold center count decode discard encode endswith extend find format
    get index insert isalnum isalpha isdigit islower isnumeric isspace isupper item items join keys ljust
    lower lstrip partition pop popitem popleft remove removeprefix removesuffix replace rfind rindex rjust
    rpartition rsplit rstrip setdefault split splitlines startswith strip swapcase title translate upper
    values write writelines zfill
    """.split()
)
"""Methods of strings, containers and files, whatever the receiver; ``update`` is not one (an EMA has it)."""

LIGHT_MODULES = frozenset(["math", "cmath", "operator", "string"])
"""Modules none of whose functions take long."""

LIGHT_PATHS = frozenset(["time.time", "time.perf_counter", "time.monotonic", "os.path.join"])


def is_light(call: ast.Call) -> bool:
    """Tell whether ``call`` itself costs next to nothing (its arguments are judged apart)."""
    path = dotted(call.func)
    if path in LIGHT_PATHS or path in LIGHT_FUNCTIONS:
        return True
    if isinstance(call.func, ast.Attribute):
        return path.partition(".")[0] in LIGHT_MODULES or call.func.attr in LIGHT_METHODS
    return False


def dotted(node: ast.expr) -> str:
    """Return ``a.b.c`` for such an expression, ``""`` for any other."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([node.id, *reversed(parts)])
