"""Why a loop cannot carry a guard, in words.

A refused loop stays exactly as written; loops inside it are judged for themselves.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from .names import own_nodes
from .scope import Scope

Loop = ast.For | ast.AsyncFor | ast.While
Nodes = Sequence[ast.AST]


def refusal(loop: Loop, nodes: Nodes, scope: Scope) -> str:
    """Return why ``loop``, whose own nodes are ``nodes``, must stay as it is; ``""`` if it need not."""
    for rule in RULES:
        reason = rule(loop, nodes, scope)
        if reason:
            return reason
    return ""


def _compiled(loop: Loop, nodes: Nodes, scope: Scope) -> str:
    if scope.compiled:
        return "it stands in a function that is compiled (torch.jit.script, torch.compile, numba or the like)"
    return ""


def _suspends(loop: Loop, nodes: Nodes, scope: Scope) -> str:
    """A guard cannot hold state over a yield: anything may happen before the loop goes on."""
    if isinstance(loop, ast.AsyncFor):
        return "it is an async for loop"
    for node in nodes:
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            return "it yields in the middle"
        if isinstance(node, (ast.Await, ast.AsyncFor, ast.AsyncWith)):
            return "it awaits in the middle"
        if isinstance(node, ast.comprehension) and node.is_async:
            return "it awaits in the middle"
    return ""


def _class_body(loop: Loop, nodes: Nodes, scope: Scope) -> str:
    """A metaclass (an Enum's, say) sees every name its body binds, the guard's too."""
    node = scope.node
    if isinstance(node, ast.ClassDef) and (node.bases or node.keywords):
        return "it stands in the body of a class with bases, which may look at every name bound there"
    return ""


def _late_nonlocal(loop: Loop, nodes: Nodes, scope: Scope) -> str:
    """A name may not be assigned above its ``nonlocal``, and the guard assigns at the loop's start."""
    if scope.names is None or not scope.names.nonlocals:
        return ""
    for node in own_nodes(scope.node):
        if isinstance(node, ast.Nonlocal) and _position(node) > _position(loop):
            return f"the statement nonlocal {node.names[0]} comes after its start"
    return ""


def _position(node: ast.stmt) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _overridden_return(loop: Loop, nodes: Nodes, scope: Scope) -> str:
    """``finally: break`` throws a return away after the guard has been told of it."""
    jumps = (ast.Return, ast.Break, ast.Continue)
    if not any(isinstance(node, ast.Return) for node in nodes):
        return ""
    for node in nodes:
        for statement in getattr(node, "finalbody", []):
            if any(isinstance(inner, jumps) for inner in own_nodes(statement)):
                return "a jump in a finally block may throw its return away"
    return ""


RULES: tuple[Callable[[Loop, Nodes, Scope], str], ...] = (
    _compiled,
    _suspends,
    _class_body,
    _late_nonlocal,
    _overridden_return,
)
