"""Things in a script that are worth a word: what keeps replay from skipping more than it does.

Enters: source text and its plan. Leaves: notes, each a line number and a sentence. No note changes any
decision.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from .knowledge import Facts, dotted, facts_of, is_light_call, is_pure_call, looks_like_iterator
from .plan import LoopPlan, Plan

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True)
class Note:
    """One piece of advice."""

    line: int
    text: str


def notes(plan: Plan, source: bytes) -> tuple[Note, ...]:
    """Return advice about a module, by line; nothing for text Python cannot parse."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return ()
    facts = facts_of(tree)
    found = [*_comprehensions(tree, facts, plan), *_iterators(tree, plan), *_flat_loops(tree, plan)]
    return tuple(sorted(set(found), key=lambda n: (n.line, n.text)))


def _comprehensions(tree: ast.AST, facts: Facts, plan: Plan) -> Iterator[Note]:
    """Work done in a comprehension (an evaluation, often) has no statement that a guard could stand
    before."""
    for node in ast.walk(tree):
        if not isinstance(node, COMPREHENSIONS):
            continue
        repeated = [n for part in _repeated(node) for n in ast.walk(part) if isinstance(n, ast.Call)]
        heavy = [c for c in repeated if not is_light_call(c, facts) and not is_pure_call(c, facts)]
        known = [c for c in heavy if _may_take_long(c)]
        if known:
            yield Note(
                node.lineno,
                f"{_spelled(known[0])} runs inside a comprehension, which carries no guard: it is executed "
                "again on replay. If it takes long, write it as a for loop, which can be skipped.",
            )


def _repeated(node: ast.expr) -> list[ast.AST]:
    """Return the parts of a comprehension that run once for each item."""
    head: list[ast.AST] = (
        [node.key, node.value] if isinstance(node, ast.DictComp) else [getattr(node, "elt", node)]
    )
    generators = getattr(node, "generators", [])
    return [*head, *(i for g in generators for i in g.ifs), *(g.iter for g in generators[1:])]


def _may_take_long(call: ast.Call) -> bool:
    """Tell whether a call is likely a model or a function of the user's: constructors and torch's makers are
    not."""
    name = dotted(call.func)
    root, _, last = name.rpartition(".")
    return (
        bool(name)
        and not last[:1].isupper()
        and root.partition(".")[0] not in {"torch", "np", "nn", "random", "os"}
    )


def _spelled(call: ast.Call) -> str:
    return f"{dotted(call.func)}(…)" if call.args or call.keywords else f"{dotted(call.func)}()"


def _iterators(tree: ast.AST, plan: Plan) -> Iterator[Note]:
    """`next(it)` on an iterator made outside the loop: the iterator's place cannot be saved."""
    made = {
        target.id: node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and _is_iter_of_loader(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and dotted(node.func) == "next" and node.args):
            continue
        name = dotted(node.args[0])
        around = _innermost(plan, node.lineno)
        if name in made and around is not None and not around.line <= made[name] <= around.end_line:
            yield Note(
                node.lineno,
                f"{name} was made by iter() on line {made[name]}, before the loop. Where an iterator stands "
                "cannot be saved: replay has to take its items again from the first, or runs the loop"
                " from its "
                "start. A for loop over the loader itself can be skipped.",
            )


def _is_iter_of_loader(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Call)
        and dotted(node.func) == "iter"
        and bool(node.args)
        and (looks_like_iterator(node.args[0]) or isinstance(node.args[0], ast.Name))
    )


def _flat_loops(tree: ast.AST, plan: Plan) -> Iterator[Note]:
    """One long loop over steps, with nothing inside that could be skipped by itself."""
    trains = {
        n.lineno
        for n in ast.walk(tree)
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr == "backward"
    }
    loops = [loop for loop in plan.loops if loop.guarded]
    for loop in loops:
        inner = any(loop.line < other.line <= loop.end_line for other in loops)
        outer = any(other.line < loop.line <= other.end_line for other in loops)
        counted = loop.kind == "while" or _counts(tree, loop)
        if not inner and not outer and counted and any(loop.line <= t <= loop.end_line for t in trains):
            yield Note(
                loop.line,
                "this is one flat loop over steps, with no smaller loop to skip. Replay starts it at the "
                "nearest kept step before the ones a probe needs; a probe that fires at every step"
                " executes all "
                "of them.",
            )


def _counts(tree: ast.AST, loop: LoopPlan) -> bool:
    for node in ast.walk(tree):
        if isinstance(node, ast.For) and (node.lineno, node.col_offset) == (loop.line, loop.col):
            return (
                isinstance(node.iter, ast.Call)
                and dotted(node.iter.func) in {"range", "trange", "tqdm", "count"}
            ) or dotted(getattr(node.iter, "func", node.iter)).endswith("count")
    return False


def _innermost(plan: Plan, line: int) -> LoopPlan | None:
    around = [loop for loop in plan.loops if loop.line <= line <= loop.end_line]
    return max(around, key=lambda loop: loop.line, default=None)
