"""What the tests of an added ``if`` come to where some of its names have known values.

Left to right, as Python evaluates them, and only as far as nothing can happen on the way: an operand whose
value is not known, and that might be anything, could print something or raise. Then nothing is claimed.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from .when import When


class _Some:
    """A value that is not known, of a kind that is."""


NUMBER: Final = _Some()
"""Some whole number."""
TRUTH: Final = _Some()
"""True or false."""

NEVER = -math.inf
"""The last value at which something shows, where nothing does at any."""

_COMPARES: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda left, right: left in right,
    ast.NotIn: lambda left, right: left not in right,
}
_COMPUTES: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_MIRRORED: Mapping[type[ast.cmpop], type[ast.cmpop]] = {ast.Gt: ast.Lt, ast.GtE: ast.LtE, ast.Eq: ast.Eq}
"""``c > x`` says of x what ``x < c`` does."""


class _Unclear(Exception):
    """The value could be anything, and coming by it could do anything."""


def may_show(when: When, known: Mapping[str, Any]) -> bool:
    """Tell whether the statement can show anything while its names have the ``known`` values.

    Names that are missing may have any value. False is certain.
    """
    values = _Values(_numbers(when), known)
    try:
        return any(values.test(operands) is not False for operands in when.tests) or when.otherwise
    except _Unclear:
        return True


def last_showing(when: When, known: Mapping[str, Any], name: str) -> float | None:
    """Return a value of the number ``name`` above which the statement shows nothing; None: not known."""
    values = _Values(_numbers(when), {key: value for key, value in known.items() if key != name})
    if when.otherwise:
        return None
    try:
        for operands in when.tests:
            values.test(operands)
        return _highest(
            _lowest(_last(_parsed(text), values, name) for text in operands) for operands in when.tests
        )
    except _Unclear:
        return None


def _numbers(when: When) -> frozenset[str]:
    return frozenset(target.name for target in when.targets if target.counts)


@lru_cache(maxsize=1024)
def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


@dataclass(frozen=True)
class _Values:
    """Evaluates expressions; every method raises _Unclear where that could do anything."""

    numbers: frozenset[str]
    known: Mapping[str, Any]

    def test(self, operands: tuple[str, ...]) -> Any:
        """What the leading operands of a test come to: True, False, or TRUTH where that depends.

        A test of which no operand is known is unclear, and so is what comes after it.
        """
        found: Any = True
        for text in operands:
            truth = self.truth(_parsed(text))
            if truth is False:
                return False
            found = TRUTH if truth is TRUTH else found
        if not operands:
            raise _Unclear
        return found

    def truth(self, node: ast.expr) -> Any:
        """True, False or TRUTH."""
        if isinstance(node, ast.BoolOp):
            return self._of_operands(node)
        value = self.value(node)
        return TRUTH if isinstance(value, _Some) else bool(value)

    def value(self, node: ast.expr) -> Any:
        """The value; NUMBER or TRUTH where it is some such value."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return self._of_name(node.id)
        if isinstance(node, ast.UnaryOp):
            return self._of_unary(node)
        if isinstance(node, ast.Compare):
            return self._of_chain(node)
        if isinstance(node, ast.BinOp):
            return self._of_binary(node)
        raise _Unclear  # which operand an `and` gives, say

    def _of_name(self, name: str) -> Any:
        if name in self.known:
            return self.known[name]
        if name in self.numbers:
            return NUMBER
        raise _Unclear

    def side(self, op: ast.cmpop, node: ast.expr) -> Any:
        """The right side of a comparison: of an `in` a display of known values counts as a tuple of them."""
        if not (isinstance(op, (ast.In, ast.NotIn)) and isinstance(node, (ast.Tuple, ast.List, ast.Set))):
            return self.value(node)
        members = tuple(map(self.value, node.elts))
        if any(isinstance(member, _Some) for member in members):
            raise _Unclear
        return members

    def _of_operands(self, node: ast.BoolOp) -> Any:
        ends = isinstance(node.op, ast.Or)  # an operand with this truth ends the evaluation
        found: Any = not ends
        for part in node.values:
            truth = self.truth(part)
            if truth is ends:
                return ends
            found = TRUTH if truth is TRUTH else found
        return found

    def _of_unary(self, node: ast.UnaryOp) -> Any:
        if isinstance(node.op, ast.Not):
            truth = self.truth(node.operand)
            return TRUTH if truth is TRUTH else not truth
        value = self.value(node.operand)
        if value is NUMBER:
            return NUMBER
        if not _is_number(value):
            raise _Unclear
        return -value if isinstance(node.op, ast.USub) else +value

    def _of_chain(self, node: ast.Compare) -> Any:
        found: Any = True
        left = self.value(node.left)
        for op, part in zip(node.ops, node.comparators, strict=True):
            right = self.side(op, part)
            truth = _compared(op, left, right)
            if truth is False:
                return False
            found = TRUTH if truth is TRUTH else found
            left = right
        return found

    def _of_binary(self, node: ast.BinOp) -> Any:
        left, right = self.value(node.left), self.value(node.right)
        if isinstance(node.op, (ast.FloorDiv, ast.Mod)) and not (_is_number(right) and right):
            raise _Unclear
        if left is NUMBER or right is NUMBER:
            if all(value is NUMBER or type(value) is int for value in (left, right)):
                return NUMBER
            raise _Unclear
        if not (_is_number(left) and _is_number(right)):
            raise _Unclear
        return _calculated(_COMPUTES[type(node.op)], left, right)


def _compared(op: ast.cmpop, left: Any, right: Any) -> Any:
    """The truth of a comparison."""
    if TRUTH in (left, right) or type(left) is tuple:
        raise _Unclear
    if NUMBER not in (left, right):
        return bool(_calculated(_COMPARES[type(op)], left, right))
    if isinstance(op, (ast.In, ast.NotIn)):
        safe = type(right) is tuple
    else:
        safe = isinstance(op, (ast.Eq, ast.NotEq)) or all(
            value is NUMBER or _is_number(value) for value in (left, right)
        )
    if not safe:
        raise _Unclear
    return TRUTH


def _calculated(function: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    try:
        return function(left, right)
    except Exception:  # the program will raise the same: there, not here
        raise _Unclear from None


def _is_number(value: Any) -> bool:
    return type(value) in (int, float, bool)


# --- up to which value of a whole number that only grows


def _last(node: ast.expr, values: _Values, name: str) -> float | None:
    """Return a value of ``name`` above which an expression is false; None where there may be none."""
    if values.truth(node) is False:
        return NEVER
    if isinstance(node, ast.BoolOp):
        parts = [_last(part, values, name) for part in node.values]
        return _lowest(parts) if isinstance(node.op, ast.And) else _highest(parts)
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        return _lowest(
            _bound(op, left, right, values, name)
            for op, left, right in zip(node.ops, sides, sides[1:], strict=False)
        )
    return None


def _bound(op: ast.cmpop, left: ast.expr, right: ast.expr, values: _Values, name: str) -> float | None:
    """What one comparison says of ``name``, if that stands on one side of it."""
    kind: type[ast.cmpop] | None = type(op)
    if isinstance(right, ast.Name) and right.id == name:
        left, right, kind = right, left, _MIRRORED.get(type(op))
    if not (isinstance(left, ast.Name) and left.id == name):
        return None
    other = values.side(op, right)
    if kind is ast.In and type(other) is tuple:
        return _highest([part if _is_number(part) else NEVER for part in other])
    if kind in (ast.Lt, ast.LtE, ast.Eq) and _is_number(other):
        return float(other) if isinstance(other, float) else int(other)
    return None


def _lowest(bounds: Iterable[float | None]) -> float | None:
    return min((bound for bound in bounds if bound is not None), default=None)


def _highest(bounds: Iterable[float | None]) -> float | None:
    """The highest of the bounds, if each is one."""
    known = list(bounds)
    numbers = [bound for bound in known if bound is not None]
    return None if len(numbers) < len(known) else max(numbers, default=NEVER)
