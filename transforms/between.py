"""What added statements read that may come from an earlier iteration of a loop.

A name of theirs is fresh where a statement before, in the same iteration, has surely bound it; and where it
is a variable of a function that is called anew in each. What is bound in a branch is not surely bound.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from .handed import added_statements
from .knowledge import facts_of, last_name
from .knowledge_tables import HARMLESS_CONTEXTS
from .probes import Probe
from .recorded import SCOPES, names_in
from .settled import settled
from .statements import DEFINITIONS, FUNCTIONS, LOOPS, WITHS, first_line

Place = tuple[int, int]  # line and column
_OF_ATTRIBUTES = frozenset({"setattr", "delattr", "getattr", "hasattr", "vars"})
_BY_NAME = frozenset({"globals", "locals", "vars", "dir"})
_BY_TEXT = frozenset({"exec", "eval"})
_LET_THROUGH = HARMLESS_CONTEXTS - {"suppress"}
"""Context managers that let an exception go on."""


@dataclass(frozen=True)
class Use:
    """A name of the probes' own that an added statement reads in a loop.

    Attributes:
        is_fresh: it was surely bound in the same iteration.
        is_asked: an attribute of what it stands for is read.
        is_changed: one is set, or a call is given it that may do so.
    """

    name: str
    is_fresh: bool
    is_asked: bool
    is_changed: bool


@dataclass(frozen=True)
class Reads:
    """All that the added statements read in loops.

    Attributes:
        uses: names of the probes' own.
        attributes: every attribute that is read of anything.
        by_name: calls that look names up by their text.
        left: names that statements after the loops read, and that not every iteration binds.
        settled: names of the probes' own that are bound before the loops, and left as they are in them.
    """

    uses: tuple[Use, ...]
    attributes: frozenset[str]
    by_name: frozenset[str]
    left: frozenset[str]
    settled: frozenset[str]


def reads_of(
    tree: ast.Module,
    probes: Sequence[Probe],
    own: Mapping[int, frozenset[str]],
    loops: Collection[Place],
    inside: Collection[Place],
    defined: Collection[str] = (),
) -> Reads:
    """Look at the added statements of an edited module.

    own: first line of a function (0: the module) -> names of it that are the probes'.
    loops: where the loops stand whose iterations are to part.
    inside: where those of them that also run in an iteration of another.
    defined: names that other modules of the project define.
    """
    look = _Look(tree, own, loops, inside)
    statements = added_statements(tree, [probe for probe in probes if not probe.inert])
    looped = [one for one in statements if not look.runs_once(one)]
    uses = [use for one in looped for use in look.uses(one)]
    attributes, by_name = set[str](), set[str]()
    for node in (node for statement in looped for node in ast.walk(statement)):
        if isinstance(node, ast.Attribute):
            attributes.add(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            attributes.add(node.value)  # getattr(module, "seen"), sys.modules["__main__"]
        elif isinstance(node, ast.Call):
            name = last_name(node.func)
            bare = isinstance(node.func, ast.Name) and not node.args
            by_name.update({name} & (_BY_TEXT | _BY_NAME if bare else _BY_TEXT))
    left = {name for one in statements if one not in looped for name in look.left(one, looped)}
    added = added_statements(tree, probes)
    if any(_names_main(node) for statement in added for node in ast.walk(statement)):
        left.add("__main__")  # a name of whose is not told from the program's
    quiet = settled(statements, look.runs_once, facts_of(tree, defined))
    return Reads(tuple(uses), frozenset(attributes), frozenset(by_name), frozenset(left), quiet)


class _Look:
    def __init__(
        self,
        tree: ast.Module,
        own: Mapping[int, frozenset[str]],
        loops: Collection[Place],
        inside: Collection[Place],
    ) -> None:
        self._tree, self._own = tree, own
        self._around: dict[ast.AST, ast.AST] = {
            child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)
        }
        standing = {
            node: (node.lineno, node.col_offset) for node in ast.walk(tree) if isinstance(node, LOOPS)
        }
        self._loops = {node for node, place in standing.items() if place in loops}
        self._holding = {node for loop in self._loops for node in self._ways_up(loop)}
        called = [node for node, place in standing.items() if place in inside]
        self._called = {node for loop in called for node in self._ways_up(loop)}

    def _ways_up(self, node: ast.AST) -> Iterator[ast.AST]:
        while node in self._around:
            node = self._around[node]
            yield node

    def runs_once(self, statement: ast.stmt) -> bool:
        """Tell whether it stands in none of the loops, nor in a function that one of them may call."""
        for node in self._ways_up(statement):
            if node in self._loops:
                return False
            if isinstance(node, FUNCTIONS):
                return node in self._holding - self._called
        return True

    def uses(self, statement: ast.stmt) -> Iterator[Use]:
        for name, node in _reads(statement):
            home = self._home(name, statement)
            if home is None or self._is_anew(home, statement):
                continue
            asked = isinstance(self._around[node], ast.Attribute)
            yield Use(name, self._is_fresh(name, node), asked, self._is_changed(node))

    def _is_anew(self, home: ast.AST, statement: ast.stmt) -> bool:
        """Tell whether variables of this function live no longer than an iteration: a call in it has its own.

        Not so for those of a function around the statement's, nor of a generator.
        """
        if not isinstance(home, FUNCTIONS) or home in self._holding:
            return False
        nearest = next(node for node in self._ways_up(statement) if isinstance(node, FUNCTIONS))
        return nearest is home and not any(map(_suspends, home.body))

    def left(self, statement: ast.stmt, looped: Sequence[ast.stmt]) -> Iterator[str]:
        """Names that a statement outside of the loops reads, and that the last iteration may not have bound.

        looped: the added statements in loops.
        """
        for name, _ in _reads(statement):
            home = self._home(name, statement)
            binding = [one for one in looped if name in names_in([one]).bound]
            binding = [one for one in binding if self._home(name, one) is home]
            if home is not None and binding and not any(self._is_in_each(one, name) for one in binding):
                yield name

    def _is_in_each(self, statement: ast.stmt, name: str) -> bool:
        """Tell whether every iteration of a loop binds the name by this statement of its body."""
        loop = self._around[statement]
        if loop not in self._loops or not _surely_binds(statement, name):
            return False
        body = next((one for one in _bodies(loop) if statement in one), [])
        before = [node for one in body[: body.index(statement)] for node in ast.walk(one)]
        return not any(isinstance(node, (ast.Break, ast.Continue, ast.Return)) for node in before)

    def _is_changed(self, node: ast.AST) -> bool:
        outer = self._around[node]
        if isinstance(outer, ast.Call):
            return node is not outer.func and last_name(outer.func) in _OF_ATTRIBUTES
        while isinstance(outer, (ast.Attribute, ast.Subscript)):
            if not isinstance(outer.ctx, ast.Load):
                return True
            outer = self._around[outer]
        return False

    def _home(self, name: str, statement: ast.stmt) -> ast.AST | None:
        """The function or module whose own name this is; None if it is the program's."""
        for node in self._ways_up(statement):
            if not isinstance(node, FUNCTIONS) or name in names_in(node.body).to_outer:
                continue
            if name in self._own.get(first_line(node), ()):
                return node
        return self._tree if name in self._own.get(0, ()) else None

    def _is_fresh(self, name: str, node: ast.AST) -> bool:
        inner = node
        for outer in self._ways_up(node):
            if _binds_in_head(outer, inner, name):
                return True
            for body in _bodies(outer):
                if inner in body and any(_surely_binds(one, name) for one in body[: body.index(inner)]):
                    return True
            if isinstance(outer, DEFINITIONS) or outer in self._loops:
                return False
            if isinstance(outer, LOOPS) and _suspends(outer):
                return False  # a generator's: an iteration of it for one of the loop that asks it
            inner = outer
        return False


def _names_main(node: ast.AST) -> bool:
    """Tell whether the script is called by its name as a module."""
    if isinstance(node, ast.Import):
        return any(one.name == "__main__" for one in node.names)
    asked = [node.slice] if isinstance(node, ast.Subscript) else []
    given = node.args if isinstance(node, ast.Call) else asked
    return any(isinstance(one, ast.Constant) and one.value == "__main__" for one in given)


def _suspends(node: ast.AST) -> bool:
    """Tell whether a function with this in its body is a generator, or one that waits."""
    if isinstance(node, (ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith)):
        return True
    inside = (*FUNCTIONS, ast.Lambda)
    return not isinstance(node, inside) and any(map(_suspends, ast.iter_child_nodes(node)))


def _reads(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Every name that is read, and where; of a scope inside, the names it takes from around itself."""
    if isinstance(node, SCOPES):
        names = names_in([node])
        yield from ((name, node) for name in names.read | names.taken)
        return
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield node.id, node
    elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        yield node.target.id, node.target
    for child in ast.iter_child_nodes(node):
        yield from _reads(child)


def _bodies(node: ast.AST) -> Iterator[list[ast.AST]]:
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        body = getattr(node, name, None)
        if isinstance(body, list):
            yield body


def _binds_in_head(outer: ast.AST, inner: ast.AST, name: str) -> bool:
    """Tell whether the head of a statement has bound a name for its body, or one operand for another."""
    if isinstance(outer, ast.BoolOp) and inner in outer.values:
        before = outer.values[: outer.values.index(inner)]  # all of them were evaluated
        return any(_binds(value, name, is_true=isinstance(outer.op, ast.And)) for value in before)
    if isinstance(outer, ast.IfExp) and inner is not outer.test:
        return _binds(outer.test, name, is_true=inner is outer.body)
    body = getattr(outer, "body", None)
    if not isinstance(body, list) or inner not in body:
        return False
    if isinstance(outer, (ast.For, ast.AsyncFor)):
        return name in names_in([outer.target]).bound
    if isinstance(outer, WITHS):
        return name in names_in(list(outer.items)).bound
    if isinstance(outer, ast.ExceptHandler):
        return outer.name == name
    if isinstance(outer, ast.match_case):
        return name in names_in([outer.pattern]).bound
    if isinstance(outer, (ast.If, ast.While)):
        return _binds(outer.test, name, is_true=True)
    return False


def _binds(node: ast.AST, name: str, is_true: bool = False) -> bool:
    """Tell whether an expression has surely bound a name once it is evaluated; is_true: and found true."""
    if isinstance(node, ast.BoolOp):
        are_all = is_true and isinstance(node.op, ast.And)
        return any(_binds(value, name, are_all) for value in (node.values if are_all else node.values[:1]))
    if isinstance(node, ast.IfExp):
        return _binds(node.test, name)
    if isinstance(node, ast.Compare):
        return _binds(node.left, name) or _binds(node.comparators[0], name)
    if isinstance(node, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        return False
    if isinstance(node, ast.NamedExpr) and node.target.id == name:
        return True
    return any(_binds(child, name) for child in ast.iter_child_nodes(node))


def _surely_binds(node: ast.AST, name: str) -> bool:
    if isinstance(node, (ast.Import, ast.ImportFrom, *DEFINITIONS)):
        return name in names_in([node]).bound
    if isinstance(node, (ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign)) and node.value is not None:
        return name in names_in(_targets(node)).bound or _binds(node.value, name)
    if isinstance(node, WITHS):
        heads = [item.context_expr for item in node.items]
        known = all(isinstance(one, ast.Call) and last_name(one.func) in _LET_THROUGH for one in heads)
        return name in names_in(list(node.items)).bound or (known and _any_binds(node.body, name))
    if isinstance(node, ast.If):
        return _any_binds(node.body, name) and _any_binds(node.orelse, name)
    if isinstance(node, ast.Try):
        handled = all(_any_binds(handler.body, name) for handler in node.handlers)
        return _any_binds(node.finalbody, name) or (_any_binds([*node.body, *node.orelse], name) and handled)
    return False


def _targets(node: ast.stmt) -> Sequence[ast.expr]:
    if isinstance(node, ast.Assign):
        return node.targets
    return [node.target] if isinstance(node, (ast.AnnAssign, ast.AugAssign)) else []


def _any_binds(body: Sequence[ast.AST], name: str) -> bool:
    return any(_surely_binds(node, name) for node in body)

