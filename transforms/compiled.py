"""Functions that something other than the interpreter runs: TorchScript, Dynamo, Numba and the like.

Guards and marks would break them or make them slow, so they are left exactly as written.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .light import dotted
from .names import ScopeNode

COMPILERS = frozenset(
    ["script", "script_method", "script_if_tracing", "compile", "jit", "njit", "vectorize", "guvectorize", "pmap"]
)
"""Last parts of the names that compile what they decorate or are given."""

SCRIPT_DECORATORS = frozenset(["torch.jit.export", "jit.export", "tf.function"])
"""Decorators whose last part is too common a word to stand in the list above."""

MODULE_METHOD = "forward"
"""Where a file compiles anything, classes with this method are taken for modules it may reach."""


def compiled_scopes(tree: ast.Module) -> frozenset[ScopeNode]:
    """Find the functions and classes of the file that may be run by a compiler.

    Everything inside one of them is meant as well. Over-approximates: a function that a compiled one
    names is taken along, for compilers inline what they call.
    """
    nodes = list(ast.walk(tree))
    scopes = [node for node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))]
    seeds = [scope for scope in scopes if any(map(_compiles, scope.decorator_list))]
    given = list(_given_to_compilers(nodes))
    if not seeds and not given:
        return frozenset()
    named: dict[str, list[ScopeNode]] = {}
    for scope in scopes:
        named.setdefault(scope.name, []).append(scope)
    for value in given:
        seeds += [scope for name in _names_in(value) for scope in named.get(name, [])]
    if given:
        seeds += [scope for scope in scopes if _is_module_class(scope)]
    return _with_callees(seeds, named)


def _compiles(decorator: ast.expr) -> bool:
    """Tell ``@jit``, ``@torch.compile(mode=…)`` and ``@partial(jax.jit, …)`` from other decorators."""
    if isinstance(decorator, ast.Call):
        return _compiles(decorator.func) or any(map(_compiles, decorator.args))
    path = dotted(decorator)
    return path.rpartition(".")[2] in COMPILERS or path in SCRIPT_DECORATORS


def _given_to_compilers(nodes: list[ast.AST]) -> Iterator[ast.expr]:
    """Yield what the file hands to a compiler: ``torch.compile(step)``, ``model.compile()``."""
    for node in nodes:
        if isinstance(node, ast.Call) and _last_name(node.func) in COMPILERS and dotted(node.func) != "re.compile":
            if node.args:
                yield node.args[0]
            elif isinstance(node.func, ast.Attribute) and not _is_factory(node.func):
                yield node.func.value


def _last_name(func: ast.expr) -> str:
    if isinstance(func, ast.Attribute):
        return func.attr
    return func.id if isinstance(func, ast.Name) else ""


def _is_factory(func: ast.Attribute) -> bool:
    """Tell ``torch.compile(mode=…)``, a decorator to be, from ``model.compile()``."""
    return dotted(func).partition(".")[0] in {"torch", "numba", "jax", "jit"}


def _names_in(value: ast.expr) -> set[str]:
    names = {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}
    return names | {node.attr for node in ast.walk(value) if isinstance(node, ast.Attribute)}


def _is_module_class(scope: ScopeNode) -> bool:
    return isinstance(scope, ast.ClassDef) and any(
        isinstance(member, ast.FunctionDef) and member.name == MODULE_METHOD for member in scope.body
    )


def _with_callees(seeds: list[ScopeNode], named: dict[str, list[ScopeNode]]) -> frozenset[ScopeNode]:
    found: set[ScopeNode] = set()
    waiting = list(seeds)
    while waiting:
        scope = waiting.pop()
        if scope in found:
            continue
        found.add(scope)
        called = {node.id for node in ast.walk(scope) if isinstance(node, ast.Name)}
        waiting += [callee for name in called for callee in named.get(name, [])]
    return frozenset(found)
