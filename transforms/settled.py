"""Which variables of added lines no iteration of a loop changes: made once, before it, and then only read.

`start = model.weight.clone()` before the loop, `print((model.weight - start).norm())` in it. What stands in
the text decides: whatever reads such a name in a loop must be pure, and so must what it is handed on to. An
added function that reads one may change it: handed.py has those.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

from .knowledge import Facts, is_pure_expression, last_name, looks_like_iterator, origin
from .knowledge_tables import ALIASING_BUILTINS, ALIASING_METHODS, HARMLESS_CONTEXTS
from .recorded import names_in
from .statements import WITHS

_USED_UP = frozenset(
    "enumerate filter iter map reversed zip parameters named_parameters buffers named_buffers modules "
    "named_modules children named_children finditer glob rglob iterdir scandir walk defaultdict".split()
)
"""What these return is another thing once somebody has gone through it, or asked it for a key."""
_MAKING = (ast.Call, ast.List, ast.Set, ast.Dict, ast.Tuple, ast.ListComp, ast.SetComp, ast.DictComp)
_NEW = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.Constant, ast.JoinedStr)


def settled(
    statements: Sequence[ast.stmt], runs_once: Callable[[ast.stmt], bool], facts: Facts
) -> frozenset[str]:
    """The names that one statement binds, in no loop, and whose values those in loops leave as they are.

    statements: all that were added to a module.
    runs_once: tells of one whether it stands in none of the loops, nor in what they may call.
    """
    every = list(_unwrapped(statements))
    once = [one for one in every if runs_once(one)]
    looped = [one for one in every if one not in once]
    bound = [name for one in every for name in names_in([one]).bound]
    made = [name for one in once for name in _made_by(one, facts) if bound.count(name) == 1]
    return frozenset(name for name in made if _is_left(name, looped, facts))


def _unwrapped(statements: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    for one in statements:
        if isinstance(one, WITHS):
            yield from _unwrapped(one.body)
        else:
            yield one


def _mentioned(node: ast.AST) -> set[str]:
    """The names in it, those of scopes inside included."""
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def _made_by(node: ast.stmt, facts: Facts) -> list[str]:
    """Names that a statement binds to something that can be read as often as one likes."""
    if not isinstance(node, (ast.Assign, ast.AnnAssign)) or node.value is None:
        return []
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    value = node.value
    if not isinstance(value, (*_MAKING, *_NEW)) or not is_pure_expression(value, facts):
        return []
    around = {child: outer for outer in ast.walk(value) for child in ast.iter_child_nodes(outer)}
    kept = [one for one in ast.walk(value) if _is_used_up(one, facts) and not _goes_in(one, around, facts)]
    if kept or looks_like_iterator(value):
        return []
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _is_used_up(node: ast.AST, facts: Facts) -> bool:
    if isinstance(node, ast.Call):
        return last_name(node.func) in _USED_UP or origin(node.func, facts).startswith("itertools.")
    return isinstance(node, (ast.GeneratorExp, ast.Lambda))


def _goes_in(node: ast.AST, around: dict[ast.AST, ast.AST], facts: Facts) -> bool:
    """Tell whether what can be gone through once alone is gone through where it is made."""
    outer = around.get(node)
    if isinstance(outer, ast.comprehension):
        return outer.iter is node and not isinstance(around[outer], ast.GeneratorExp)
    if not isinstance(outer, ast.Call) or outer.func is node:
        return False
    return not _is_used_up(outer, facts) or _goes_in(outer, around, facts)


def _is_left(name: str, looped: Sequence[ast.stmt], facts: Facts) -> bool:
    """Tell whether the statements change nothing of what the name stands for."""
    leading, count = {name}, 0  # names of it, and of parts of it
    while len(leading) > count:
        count = len(leading)
        for one in looped:
            if not leading.isdisjoint(_mentioned(one)) and not _leaves(one, leading, facts):
                return False
    return True


def _leaves(node: ast.stmt, leading: set[str], facts: Facts) -> bool:
    """Tell whether a statement changes nothing; `leading` gets the names that it hands parts on to."""
    if isinstance(node, ast.Expr):
        return _only_reads(node.value, leading, facts)
    if isinstance(node, ast.Assign):
        if not _is_new(node.value) and not leading.isdisjoint(_mentioned(node.value)):
            leading |= names_in([node]).bound
        return all(map(_is_names, node.targets)) and _only_reads(node.value, leading, facts)
    if isinstance(node, ast.AugAssign):
        adds = isinstance(node.target, ast.Name) and node.target.id not in leading and _is_new(node.value)
        return adds and _only_reads(node.value, leading, facts)
    if isinstance(node, ast.If):
        body = [*node.body, *node.orelse]
        return _only_reads(node.test, leading, facts) and all(_leaves(one, leading, facts) for one in body)
    if isinstance(node, ast.For):
        if not leading.isdisjoint(_mentioned(node.iter)):
            leading |= names_in([node.target]).bound
        head = _is_names(node.target) and _only_reads(node.iter, leading, facts)
        return head and all(_leaves(one, leading, facts) for one in [*node.body, *node.orelse])
    if isinstance(node, ast.With):  # statements of a loop inside; the others were unwrapped
        heads = [item.context_expr for item in node.items]
        known = all(isinstance(one, ast.Call) and last_name(one.func) in HARMLESS_CONTEXTS for one in heads)
        return known and all(_leaves(one, leading, facts) for one in node.body)
    return isinstance(node, ast.Pass)


def _is_names(target: ast.expr) -> bool:
    if isinstance(target, (ast.Tuple, ast.List)):
        return all(map(_is_names, target.elts))
    return isinstance(target, ast.Name)


def _is_new(value: ast.expr) -> bool:
    """Tell whether what an expression comes to is no part of anything else."""
    if isinstance(value, ast.Call):
        return last_name(value.func) not in ALIASING_BUILTINS | ALIASING_METHODS
    return isinstance(value, _NEW)


def _only_reads(value: ast.expr, leading: set[str], facts: Facts) -> bool:
    handed = [one for one in ast.walk(value) if isinstance(one, ast.NamedExpr)]
    if any(not leading.isdisjoint(_mentioned(one.value)) for one in handed):
        return False
    return is_pure_expression(value, facts)
