"""Functions that something other than the interpreter runs: TorchScript, Dynamo, Numba and the like.

Guards and marks would break them or make them slow, so they are left exactly as written.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .knowledge import dotted
from .names import DEFINITIONS, ScopeNode

COMPILERS = frozenset(
    "script script_method script_if_tracing compile jit njit vectorize guvectorize pmap".split()
)
"""Last parts of the names that compile what they decorate or are given."""

SCRIPT_DECORATORS = frozenset(["torch.jit.export", "jit.export", "tf.function"])
"""Decorators whose last part is too common a word to stand in the list above."""

MODULE_COMPILERS = frozenset(["script", "compile"])
"""Those that take modules: where a file uses one, any module class in it may be run by it."""

MODULE_METHODS = ("forward", "__call__")
"""Where compilers enter a module; what these do not reach (a ``fit``, say) the interpreter runs."""


def compiled_scopes(tree: ast.Module) -> frozenset[ScopeNode]:
    """Find the functions of the file that may be run by a compiler, and classes that are as a whole.

    Everything inside one of them is meant as well. Over-approximates: a function that a compiled one
    names is taken along, for compilers inline what they call.
    """
    nodes = list(ast.walk(tree))
    scopes = [node for node in nodes if isinstance(node, DEFINITIONS)]
    seeds = [scope for scope in scopes if any(map(_compiles, scope.decorator_list))]
    calls = [node for node in nodes if isinstance(node, ast.Call) and _is_compiler(node.func)]
    if not seeds and not calls:
        return frozenset()
    reach = _Reach(scopes)
    for value in _given(calls):
        seeds += [scope for name in _names_in(value) for scope in reach.named(name)]
    if any(map(_takes_modules, [*calls, *(item for scope in seeds for item in scope.decorator_list)])):
        seeds += [method for methods in reach.methods.values() for method in _entries(methods, exact=True)]
    return reach.closure(seeds)


def _compiles(decorator: ast.expr) -> bool:
    """Tell ``@jit``, ``@torch.compile(mode=…)`` and ``@partial(jax.jit, …)`` from other decorators."""
    if isinstance(decorator, ast.Call):
        return _compiles(decorator.func) or any(map(_compiles, decorator.args))
    path = dotted(decorator)
    return path.rpartition(".")[2] in COMPILERS or path in SCRIPT_DECORATORS


def _is_compiler(func: ast.expr) -> bool:
    if isinstance(func, ast.Call):  # torch.compile(mode="…")(step)
        return _is_compiler(func.func)
    name = func.attr if isinstance(func, ast.Attribute) else dotted(func)
    return name in COMPILERS and dotted(func) != "re.compile"


def _takes_modules(use: ast.expr) -> bool:
    return bool(_names_in(use.func if isinstance(use, ast.Call) else use) & MODULE_COMPILERS)


def _given(calls: list[ast.Call]) -> Iterator[ast.expr]:
    """Yield what the file hands to a compiler: ``torch.compile(step)``, ``model.compile()``."""
    for call in calls:
        if call.args:
            yield call.args[0]
        elif isinstance(call.func, ast.Attribute):
            yield call.func.value


def _names_in(value: ast.expr) -> set[str]:
    names = {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}
    return names | {node.attr for node in ast.walk(value) if isinstance(node, ast.Attribute)}


def _entries(methods: dict[str, ScopeNode], exact: bool = False) -> list[ScopeNode]:
    """Return where a compiler enters a class; one that is no module (unless ``exact``) anywhere."""
    found = [methods[name] for name in MODULE_METHODS if name in methods]
    if found or exact:
        return found
    return [method for name, method in methods.items() if name != "__init__"]


class _Reach:
    """Who may call whom among the functions of a file, judged by names."""

    def __init__(self, scopes: list[ScopeNode]) -> None:
        self.methods: dict[ScopeNode, dict[str, ScopeNode]] = {}
        self.owner: dict[ScopeNode, ScopeNode] = {}
        self.by_name: dict[str, list[ScopeNode]] = {}
        for scope in scopes:
            self.by_name.setdefault(scope.name, []).append(scope)
            if isinstance(scope, ast.ClassDef):
                own = {member.name: member for member in scope.body if isinstance(member, DEFINITIONS)}
                self.methods[scope] = own
                self.owner.update(dict.fromkeys(own.values(), scope))

    def named(self, name: str) -> Iterator[ScopeNode]:
        """Yield the functions a name may mean; for a class, those through which it is entered."""
        for scope in self.by_name.get(name, ()):
            if isinstance(scope, ast.ClassDef):
                yield from _entries(self.methods[scope])
            else:
                yield scope

    def closure(self, seeds: list[ScopeNode]) -> frozenset[ScopeNode]:
        found: set[ScopeNode] = set()
        waiting = list(seeds)
        while waiting:
            scope = waiting.pop()
            if scope not in found:
                found.add(scope)
                waiting += self._called_by(scope)
        return frozenset(found)

    def _called_by(self, scope: ScopeNode) -> Iterator[ScopeNode]:
        siblings = self.methods.get(self.owner.get(scope, scope), {})
        for node in ast.walk(scope):
            if isinstance(node, ast.Name):
                yield from self.named(node.id)
            elif isinstance(node, ast.Attribute) and node.attr in siblings:
                yield siblings[node.attr]
