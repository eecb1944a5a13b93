"""The functions of the edited module that only compute: calling one from a probe changes nothing."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from .knowledge import Facts
from .knowledge_tables import ITERATING_BUILTINS
from .look import Helper, Look, Surroundings
from .own import Own, Scope
from .recorded import COMPREHENSIONS, bound_by
from .statements import access_path

HARMLESS_DECORATORS = frozenset({"no_grad", "inference_mode"})
"""Decorators that leave a pure function pure (a cache would keep what it was given)."""


@dataclass
class Helpers:
    """Looks functions up by name, and each function once."""

    tree: ast.Module
    module: Scope
    own: Own
    facts: Facts
    _known: dict[str, Helper | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._functions: dict[str, ast.FunctionDef] = {}
        bindings = [name for node in ast.walk(self.tree) for name in _binds(node)]
        for node in self.tree.body:
            if isinstance(node, ast.FunctionDef) and bindings.count(node.name) == 1:
                self._functions[node.name] = node

    def find(self, name: str) -> Helper | None:
        """Return the pure function of this name; None where none is surely meant and surely pure."""
        if name not in self._known:
            self._known[name] = None  # a recursive one is not pure: what it does is not known yet
            self._known[name] = self._examine(self._functions[name]) if name in self._functions else None
        return self._known[name]

    def _examine(self, node: ast.FunctionDef) -> Helper | None:
        paths = [access_path(decorator) for decorator in node.decorator_list]
        if not all(path and path[-1] in HARMLESS_DECORATORS for path in paths):
            return None
        if any(isinstance(part, (ast.Yield, ast.YieldFrom, ast.Raise)) for part in ast.walk(node)):
            return None
        look = Look(self.module, Surroundings(self.own, self.facts, False, self.find), node)
        look.enter(node)
        if look.whys or look.impure:
            return None
        return Helper(iterates=any(_iterates(part) for part in ast.walk(node)))


def _binds(node: ast.AST) -> list[str]:
    """Return the names bound here in whatever scope: one bound twice is not surely the function."""
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        return [node.id]
    return [node.arg] if isinstance(node, ast.arg) else bound_by(node)


def _iterates(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in ITERATING_BUILTINS
    return isinstance(node, (ast.For, ast.Starred, *COMPREHENSIONS))
