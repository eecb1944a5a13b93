"""Values that pass through `florc.log` on their way: `loss = florc.log("loss", criterion(output, target))`.

The call gives back what it is given, so that such a statement is the same with it and without it. The matcher
compares trees from which it is taken out, and this says where it stood.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from .knowledge import Facts, is_pure_expression, origin

FUNCTION = "florc.log"

Notes = dict[ast.stmt, list[ast.expr]]


@dataclass(frozen=True)
class Taken:
    """What was taken out of one module: statement -> the names that it noted values under, in order."""

    names: Notes = field(default_factory=dict)

    def at(self, node: ast.stmt) -> list[str]:
        """Return the keys of the names in a statement's own expressions."""
        return [ast.dump(name) for name in self.names.get(node, ())]


@dataclass(frozen=True)
class Noted:
    """What was taken out of the recorded module and of the edited one."""

    old: Taken = field(default_factory=Taken)
    new: Taken = field(default_factory=Taken)

    def differ(self, old: ast.stmt, new: ast.stmt) -> bool:
        """Tell whether two statements that go together note other values."""
        return self.old.at(old) != self.new.at(new)


def take_out(tree: ast.Module, facts: Facts) -> Taken:
    """Replace each call of `florc.log` inside a statement of ``tree`` by its value."""
    taking = _Taking(facts)
    taking.visit(tree)
    return Taken(taking.names)


def name_why(node: ast.stmt, taken: Taken, facts: Facts) -> str:
    """Return why the names of the noted values change the program, "" if they do not."""
    if all(is_pure_expression(name, facts) for name in taken.names.get(node, ())):
        return ""
    return f"what names the value given to `{FUNCTION}` may change the program"


class _Taking(ast.NodeTransformer):
    """Takes the calls out; what is a statement of its own stays, and what a replay may not come by."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.names: Notes = {}
        self._around: list[ast.stmt] = []

    def visit(self, node: ast.AST) -> ast.AST:
        """Keep account of the statement around."""
        if not isinstance(node, ast.stmt):
            found: ast.AST = super().visit(node)
            return found
        self._around.append(node)
        super().visit(node)
        self._around.pop()
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        if isinstance(node.value, ast.Call) and origin(node.value.func, self.facts) == FUNCTION:
            self.generic_visit(node.value)
            return node
        return self.generic_visit(node)

    def visit_For(self, node: ast.For | ast.AsyncFor) -> ast.AST:
        return self._bodies_of(node)  # a loop that is skipped evaluates none of its header

    visit_AsyncFor = visit_For

    def visit_While(self, node: ast.While) -> ast.AST:
        return self._bodies_of(node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        return self._bodies_of(node)  # what stands behind `except` and `case` is on a line of its own

    def visit_match_case(self, node: ast.match_case) -> ast.AST:
        return self._bodies_of(node)

    def _bodies_of(
        self, node: ast.For | ast.AsyncFor | ast.While | ast.ExceptHandler | ast.match_case
    ) -> ast.AST:
        for statement in [*node.body, *getattr(node, "orelse", ())]:
            self.visit(statement)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return node

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.AST:
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        parts = _parts(node) if origin(node.func, self.facts) == FUNCTION else None
        if parts is None or not self._around:
            return self.generic_visit(node)
        name, value = parts
        self.names.setdefault(self._around[-1], []).append(name)
        visited: ast.AST = self.visit(value)
        return visited


def _parts(node: ast.Call) -> tuple[ast.expr, ast.expr] | None:
    """Return name and value of a call, None where they cannot be told."""
    given = dict(zip(("name", "value"), node.args, strict=False))
    given.update({keyword.arg: keyword.value for keyword in node.keywords if keyword.arg is not None})
    plain = len(node.args) + len(node.keywords) == len(given) == 2 and set(given) == {"name", "value"}
    if not plain or any(isinstance(part, ast.Starred) for part in node.args):
        return None
    if node.keywords and node.keywords[0].arg == "value":
        return None  # the value is computed before its name
    return given["name"], given["value"]
