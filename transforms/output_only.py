"""Statements that only write output: what a user may edit or remove without changing the program."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .knowledge import Facts, dotted, is_pure_call, is_pure_expression, is_sink_call, words
from .statements import bodies, is_noop

TERMINAL_WORDS = frozenset({"stdout", "stderr", "tqdm", "pbar", "bar"})
"""Words that name what writes to the terminal: any other ``write`` goes to one of the program's files."""

STREAM_METHODS = frozenset({"write", "writelines", "flush"})
ROW_METHODS = frozenset({"writerow", "writerows", "writeheader"})
"""Methods of csv writers: they write the program's files, which an edit would change."""

STANDARD_STREAMS = frozenset(
    {"sys.stdout", "sys.stderr", "sys.__stdout__", "sys.__stderr__", "stdout", "stderr"}
)


def is_output_call(node: ast.expr, facts: Facts) -> bool:
    """Tell whether an expression is a call that is there only to write to the terminal, a log or a board."""
    if not isinstance(node, ast.Call):
        return False
    if any(
        keyword.arg == "file" and dotted(keyword.value) not in STANDARD_STREAMS for keyword in node.keywords
    ):
        return False
    if isinstance(node.func, ast.Attribute):
        if node.func.attr in ROW_METHODS:
            return False
        if node.func.attr in STREAM_METHODS and not words(node.func.value) & TERMINAL_WORDS:
            return False
    return is_sink_call(node, facts)


def is_output(node: ast.stmt, facts: Facts) -> bool:
    """Tell whether a statement only writes: such a call, or an ``if`` with a pure test around such."""
    if isinstance(node, ast.Expr):
        return is_output_call(node.value, facts)
    if not isinstance(node, ast.If) or not is_pure_expression(node.test, facts):
        return False
    if any(isinstance(part, ast.NamedExpr) for part in ast.walk(node.test)):
        return False
    inner = [statement for body in bodies(node) for statement in body.statements if not is_noop(statement)]
    return bool(inner) and all(is_output(statement, facts) for statement in inner)


def output_effects(node: ast.stmt, facts: Facts) -> Iterator[str]:
    """Yield keys of the calls and bindings in an output-only statement that may do more than compute."""
    if isinstance(node, ast.If):
        for body in bodies(node):
            for statement in body.statements:
                yield from output_effects(statement, facts)
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        for part in ast.iter_child_nodes(node.value):
            for inner in ast.walk(part):
                impure = isinstance(inner, ast.Call) and not is_pure_call(inner, facts)
                if impure or isinstance(inner, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)):
                    yield ast.dump(inner)
