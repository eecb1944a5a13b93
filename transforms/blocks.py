"""Find the loops of a module, name them, and decide which get a guard.

Block ids are stable under edits elsewhere: ``train.py::main/for#0/for#1`` is the second for-loop in
the first for-loop of ``main``. Refused loops are counted like all others.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from .definite import Bound, target_names
from .knowledge import facts_of, is_light_call, looks_like_iterator
from .names import ScopeNode, deleted_by, mangled, own_nodes, rebound_by
from .plan import LoopPlan
from .refusal import Loop, refusal
from .scope import Scope, inner_scope, module_scope

NOTHING_LONG = "nothing in it takes long"
UNKNOWN_TO_RECORD = "it was not there when the run was recorded"

LoopIds = Mapping[tuple[int, int], str]


@dataclass(frozen=True)
class Block:
    """A loop with all its guard needs to be written."""

    plan: LoopPlan
    number: int
    """Of its guard variable, counted per scope; -1 without a guard."""
    scope: str
    """``"module"``, ``"class"`` or ``"function"``."""
    names: tuple[str, ...]
    """What the guard puts back by assignment, mangled; empty outside functions."""
    doubtful_after: tuple[str, ...]
    """Those of ``names`` that may be unbound after the loop."""
    doubtful_inside: tuple[str, ...]
    """Those of ``names`` that may be unbound at the top of an iteration."""


def find_blocks(
    tree: ast.Module, file: str, ids: LoopIds | None, compiled: frozenset[ScopeNode]
) -> tuple[Block, ...]:
    """Return the loops of ``tree`` in source order, outer before inner.

    With ``ids`` (a replay) exactly the loops named there get a guard, under the id given, unless
    something in their form forbids it.
    """
    return tuple(_Finder(tree, file, ids, compiled).blocks(tree.body, module_scope(tree), ""))


class _Finder:
    def __init__(
        self, tree: ast.Module, file: str, ids: LoopIds | None, compiled: frozenset[ScopeNode]
    ) -> None:
        self.file = file
        self.ids = ids
        self.compiled = compiled
        self.facts = facts_of(tree)
        self.loops: Counter[tuple[str, str]] = Counter()  # (parent id, kind) -> loops seen
        self.paths: Counter[str] = Counter()  # qualified name -> definitions seen
        self.guards: Counter[str] = Counter()  # scope path -> guards given

    def blocks(self, body: Sequence[ast.AST], scope: Scope, parent: str) -> Iterator[Block]:
        """Yield the loops at and below ``body``; ``parent`` is the id of the loop around, if any."""
        for node in body:
            if isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
                block_id = self.name(node, scope, parent)
                yield self.block(node, scope, block_id)
                yield from self.blocks([*node.body, *node.orelse], scope, block_id)
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                yield from self.blocks(node.body, self.enter(node, scope), "")
            else:
                yield from self.blocks(list(statements_below(node)), scope, parent)

    def enter(self, node: ScopeNode, outer: Scope) -> Scope:
        path = f"{outer.path}.{node.name}" if outer.path else node.name
        self.paths[path] += 1
        if self.paths[path] > 1:
            path = f"{path}~{self.paths[path]}"
        return inner_scope(node, path, outer, node in self.compiled)

    def name(self, loop: Loop, scope: Scope, parent: str) -> str:
        prefix = parent or f"{self.file}::{scope.path}"
        kind = _kind(loop)
        number = self.loops[prefix, kind]
        self.loops[prefix, kind] += 1
        separator = "" if prefix.endswith("::") else "/"
        return f"{prefix}{separator}{kind}#{number}"

    def block(self, loop: Loop, scope: Scope, block_id: str) -> Block:
        nodes = own_nodes(loop)
        reason = refusal(loop, nodes, scope) or self._not_worth_it(loop)
        if self.ids is not None:
            block_id = self.ids.get((loop.lineno, loop.col_offset), "")
        plan = LoopPlan(
            id=block_id,
            kind=_kind(loop),
            line=loop.lineno,
            col=loop.col_offset,
            end_line=loop.end_lineno or loop.lineno,
            function=scope.path,
            guarded=not reason,
            reason=reason,
            binds=rebound_by(nodes, scope.names) if scope.names else (),
            changes=(),
            calls=(),
            has_else=bool(loop.orelse),
            has_return=any(isinstance(node, ast.Return) for node in nodes),
        )
        return self._guarded(loop, plan, scope) if plan.guarded else Block(plan, -1, "", (), (), ())

    def _not_worth_it(self, loop: Loop) -> str:
        if self.ids is not None:
            return "" if (loop.lineno, loop.col_offset) in self.ids else UNKNOWN_TO_RECORD
        if not isinstance(loop, ast.While) and looks_like_iterator(loop.iter):
            return ""  # a loader works even where the body does not
        # what a lambda or a class body in the loop calls is taken to be called by the loop
        for node in own_nodes(loop, enter=(ast.Lambda, ast.ClassDef)):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
                return ""
            if isinstance(node, ast.Call) and not is_light_call(node, self.facts):
                return ""
        return NOTHING_LONG

    def _guarded(self, loop: Loop, plan: LoopPlan, scope: Scope) -> Block:
        number = self.guards[scope.path]
        self.guards[scope.path] += 1
        if scope.names is None:
            kind = "class" if isinstance(scope.node, ast.ClassDef) else "module"
            return Block(plan, number, kind, (), (), ())
        target = target_names(loop.target) if isinstance(loop, (ast.For, ast.AsyncFor)) else Bound()
        unsafe = deleted_by(loop) | {binding.name for binding in scope.names.foreign if binding.deletes}
        after = scope.bound[loop] - unsafe
        inside = (scope.bound[loop] | target) - unsafe

        def spelled(names: Sequence[str]) -> tuple[str, ...]:
            return tuple(mangled(name, scope.class_name) for name in names)

        return Block(
            plan,
            number,
            "function",
            spelled(plan.binds),
            spelled([name for name in plan.binds if name not in after]),
            spelled([name for name in plan.binds if name not in inside]),
        )


def statements_below(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the statements (handlers, cases) directly inside a compound statement, in source order."""
    for field in ("body", "handlers", "cases", "orelse", "finalbody"):
        if isinstance(node, (ast.stmt, ast.ExceptHandler, ast.match_case)):
            yield from getattr(node, field, ())


def _kind(loop: Loop) -> str:
    return "while" if isinstance(loop, ast.While) else "for"
