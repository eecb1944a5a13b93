"""The names the recorded program uses, scope by scope: what added code must not bind.

A scope *uses* every name it reads or binds, and every name its nested functions, classes and comprehensions
take from around themselves: binding such a name newly would change what the recorded code means.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from .statements import FUNCTIONS

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
TYPE_PARAMETERS = frozenset({"TypeVar", "ParamSpec", "TypeVarTuple"})
"""By name, since the nodes exist from Python 3.12 on."""

SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, *COMPREHENSIONS)


@dataclass
class Names:
    """The names in one scope.

    ``taken`` are those nested scopes take from around themselves, ``to_globals`` and ``to_outer`` those
    declared ``global`` and ``nonlocal`` here, ``global_inside`` those declared ``global`` anywhere inside.
    """

    read: set[str] = field(default_factory=set)
    bound: set[str] = field(default_factory=set)
    taken: set[str] = field(default_factory=set)
    to_globals: set[str] = field(default_factory=set)
    to_outer: set[str] = field(default_factory=set)
    global_inside: set[str] = field(default_factory=set)

    @property
    def local(self) -> set[str]:
        """Names that live in this scope's own frame."""
        return self.bound - self.to_globals - self.to_outer

    @property
    def used(self) -> set[str]:
        """Names whose meaning here a new binding would change."""
        return self.read | self.bound | self.taken | self.to_globals | self.to_outer | self.global_inside

    def free(self, is_class: bool) -> set[str]:
        """Names taken from the scopes around; a class may read one there before it binds it itself."""
        return (
            (self.read | self.taken | self.to_outer) - (set() if is_class else self.local) - self.to_globals
        )


def names_in(nodes: Iterable[ast.AST]) -> Names:
    """Collect the names of the scope that ``nodes`` stand in, nested scopes summed up in ``taken``."""
    found = Names()
    for node in nodes:
        _visit(node, found)
    return found


def _visit(node: ast.AST, found: Names) -> None:
    if isinstance(node, ast.Name):
        (found.read if isinstance(node.ctx, ast.Load) else found.bound).add(node.id)
    elif isinstance(node, ast.Global):
        found.to_globals.update(node.names)
    elif isinstance(node, ast.Nonlocal):
        found.to_outer.update(node.names)
    elif isinstance(node, SCOPES):
        _visit_scope(node, found)
        return
    found.bound.update(bound_by(node))
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        found.read.add(node.target.id)
    for child in ast.iter_child_nodes(node):
        _visit(child, found)


def bound_by(node: ast.AST) -> list[str]:
    """Return the names a node itself binds other than through ``ast.Name``."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return [alias.asname or alias.name.split(".")[0] for alias in node.names]
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
        return [node.name] if node.name else []
    if isinstance(node, ast.MatchMapping):
        return [node.rest] if node.rest else []
    if type(node).__name__ in TYPE_PARAMETERS:
        return [str(vars(node)["name"])]
    return []


def _visit_scope(node: ast.AST, found: Names) -> None:
    found.bound.update(bound_by(node))
    for part in outside_parts(node):
        _visit(part, found)
    inner = names_of(node)
    found.taken |= inner.free(isinstance(node, ast.ClassDef))
    found.global_inside |= inner.to_globals | inner.global_inside
    if isinstance(node, COMPREHENSIONS):
        found.bound |= {walrus.target.id for walrus in ast.walk(node) if isinstance(walrus, ast.NamedExpr)}


def outside_parts(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a nested scope's node that are evaluated in the scope around it."""
    if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
        yield from node.decorator_list
    if isinstance(node, (*FUNCTIONS, ast.Lambda)):
        arguments = node.args
        yield from (
            default for default in (*arguments.defaults, *arguments.kw_defaults) if default is not None
        )
        yield from (
            argument.annotation for argument in all_arguments(arguments) if argument.annotation is not None
        )
    if isinstance(node, FUNCTIONS) and node.returns is not None:
        yield node.returns
    if isinstance(node, ast.ClassDef):
        yield from node.bases
        yield from (keyword.value for keyword in node.keywords)
    if isinstance(node, COMPREHENSIONS):
        yield node.generators[0].iter


def all_arguments(arguments: ast.arguments) -> list[ast.arg]:
    """Return every parameter of a function."""
    starred = [argument for argument in (arguments.vararg, arguments.kwarg) if argument is not None]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *starred]


def inside_parts(node: ast.AST) -> list[ast.AST]:
    """Return the parts of a scope's node that are evaluated in the scope itself."""
    if isinstance(node, ast.Module):
        return list(node.body)
    if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
        return [*getattr(node, "type_params", []), *node.body]
    if isinstance(node, ast.Lambda):
        return [node.body]
    assert isinstance(node, COMPREHENSIONS)
    rest = [
        part for generator in node.generators for part in (generator.target, generator.iter, *generator.ifs)
    ]
    rest.remove(node.generators[0].iter)
    results = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
    return [*rest, *results]


def names_of(node: ast.AST) -> Names:
    """Collect the names of a scope given by its node (module, function, class, lambda or comprehension)."""
    found = names_in(inside_parts(node))
    if isinstance(node, (*FUNCTIONS, ast.Lambda)):
        found.bound.update(argument.arg for argument in all_arguments(node.args))
    if isinstance(node, COMPREHENSIONS):
        found.bound -= {walrus.target.id for walrus in ast.walk(node) if isinstance(walrus, ast.NamedExpr)}
    return found
