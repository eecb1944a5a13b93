"""Which names of a function are bound for certain when a loop starts.

A name that is not may be unbound after the loop as well, and the guard must then be able to say so.
Doubt always falls to the side of "not certain": that costs a line of text, nothing else.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from .names import FunctionNames, FunctionNode, bindings, deleted_by

Bound = frozenset[str]
Loop = ast.For | ast.AsyncFor | ast.While
_JUMPS = (ast.Return, ast.Raise, ast.Break, ast.Continue)
_TRY: tuple[type[ast.stmt], ...] = (ast.Try, getattr(ast, "TryStar", ast.Try))  # except*: Python 3.11


def bound_at_loops(function: FunctionNode, names: FunctionNames) -> dict[ast.stmt, Bound]:
    """Map each loop of the function's own scope to the names certainly bound when it starts."""
    flow = _Flow()
    flow.block(function.body, frozenset(names.params))
    doubtful = names.nonlocals | {binding.name for binding in names.foreign if binding.deletes}
    return {loop: bound - doubtful for loop, bound in flow.entries.items()}


def target_names(target: ast.expr) -> Bound:
    """Name what an assignment target certainly binds (a walrus in a subscript does not count)."""
    if isinstance(target, ast.Name):
        return frozenset([target.id])
    if isinstance(target, (ast.Tuple, ast.List)):
        return _union(target_names(element) for element in target.elts)
    if isinstance(target, ast.Starred):
        return target_names(target.value)
    return frozenset()


def _union(sets: Iterable[Bound]) -> Bound:
    return frozenset[str]().union(*sets)


def _join(ways: Sequence[Bound | None]) -> Bound | None:
    """Merge the ways that reach a point; None is a way that does not get there."""
    reached = [way for way in ways if way is not None]
    return frozenset.intersection(*reached) if reached else None


class _Flow:
    """One walk through a function body in order, noting what is bound where a loop starts."""

    def __init__(self) -> None:
        self.entries: dict[ast.stmt, Bound] = {}

    def block(self, body: Sequence[ast.stmt], bound: Bound) -> Bound | None:
        """Return what is bound after ``body``, None where its end is never reached."""
        reached: Bound | None = bound
        for statement in body:
            # code after a jump is dead; being wrong about it costs nothing
            reached = self.statement(statement, frozenset() if reached is None else reached)
        return reached

    def statement(self, node: ast.stmt, bound: Bound) -> Bound | None:
        if isinstance(node, _JUMPS):
            return None
        if isinstance(node, ast.If):
            return _join([self.block(node.body, bound), self.block(node.orelse, bound)])
        if isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            return self._loop(node, bound)
        if isinstance(node, _TRY):
            return self._try(node, bound)  # type: ignore[arg-type]
        if isinstance(node, (ast.With, ast.AsyncWith)):
            return self._with(node, bound)
        if isinstance(node, ast.Match):
            return self._match(node, bound)
        return bound - deleted_by(node) if isinstance(node, ast.Delete) else bound | _bound_by_simple(node)

    def _loop(self, node: Loop, bound: Bound) -> Bound:
        self.entries[node] = bound
        target = frozenset[str]() if isinstance(node, ast.While) else target_names(node.target)
        kept = bound - deleted_by(node)
        self.block(node.body, kept | (target - deleted_by(node)))
        self.block(node.orelse, kept)
        return kept

    def _try(self, node: ast.Try, bound: Bound) -> Bound | None:
        kept = bound - _union(deleted_by(part) for part in [*node.body, *node.handlers, *node.orelse])
        body = self.block(node.body, bound)
        ways = [self.block(node.orelse, kept if body is None else body)] if node.orelse else [body]
        ways += [self.block(handler.body, kept) for handler in node.handlers]
        after = _join(ways)
        final = self.block(node.finalbody, kept)
        if after is None or final is None:
            return None
        leaves = _union(deleted_by(part) for part in [*node.handlers, *node.finalbody])
        return (after - leaves) | (final - leaves)

    def _with(self, node: ast.With | ast.AsyncWith, bound: Bound) -> Bound:
        targets = _union(target_names(item.optional_vars) for item in node.items if item.optional_vars)
        self.block(node.body, bound | targets)
        # the manager may swallow an exception: nothing bound in the body is certain after it
        return (bound | targets) - _union(deleted_by(statement) for statement in node.body)

    def _match(self, node: ast.Match, bound: Bound) -> Bound | None:
        ways: list[Bound | None] = [bound]
        for case in node.cases:
            captured = frozenset(binding.name for binding in bindings(case.pattern))
            ways.append(self.block(case.body, bound | captured))
        return _join(ways)


def _bound_by_simple(node: ast.stmt) -> Bound:
    if isinstance(node, ast.Assign):
        return _union(target_names(target) for target in node.targets)
    if isinstance(node, ast.AugAssign):
        return target_names(node.target)
    if isinstance(node, ast.AnnAssign):
        return target_names(node.target) if node.value else frozenset()
    definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return frozenset(binding.name for binding in bindings(node))
    return frozenset([node.name]) if isinstance(node, definitions) else frozenset()
