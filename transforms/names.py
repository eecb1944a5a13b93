"""Which names a piece of a scope binds, deletes or declares.

Only the scope's own names count: nested functions and lambdas bind their own, class bodies theirs,
comprehensions keep their loop variables (but not their walrus targets) to themselves.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
ScopeNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_SCOPES = (*DEFINITIONS, ast.Lambda)


@dataclass(frozen=True)
class Binding:
    """One place where a name gets a value, or loses it (``del x``, the end of ``except … as x``)."""

    name: str
    deletes: bool


@dataclass(frozen=True)
class FunctionNames:
    """The names of one function's frame that its statements may assign."""

    params: tuple[str, ...]
    globals: frozenset[str]
    nonlocals: frozenset[str]
    """Declared nonlocal: they live in an outer frame, yet this function may assign them."""
    foreign: tuple[Binding, ...]
    """What nested functions and classes do to this function's names through ``nonlocal``."""


def own_nodes(root: ast.AST, enter: tuple[type[ast.AST], ...] = ()) -> list[ast.AST]:
    """Return ``root`` and what is below it in the same scope, in field order.

    Of a nested function, lambda or class only the parts evaluated outside are followed (decorators,
    defaults, bases), unless its type is in ``enter``. A scope given as ``root`` is entered.
    """
    found: list[ast.AST] = []
    waiting = [root]
    while waiting:
        node = waiting.pop()
        found.append(node)
        if isinstance(node, _SCOPES) and node is not root and not isinstance(node, enter):
            below = _evaluated_outside(node)
        else:
            below = children(node)
        below.reverse()
        waiting += below
    return found


def children(node: ast.AST) -> list[ast.AST]:
    """Return the child nodes in field order (as ast.iter_child_nodes, which is a third of the analysis)."""
    found: list[ast.AST] = []
    for field in node._fields:
        value = getattr(node, field, None)
        if isinstance(value, ast.AST):
            found.append(value)
        elif isinstance(value, list):
            found += [item for item in value if isinstance(item, ast.AST)]
    return found


def _evaluated_outside(node: ast.AST) -> list[ast.AST]:
    """Return the parts of a nested scope that belong to the scope around it."""
    if isinstance(node, ast.Lambda):
        return [*_defaults(node.args)]
    if isinstance(node, ast.ClassDef):
        return [*node.decorator_list, *node.bases, *node.keywords]
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        returns = [node.returns] if node.returns else []
        return [*node.decorator_list, *_defaults(node.args), *_annotations(node.args), *returns]
    return []


def _defaults(args: ast.arguments) -> list[ast.expr]:
    return [*args.defaults, *(default for default in args.kw_defaults if default is not None)]


def _annotations(args: ast.arguments) -> list[ast.expr]:
    return [arg.annotation for arg in arguments_of(args) if arg.annotation is not None]


def arguments_of(args: ast.arguments) -> list[ast.arg]:
    """Return every parameter, those that take the rest last."""
    rest = [arg for arg in (args.vararg, args.kwarg) if arg is not None]
    return [*args.posonlyargs, *args.args, *args.kwonlyargs, *rest]


def bindings(root: ast.AST) -> list[Binding]:
    """Return what ``root`` does to the names of the scope it stands in, in field order.

    Of a definition that is its own name; its body belongs to another scope.
    """
    return bindings_among(own_nodes(_held([root])))


def _held(nodes: Iterable[ast.AST]) -> ast.AST:
    """Wrap nodes so that a definition among them counts as nested."""
    return ast.List(elts=list(nodes), ctx=ast.Load())  # type: ignore[arg-type]


def bindings_among(nodes: Iterable[ast.AST]) -> list[Binding]:
    """Return what ``nodes`` do to the names of their scope; parents come before children."""
    found: list[Binding] = []
    hidden: set[ast.AST] = set()  # stores that stay inside a comprehension
    for node in nodes:
        if isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load) and node not in hidden:
                found.append(Binding(node.id, isinstance(node.ctx, ast.Del)))
        elif isinstance(node, ast.comprehension):
            hidden.update(ast.walk(node.target))
        elif isinstance(node, ast.AnnAssign):
            if node.value is None:
                hidden.add(node.target)  # a bare annotation declares, it does not bind
        else:
            found += _bound_by(node)
    return found


def _bound_by(node: ast.AST) -> Iterator[Binding]:
    """Yield what this one node, not a Name, binds by itself."""
    if isinstance(node, DEFINITIONS):
        yield Binding(node.name, False)
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        for alias in node.names:
            if alias.name != "*":
                yield Binding(alias.asname or alias.name.partition(".")[0], False)
    elif isinstance(node, ast.ExceptHandler) and node.name:
        yield Binding(node.name, False)
        yield Binding(node.name, True)
    elif isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name:
        yield Binding(node.name, False)
    elif isinstance(node, ast.MatchMapping) and node.rest:
        yield Binding(node.rest, False)


def function_names(function: FunctionNode) -> FunctionNames:
    """Describe the frame of ``function``."""
    frame = _frame(function)
    wanted = frame.own | frame.nonlocals
    writes = (binding for inner in frame.nested for binding in _nonlocal_writes(inner))
    return FunctionNames(
        params=tuple(arg.arg for arg in arguments_of(function.args)),
        globals=frame.globals,
        nonlocals=frame.nonlocals,
        foreign=tuple(dict.fromkeys(binding for binding in writes if binding.name in wanted)),
    )


def rebound_by(nodes: Iterable[ast.AST], names: FunctionNames) -> tuple[str, ...]:
    """Name what the ``nodes`` of a loop may rebind or delete of its function's frame, by first binding.

    What nested functions reach through ``nonlocal`` comes last: any call in the loop may run them.
    """
    found = [binding.name for binding in (*bindings_among(nodes), *names.foreign)]
    return tuple(name for name in dict.fromkeys(found) if name not in names.globals)


def deleted_by(node: ast.AST) -> frozenset[str]:
    """Name what ``node`` may leave unbound in its scope."""
    return frozenset(binding.name for binding in bindings(node) if binding.deletes)


def mangled(name: str, class_name: str | None) -> str:
    """Spell ``name`` as the compiler does inside ``class_name``."""
    owner = (class_name or "").lstrip("_")
    if not owner or not name.startswith("__") or name.endswith("__"):
        return name
    return f"_{owner}{name}"


@dataclass(frozen=True)
class _Frame:
    """What the own statements of a function or class say about names."""

    own: frozenset[str]
    globals: frozenset[str]
    nonlocals: frozenset[str]
    bindings: tuple[Binding, ...]
    nested: tuple[ScopeNode, ...]


def _frame(scope: ScopeNode) -> _Frame:
    nodes = own_nodes(_held(scope.body))
    outer = {name for node in nodes if isinstance(node, ast.Global) for name in node.names}
    enclosing = {name for node in nodes if isinstance(node, ast.Nonlocal) for name in node.names}
    bound = bindings_among(nodes)
    params = set[str]() if isinstance(scope, ast.ClassDef) else {arg.arg for arg in arguments_of(scope.args)}
    own = params | {binding.name for binding in bound}
    return _Frame(
        own=frozenset(own - outer - enclosing),
        globals=frozenset(outer),
        nonlocals=frozenset(enclosing),
        bindings=tuple(bound),
        nested=tuple(node for node in nodes if isinstance(node, DEFINITIONS)),
    )


def _nonlocal_writes(scope: ScopeNode) -> Iterator[Binding]:
    """Yield what ``scope`` and the scopes below it do to names of frames further out."""
    frame = _frame(scope)
    yield from (binding for binding in frame.bindings if binding.name in frame.nonlocals)
    # the names of a class body are not seen from the functions in it
    mine = frozenset[str]() if isinstance(scope, ast.ClassDef) else frame.own
    for inner in frame.nested:
        yield from (binding for binding in _nonlocal_writes(inner) if binding.name not in mine)
