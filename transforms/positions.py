"""Give the syntax tree of an instrumented text the positions of the original source.

The two trees are walked in step: what the guards added is left out, what they wrapped is looked into,
and all else must be equal. So the same walk proves that the text is the user's program plus guards.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from .shape import RUNTIME_MODULE


class Unfaithful(Exception):
    """The instrumented text is not the original program plus guards."""


def with_original_positions(text: ast.Module, original: ast.Module, alias: str) -> None:
    """Move every node of ``text`` to where its twin stands in ``original``.

    What guards added gets the place of the loop it belongs to. Raises Unfaithful where the trees differ.
    """
    walk = _Walk(alias)
    walk.waiting.append((text, original))
    while walk.waiting:
        walk.step(*walk.waiting.pop())


_WRAPPING = (ast.For, ast.While, ast.Return)
"""Statements in which a guard wraps an expression."""


class _Walk:
    def __init__(self, alias: str) -> None:
        self.alias = alias
        self.waiting: list[tuple[ast.AST, ast.AST]] = []

    def step(self, new: ast.AST, old: ast.AST) -> None:
        """Place one node and put its children on the waiting list."""
        if type(new) is not type(old):
            raise Unfaithful(f"{type(old).__name__} became {type(new).__name__}")
        _place(new, old)
        may_be_wrapped = isinstance(old, _WRAPPING)
        for field in old._fields:
            ours, theirs = getattr(new, field, None), getattr(old, field, None)
            if may_be_wrapped and field in ("iter", "test", "value"):
                self._wrapped(ours, theirs, old, field)
            elif isinstance(theirs, ast.AST) and isinstance(ours, ast.AST):
                self.waiting.append((ours, theirs))
            elif isinstance(theirs, list) and isinstance(ours, list):
                self._lists(ours, theirs, old)
            elif type(ours) is not type(theirs) or repr(ours) != repr(theirs):
                raise Unfaithful(f"{theirs!r} became {ours!r}")

    def _lists(self, new: list[ast.AST], old: list[ast.AST], parent: ast.AST) -> None:
        kept = new
        if len(new) != len(old):
            kept = [node for node in new if not is_added(node, self.alias)]
            if len(kept) != len(old):
                raise Unfaithful(f"{len(old)} nodes became {len(kept)}")
            self._place_added(new, old, parent)
        for ours, theirs in zip(kept, old, strict=True):
            if isinstance(theirs, ast.AST):
                self.waiting.append((ours, theirs))
            elif ours != theirs:
                raise Unfaithful(f"{theirs!r} became {ours!r}")

    def _place_added(self, new: Sequence[ast.AST], old: Sequence[ast.AST], parent: ast.AST) -> None:
        """Put added statements on the line of their loop, others on that of the next statement."""
        passed = 0
        for node in new:
            if not is_added(node, self.alias):
                passed += 1
                continue
            part = _part(node)
            anchor = parent if part == "top" else old[passed - 1] if part == "after" else old[passed]
            _collapse(node, anchor)

    def _wrapped(self, new: object, old: object, parent: ast.AST, field: str) -> None:
        """Pair one child with its twin, looking through what a guard put around it."""
        if not isinstance(new, ast.AST):
            if old is not None:
                raise Unfaithful(f"{field} is missing")
            return
        inner = self._unwrapped(new, parent, field)
        if inner is not new:
            _place_shell(new, inner, old if isinstance(old, ast.AST) else parent)
        if inner is None:
            if not (isinstance(old, ast.Constant) and old.value in (True, 1)):
                raise Unfaithful("a condition is missing")
        elif isinstance(old, ast.AST):
            self.waiting.append((inner, old))
        elif isinstance(inner, ast.Constant) and inner.value is None:
            _place(inner, parent)  # a bare return became return None
        else:
            raise Unfaithful(f"{field} came from nowhere")

    def _unwrapped(self, new: ast.AST, parent: ast.AST, field: str) -> ast.AST | None:
        if isinstance(parent, ast.For) and field == "iter":
            if isinstance(new, ast.IfExp) and _mentions(new.test, self.alias):
                new = new.orelse
            return self._argument(new)
        if isinstance(parent, ast.Return) and field == "value":
            inner = self._argument(new)
            while inner is not new:
                new, inner = inner, self._argument(inner)
            return new
        if isinstance(parent, ast.While) and field == "test":
            if isinstance(new, ast.BoolOp) and _mentions(new.values[0], self.alias):
                return new.values[1]
            if isinstance(new, ast.UnaryOp) and _mentions(new, self.alias):
                return None
        return new

    def _argument(self, node: ast.AST) -> ast.AST:
        """Return the argument of a guard's ``over`` or ``returning``, any other node as it is."""
        func = node.func if isinstance(node, ast.Call) else None
        if not isinstance(func, ast.Attribute) or func.attr not in ("over", "returning"):
            return node
        return node.args[0] if isinstance(node, ast.Call) and _mentions(func, self.alias) else node


def is_added(node: object, alias: str) -> bool:
    """Tell a statement that belongs to a guard, or imports the runtime, from the user's."""
    if isinstance(node, ast.Import):
        return node.names[0].name == RUNTIME_MODULE and node.names[0].asname == alias
    if isinstance(node, ast.Assign):
        return _mentions(node.targets[0], alias)
    if isinstance(node, ast.Delete):
        return _mentions(node.targets[0], alias)
    if isinstance(node, ast.If):
        return _mentions(node.test, alias)
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Call) and _mentions(node.value.func, alias)
    return False


def _part(node: ast.AST) -> str:
    """Tell whether an added statement stands before its loop, at the top of its body or after it."""
    names = {inner.attr for inner in ast.walk(node) if isinstance(inner, ast.Attribute)}
    if "leave" in names or isinstance(node, ast.Delete):
        return "after"
    return "top" if "live" in names else "before"


def _mentions(node: ast.AST, alias: str) -> bool:
    """Tell whether the leftmost name of an expression is a guard's: no user's name starts so."""
    while True:
        if isinstance(node, ast.Name):
            return node.id.startswith(alias)
        if isinstance(node, ast.Attribute):
            node = node.value
        elif isinstance(node, ast.Call):
            node = node.func
        elif isinstance(node, ast.UnaryOp):
            node = node.operand
        elif isinstance(node, ast.BoolOp):
            node = node.values[0]
        else:
            return False


def _place_shell(outer: ast.AST, inner: ast.AST | None, twin: ast.AST) -> None:
    """Put what a guard wrapped around ``inner`` where the wrapped expression stood."""
    waiting = [outer]
    while waiting:
        node = waiting.pop()
        if node is inner:
            continue
        _place(node, twin)
        if isinstance(node, ast.Attribute) and node.end_lineno != node.lineno:
            _collapse(node, twin)  # the compiler would look for the attribute's name at the end
        else:
            waiting.extend(ast.iter_child_nodes(node))


def _place(node: ast.AST, twin: ast.AST) -> None:
    if node._attributes and twin._attributes:
        node.lineno = twin.lineno  # type: ignore[attr-defined]
        node.col_offset = twin.col_offset  # type: ignore[attr-defined]
        node.end_lineno = twin.end_lineno  # type: ignore[attr-defined]
        node.end_col_offset = twin.end_col_offset  # type: ignore[attr-defined]


def _collapse(node: ast.AST, anchor: ast.AST) -> None:
    """Put ``node`` and all below it on the first word of ``anchor``."""
    for inner in ast.walk(node):
        if inner._attributes:
            _place(inner, anchor)
            inner.end_lineno = inner.lineno  # type: ignore[attr-defined]
            inner.end_col_offset = inner.col_offset + 1  # type: ignore[attr-defined]
