"""The names that belong to the probes, and what they stand for.

A name is a probe's own where added code binds it and the recorded code of that scope never uses it. What an
own name holds decides what may be stored through it: a fresh object is the probe's, part of a recorded
one is not.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from .recorded import COMPREHENSIONS, SCOPES, Names, bound_by, names_in, names_of
from .statements import DEFINITIONS, access_path

Origin = Literal["value", "items", "import", "unknown"]

FRESH_CALLS = frozenset(
    {
        "list", "dict", "set", "tuple", "str", "int", "float", "bool", "len", "sum", "sorted", "bytearray",
        "deque", "defaultdict", "Counter", "OrderedDict", "deepcopy", "clone", "zeros", "ones", "empty",
        "full", "arange", "zeros_like", "ones_like", "empty_like", "full_like", "item", "tolist", "StringIO",
        "BytesIO",
    }
)  # fmt: skip
"""Functions and methods whose result shares nothing that can be written with what they were given."""

PASSING_CALLS = frozenset(
    {"enumerate", "zip", "reversed", "list", "tuple", "sorted", "iter", "islice", "chain"}
)
"""Functions whose result yields the very items of their arguments."""

PART_METHODS = frozenset(
    {
        "items", "values", "parameters", "named_parameters", "modules", "named_modules", "children",
        "named_children", "buffers", "named_buffers",
    }
)  # fmt: skip
"""Methods whose result yields parts of the object they are called on."""


@dataclass(frozen=True)
class Scope:
    """A scope of the recorded program, with the node that is its partner in the edited one."""

    node: ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    new_node: ast.AST
    parent: Scope | None

    @cached_property
    def names(self) -> Names:
        """The names the recorded program uses in this scope."""
        return names_of(self.node)

    @property
    def is_class(self) -> bool:
        """Tell whether this is a class body."""
        return isinstance(self.node, ast.ClassDef)

    @property
    def module(self) -> Scope:
        """The module scope around."""
        return self if self.parent is None else self.parent.module

    def around(self) -> list[Scope]:
        """Return the scopes a name is looked up in, innermost first: this one, those around but classes."""
        found = [self]
        scope = self.parent
        while scope is not None:
            if not scope.is_class:
                found.append(scope)
            scope = scope.parent
        return found


@dataclass(frozen=True)
class Source:
    """Where a binding takes its value from: the value itself, its items, an import, or somewhere unknown."""

    origin: Origin
    value: ast.expr | None = None


def sources_in(nodes: Iterable[ast.AST]) -> dict[str, list[Source]]:
    """Collect what each name is bound to by the code of one scope, nested scopes left out."""
    found: dict[str, list[Source]] = {}

    def note(target: ast.expr, source: Source) -> None:
        if isinstance(target, ast.Name):
            found.setdefault(target.id, []).append(source)
        elif isinstance(target, ast.Starred):
            note(
                target.value, Source("value", ast.List([], ast.Load()))
            )  # the list is fresh, its items are not
        elif isinstance(target, (ast.Tuple, ast.List)):
            values = source.value.elts if isinstance(source.value, (ast.Tuple, ast.List)) else []
            paired = source.origin == "value" and len(values) == len(target.elts)
            for index, part in enumerate(target.elts):
                note(part, Source("value", values[index]) if paired else Source("items", source.value))

    def look(node: ast.AST) -> None:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                note(target, Source("value", node.value))
        elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
            note(node.target, Source("value", node.value))
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            note(node.target, Source("items", node.iter))
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            note(node.optional_vars, Source("unknown"))
        for name in bound_by(node):
            fresh = isinstance(node, DEFINITIONS)
            imported = isinstance(node, (ast.Import, ast.ImportFrom))
            found.setdefault(name, []).append(
                Source("value" if fresh else "import" if imported else "unknown")
            )
        for child in ast.iter_child_nodes(node):
            if not isinstance(node, SCOPES) or isinstance(node, COMPREHENSIONS):
                look(child)

    for node in nodes:
        look(node)
    return found


def is_fresh_local(name: str, nodes: Iterable[ast.AST]) -> bool:
    """Tell whether all that a function's code binds a name to is made there (False for its parameters)."""
    sources = sources_in(nodes).get(name, [])
    return bool(sources) and all(
        source.origin == "value" and source.value is not None and is_fresh_value(source.value)
        for source in sources
    )


def is_fresh_value(value: ast.expr) -> bool:
    """Tell whether evaluating an expression makes a new object that shares nothing that can be written."""
    if isinstance(value, ast.Call):
        called = access_path(value.func)
        return bool(called) and called[-1] in FRESH_CALLS
    return isinstance(value, _FRESH_FORMS)


@dataclass(frozen=True)
class Holding:
    """What an own name stands for.

    ``fresh``: an object of the probe's; ``part``: part of the recorded ``root``; ``module``: an imported
    module or what it holds; ``unknown``: the result of a call, which may share memory with recorded objects.
    """

    kind: Literal["fresh", "part", "module", "unknown"]
    root: str = ""


FRESH = Holding("fresh")
UNKNOWN = Holding("unknown")


@dataclass
class Own:
    """The own names of every scope, from the statements added to it."""

    bound: dict[ast.AST, set[str]] = field(default_factory=dict)
    globals: dict[ast.AST, set[str]] = field(default_factory=dict)
    sources: dict[tuple[ast.AST, str], list[Source]] = field(default_factory=dict)

    def add(self, scope: Scope, nodes: Sequence[ast.AST]) -> None:
        """Take in the code added to one scope (all of it in one call)."""
        names = names_in(nodes)
        for home, bound in (
            (scope, names.bound - names.to_globals - names.to_outer),
            (scope.module, (names.bound & names.to_globals) | names.global_inside),
        ):
            self.bound.setdefault(home.node, set()).update(bound)
        self.globals.setdefault(scope.node, set()).update(names.to_globals)
        for name, sources in sources_in(nodes).items():
            home = scope.module if name in names.to_globals else scope
            self.sources.setdefault((home.node, name), []).extend(sources)

    def home(self, name: str, scope: Scope) -> Scope | None:
        """Return the scope whose own name this is, read in ``scope``; None where the program's."""
        for around in scope.around():
            if name in self.bound.get(around.node, ()) and name not in around.names.used:
                return around
            if name in around.names.local:
                return None
        return None

    def holding(self, name: str, scope: Scope, seen: frozenset[str] = frozenset()) -> Holding:
        """Return what an own name stands for, the worst of all its bindings."""
        home = self.home(name, scope)
        if home is None:
            return Holding("part", name)
        if name in seen:
            return FRESH
        sources = self.sources.get((home.node, name))
        if not sources:
            return UNKNOWN
        found = [self._of_source(source, home, seen | {name}) for source in sources]
        return max(found, key=lambda holding: _WORSE.index(holding.kind))

    def _of_source(self, source: Source, scope: Scope, seen: frozenset[str]) -> Holding:
        if source.origin == "import":
            return Holding("module")
        if source.origin == "unknown":
            return UNKNOWN
        if source.value is None:
            return FRESH
        if source.origin == "items":
            return self._of_items(source.value, scope, seen)
        return self._of_value(source.value, scope, seen)

    def _of_value(self, value: ast.expr, scope: Scope, seen: frozenset[str]) -> Holding:
        if is_fresh_value(value):
            return FRESH
        return self._of_chain(value, scope, seen)

    def _of_chain(self, value: ast.expr, scope: Scope, seen: frozenset[str]) -> Holding:
        while isinstance(value, (ast.Attribute, ast.Subscript)):
            value = value.value
        if isinstance(value, ast.Name):
            return self.holding(value.id, scope, seen)
        return UNKNOWN

    def _of_items(self, value: ast.expr, scope: Scope, seen: frozenset[str]) -> Holding:
        if not isinstance(value, ast.Call):
            return self._of_chain(value, scope, seen)
        if isinstance(value.func, ast.Name) and value.func.id in PASSING_CALLS and value.args:
            found = [self._of_items(argument, scope, seen) for argument in value.args]
            return max(found, key=lambda holding: _WORSE.index(holding.kind))
        if isinstance(value.func, ast.Name) and value.func.id == "range":
            return FRESH
        if isinstance(value.func, ast.Attribute) and value.func.attr in PART_METHODS:
            return self._of_chain(value.func.value, scope, seen)
        return UNKNOWN


_WORSE = ("fresh", "unknown", "module", "part")
_FRESH_FORMS = (
    ast.Constant, ast.JoinedStr, ast.List, ast.Dict, ast.Set, ast.Tuple, ast.BinOp, ast.UnaryOp, ast.Compare,
    ast.Lambda, *COMPREHENSIONS,
)  # fmt: skip
