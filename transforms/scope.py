"""The scope a loop stands in, as far as its guard must know it."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property

from .definite import Bound, bound_at_loops
from .names import FunctionNames, ScopeNode, function_names


@dataclass(frozen=True)
class Scope:
    """A module, function or class body."""

    node: ast.Module | ScopeNode
    path: str
    """Qualified name without ``<locals>``, a repeated one numbered: ``Trainer.fit``, ``fit~2``."""
    class_name: str | None
    """The class whose name mangles private names here."""
    compiled: bool

    @cached_property  # most functions have no loop and need neither of these
    def names(self) -> FunctionNames | None:
        """The names of the function's frame, None outside functions."""
        if isinstance(self.node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return function_names(self.node)
        return None

    @cached_property
    def bound(self) -> dict[ast.stmt, Bound]:
        """For each loop of a function: the names bound for certain when it starts."""
        if isinstance(self.node, (ast.FunctionDef, ast.AsyncFunctionDef)) and self.names:
            return bound_at_loops(self.node, self.names)
        return {}


def module_scope(tree: ast.Module) -> Scope:
    """Describe the module's own scope."""
    return Scope(tree, "", None, False)


def inner_scope(node: ScopeNode, path: str, outer: Scope, compiled: bool) -> Scope:
    """Describe the scope that the definition ``node`` opens in ``outer``."""
    class_name = node.name if isinstance(node, ast.ClassDef) else outer.class_name
    return Scope(node, path, class_name, compiled or outer.compiled)
