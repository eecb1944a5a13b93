"""When an added ``if`` can show anything, as far as the variables of the loops around it tell.

Of a test those leading operands of its ``and`` count that consist of such variables and constants: where one
of them is false, Python evaluates nothing after it. Of ``if epoch == 3 and loss > 2:`` that is the first.

A name is taken for a loop's variable only if nothing else can have set it by then: it is a target of a
recorded ``for`` around the probe in the same scope, bound in no other place of that loop's body, and neither
``global``, nor ``nonlocal``, nor set by an inner function. A parameter of the function around such a loop
counts as well, if nothing in the function binds it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile

from .names import bindings, function_names
from .recorded import bound_by

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)

_FORMS = (
    ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.USub, ast.UAdd, ast.Compare, ast.Eq, ast.NotEq,
    ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn, ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.FloorDiv,
    ast.Mod, ast.Tuple, ast.List, ast.Set, ast.Load,
)  # fmt: skip
"""What a test may be made of, besides names and constants: on plain values none of it does anything."""

_PLAIN = (int, float, str, type(None))

_MEDDLING_CALLS = frozenset({"exec", "eval", "globals"})
_BUILTINS = frozenset({"builtins", "__builtins__"})
_MEDDLING_ATTRIBUTES = frozenset({"__globals__", "f_globals", "f_locals"})
"""Both may set a module's names, or a frame's, where no statement shows it."""


@dataclass(frozen=True)
class Target:
    """A name in a test: a variable of a recorded loop, or a parameter of the function around it."""

    name: str
    blocks: tuple[str, ...]
    """The loop's block id; of a parameter those of all loops around, for it has one value in them."""
    counts: bool
    """Always a whole number: it comes from ``range`` or is the index of ``enumerate``."""
    is_parameter: bool = False


@dataclass(frozen=True)
class When:
    """What must hold for an added ``if`` to show anything."""

    tests: tuple[tuple[str, ...], ...]
    """Of the ``if`` and of each ``elif`` the operands that count, as expressions; there may be none."""
    otherwise: bool
    """There is an ``else``."""
    targets: tuple[Target, ...]
    """All names in the tests."""


@dataclass(frozen=True)
class Loops:
    """The loops of the edited module, and what their variables can be relied on for."""

    tree: ast.Module
    ids: Mapping[tuple[int, int], str]
    """(line, column) of a loop -> its recorded block id."""

    def when(self, node: ast.stmt) -> When | None:
        """Return when an added statement can show anything; None where nothing limits it."""
        if not isinstance(node, ast.If) or self._is_meddled_with:
            return None
        targets: dict[str, Target] = {}
        tests = []
        arms, otherwise = _arms(node)
        for test in arms:
            operands = takewhile(lambda one: self._speaks(one, node, targets), _operands(test))
            tests.append(tuple(map(ast.unparse, operands)))
        if not tests[0]:
            return None
        return When(tuple(tests), otherwise, tuple(targets.values()))

    def _speaks(self, operand: ast.expr, node: ast.stmt, targets: dict[str, Target]) -> bool:
        """Tell whether an operand consists of loop variables and constants; ``targets`` takes them in."""
        found = dict(targets)
        for part in ast.walk(operand):
            if isinstance(part, ast.Name):
                target = found.get(part.id) or self._target(part.id, node)
                if target is None:
                    return False
                found[part.id] = target
            elif isinstance(part, ast.Constant):
                if not isinstance(part.value, _PLAIN):
                    return False
            elif not isinstance(part, _FORMS):
                return False
        targets.update(found)
        return True

    # --- which variable a name is

    def _target(self, name: str, node: ast.stmt) -> Target | None:
        loops, scope = self._around(node)
        for loop in loops:
            stores = [part for part in ast.walk(loop.target) if _is_name(part, name)]
            if stores:
                block = self.ids.get((loop.lineno, loop.col_offset))
                alone = len(stores) == 1 and not self._is_set_elsewhere(name, loop, scope)
                return Target(name, (block,), self._counts(name, loop)) if block and alone else None
        return self._parameter(name, loops, scope)

    def _parameter(self, name: str, loops: list[ast.For], scope: ast.AST) -> Target | None:
        """Return a parameter that keeps the value it was called with."""
        if not isinstance(scope, _FUNCTIONS):
            return None
        names = function_names(scope)
        bound = {one.name for one in (*names.foreign, *(b for part in scope.body for b in bindings(part)))}
        blocks = [self.ids.get((loop.lineno, loop.col_offset)) for loop in loops]
        known = tuple(block for block in blocks if block)
        keeps = bool(known) and name in names.params and name not in bound
        return Target(name, known, counts=False, is_parameter=True) if keeps else None

    def _around(self, node: ast.stmt) -> tuple[list[ast.For], ast.AST]:
        """Return the loops in whose bodies a statement stands, innermost first, and their scope."""
        loops: list[ast.For] = []
        here: ast.AST = node
        while not isinstance(here, _SCOPES):
            here, part = self._parents[here]
            if isinstance(here, ast.For) and part == "body":
                loops.append(here)
        return loops, here

    @cached_property
    def _parents(self) -> dict[ast.AST, tuple[ast.AST, str]]:
        """What each statement (handler, case) stands in, and in which part of it."""
        return {
            child: (parent, part)
            for parent in ast.walk(self.tree)
            for part, children in ast.iter_fields(parent)
            if isinstance(children, list)
            for child in children
            if isinstance(child, (ast.stmt, ast.ExceptHandler, ast.match_case))
        }

    def _is_set_elsewhere(self, name: str, loop: ast.For, scope: ast.AST) -> bool:
        """Tell whether anything but the loop itself may set one of its variables."""
        if any(binding.name == name for statement in loop.body for binding in bindings(statement)):
            return True
        if any(_is_star(part) for statement in loop.body for part in ast.walk(statement)):
            return True
        if isinstance(scope, _FUNCTIONS):
            names = function_names(scope)
            foreign = {binding.name for binding in names.foreign}
            return name in names.globals | names.nonlocals | foreign
        return not isinstance(scope, ast.Module) or name in self._declared_global

    @cached_property
    def _declared_global(self) -> frozenset[str]:
        nodes = [node for node in ast.walk(self.tree) if isinstance(node, ast.Global)]
        return frozenset(name for node in nodes for name in node.names)

    @cached_property
    def _is_meddled_with(self) -> bool:
        return any(_meddles(node) for node in ast.walk(self.tree))

    # --- what values it has

    def _counts(self, name: str, loop: ast.For) -> bool:
        called = loop.iter.func if isinstance(loop.iter, ast.Call) else None
        if not isinstance(called, ast.Name) or called.id in self._bound:
            return False
        target = loop.target
        if called.id == "range":
            return isinstance(target, ast.Name)
        first = target.elts[0] if isinstance(target, (ast.Tuple, ast.List)) and target.elts else None
        return called.id == "enumerate" and isinstance(first, ast.Name) and first.id == name

    @cached_property
    def _bound(self) -> frozenset[str]:
        """All names that the module binds in any scope; one it does not bind is a builtin."""
        found: set[str] = set()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                found.add(node.id)
            elif isinstance(node, ast.arg):
                found.add(node.arg)
            elif _is_star(node):
                found |= {"range", "enumerate"}
            else:
                found.update(bound_by(node))
        return frozenset(found)


def _arms(node: ast.If) -> tuple[list[ast.expr], bool]:
    """Return the tests of an ``if`` and of its ``elif``s, and whether there is an ``else``."""
    tests = [node.test]
    rest: Sequence[ast.stmt] = node.orelse
    while len(rest) == 1 and isinstance(rest[0], ast.If):
        tests.append(rest[0].test)
        rest = rest[0].orelse
    return tests, bool(rest)


def _operands(test: ast.expr) -> Iterator[ast.expr]:
    """Yield the operands of a test's ``and``, in the order they are evaluated in."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        for value in test.values:
            yield from _operands(value)
    else:
        yield test


def _is_star(node: ast.AST) -> bool:
    return isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names)


def _meddles(node: ast.AST) -> bool:
    """Tell whether names may be set here, or by what is got hold of here, otherwise than by statements."""
    if isinstance(node, ast.Name):
        return node.id in _MEDDLING_CALLS
    if isinstance(node, ast.Attribute):
        if node.attr in _MEDDLING_CALLS:  # not `model.eval()`
            return isinstance(node.value, ast.Name) and node.value.id in _BUILTINS
        return node.attr in _MEDDLING_ATTRIBUTES or (node.attr == "modules" and _is_name(node.value, "sys"))
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        origin = getattr(node, "module", "")
        names = {alias.name for alias in node.names}
        if origin in _BUILTINS and names & _MEDDLING_CALLS:
            return True
        if any(alias.name in _BUILTINS and alias.asname for alias in node.names):
            return True
        return "__main__" in {origin, *names} or (origin == "sys" and "modules" in names)
    called = node.func if isinstance(node, ast.Call) and not node.args else None
    return _is_name(called, "vars") or _is_name(called, "locals")


def _is_name(node: ast.AST | None, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
