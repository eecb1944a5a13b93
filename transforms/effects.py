"""What every loop may change and whom it calls: fills `changes` and `calls` of a plan's loops.

An estimate for people and for isolating probes: it may name too much, and must not name too little. State
that replay restores is found at run time (see `florc.runtime`), so no value depends on this page being exact.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from .index import Index, Scope, build_index, names_bound_by, own_nodes
from .plan import LoopPlan, Plan
from .store import Store, scope_of
from .summaries import summarize
from .values import ELEMENT, NOTHING, SLOT, Path, Value, unmarked
from .walker import Walker

Loop = ast.For | ast.AsyncFor | ast.While
LOOPS = (ast.For, ast.AsyncFor, ast.While)


@dataclass(frozen=True)
class Effects:
    """What one piece of code may change (names and access paths, in order of appearance) and whom it may
    call."""

    changes: tuple[str, ...]
    rebinds: tuple[str, ...]
    """The part of `changes` that are names bound anew."""
    calls: tuple[str, ...]


def loop_effects(sources: Mapping[str, bytes], file: str, plan: Plan) -> Plan:
    """Return `plan` (of `file`) with `changes` and `calls` of its loops filled in.

    `sources` maps project files to their text; a file Python cannot parse is left out and its functions are
    unknown.
    """
    if file not in sources or not plan.loops:
        return plan
    store = summarize(build_index(sources, file))
    if file not in store.index.trees:
        return plan
    found = {(node.lineno, node.col_offset): (node, scope) for node, scope in _loops(store.index, file)}
    return replace(
        plan, loops=tuple(_filled(store, loop, found.get((loop.line, loop.col))) for loop in plan.loops)
    )


def _filled(store: Store, loop: LoopPlan, place: tuple[Loop, Scope] | None) -> LoopPlan:
    if place is None:
        return loop
    effects = code_effects(store, place[1], [place[0]])
    return replace(loop, changes=effects.changes, calls=effects.calls)


def _loops(index: Index, file: str) -> Iterator[tuple[Loop, Scope]]:
    for scope in index.scopes.values():
        if scope.file == file:
            yield from ((n, scope) for n in own_nodes(scope.node) if isinstance(n, LOOPS))


def code_effects(store: Store, scope: Scope, nodes: Iterable[ast.AST]) -> Effects:
    """Return the effects of statements of one scope that matter outside of them."""
    inside = list(nodes)
    walker = Walker(store, scope)
    walker.walk(inside)
    own = {n for node in inside for part in _own(node) for n in names_bound_by(part)}
    own -= scope.globals | scope.nonlocals
    order = _appearance(inside)
    live = _Liveness(store.index, scope, inside)
    rebinds = {n for n in own if live.name(n)}
    rebinds |= {_shown(store.index, e, scope) for e in walker.effects if e[-1] == SLOT and len(e) == 2}
    paths = {_shown(store.index, e, scope) for e in walker.effects if live.path(e)}
    if store.overrun:
        paths |= _in_reach(store, walker, inside)
    changes = _outermost((paths | rebinds) - {""})

    def key(shown: str) -> tuple[int, str]:
        return order.get(shown.partition(".")[0], len(order)), shown

    calls = sorted(c for c in walker.calls if not c.endswith("<lambda>"))
    return Effects(tuple(sorted(changes, key=key)), tuple(sorted(rebinds - {""}, key=key)), tuple(calls))


def _in_reach(store: Store, walker: Walker, nodes: Iterable[ast.AST]) -> set[str]:
    """Return every name the code mentions that may mean something changeable: the estimate where analysis
    gave up."""
    names = {n.id for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name)}
    names |= store.index.module(walker.scope.file).bound  # a function called here may change any global
    variables = {n: walker.variable(n) for n in names}
    return {n for n, v in variables.items() if v and not _is_fixed(store.values.get(v, NOTHING))}


def _is_fixed(value: Value) -> bool:
    fixed = ("func:", "lib:", "mod:", "scalar", "range", "args")
    return bool(value.kinds) and all(k.startswith(fixed) for k in value.kinds)


def _own(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for child in ast.iter_child_nodes(node):
        yield from (
            own_nodes(child) if not isinstance(child, (ast.FunctionDef, ast.ClassDef)) else iter([child])
        )


def _appearance(nodes: Iterable[ast.AST]) -> dict[str, int]:
    names = [n for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name)]
    order: dict[str, int] = {}
    for name in sorted(names, key=lambda n: (n.lineno, n.col_offset)):
        order.setdefault(name.id, len(order))
    return order


def _outermost(shown: set[str]) -> set[str]:
    """Drop `model.layer` where `model` is named."""
    return {s for s in shown if not any("." in s and s.startswith(other + ".") for other in shown)}


def _shown(index: Index, effect: Path, scope: Scope) -> str:
    """Spell a path as the loop's scope would write it; "" for what it cannot name."""
    path = unmarked(effect)
    home = index.scopes[scope_of(path[0])]
    name = path[0].rpartition("|")[2]
    rest: list[str] = []
    for segment in path[1:]:
        if segment == ELEMENT:
            break
        rest.append(segment)
    if home.is_class:
        name = f"{getattr(home.node, 'name', '')}.{name}"
    elif home.parent is None and home.file != scope.file:
        name = f"{_module_name(home.file)}.{name}"
    elif index.owner(scope, name) is not home and not (home.parent is None and _is_around(home, scope)):
        return ""
    return ".".join([name, *rest])


def _module_name(file: str) -> str:
    parts = file.removesuffix(".py").split("/")
    return parts[-2] if parts[-1] == "__init__" and len(parts) > 1 else parts[-1]


def _is_around(home: Scope, scope: Scope) -> bool:
    here: Scope | None = scope
    while here is not None:
        if here is home:
            return True
        here = here.parent
    return False


class _Liveness:
    """Which names matter outside a piece of code: bound before it, or read anywhere else."""

    def __init__(self, index: Index, scope: Scope, inside: list[ast.AST]) -> None:
        self.scope = scope
        within = {id(n) for node in inside for n in ast.walk(node)}
        start = min((getattr(n, "lineno", 0) for n in inside), default=0)
        self.outside: set[str] = set(scope.params) | scope.globals | scope.nonlocals
        for node in own_nodes(scope.node):
            if id(node) not in within:
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                    self.outside.add(node.id)
                elif getattr(node, "lineno", start) < start:
                    self.outside.update(names_bound_by(node))
        for other in index.scopes.values():
            if other.file == scope.file and other is not scope and id(other.node) not in within:
                self.outside.update(
                    n.id
                    for n in own_nodes(other.node)
                    if isinstance(n, ast.Name) and index.owner(other, n.id) is scope
                )

    def name(self, name: str) -> bool:
        return name in self.outside

    def path(self, effect: Path) -> bool:
        """Variables of other scopes always matter here."""
        return scope_of(effect[0]) != self.scope.id or effect[0].rpartition("|")[2] in self.outside
