"""The scopes of a project: functions, classes, lambdas and modules, which names each binds, and what imports
mean.

Enters: mapping file -> source. Leaves: an `Index`. It knows nothing of effects; `summaries.py` builds on it.
"""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


@dataclass
class Scope:
    """One module, function, lambda or class body. `id` is `file::qualname`, as block ids spell it."""

    id: str
    file: str
    node: ast.Module | ast.ClassDef | FunctionNode
    parent: Scope | None
    bound: set[str] = field(default_factory=set)
    globals: set[str] = field(default_factory=set)
    nonlocals: set[str] = field(default_factory=set)

    @property
    def is_class(self) -> bool:
        return isinstance(self.node, ast.ClassDef)

    @property
    def is_function(self) -> bool:
        return isinstance(self.node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))

    @property
    def params(self) -> tuple[str, ...]:
        """Parameter names in order: positional ones, *args, keyword-only ones, **kwargs."""
        if not isinstance(self.node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            return ()
        a = self.node.args
        single = [x for x in (a.vararg,) if x]
        last = [x for x in (a.kwarg,) if x]
        return tuple(x.arg for x in [*a.posonlyargs, *a.args, *single, *a.kwonlyargs, *last])

    @cached_property
    def is_generator(self) -> bool:
        return self.is_function and any(
            isinstance(n, (ast.Yield, ast.YieldFrom)) for n in own_nodes(self.node)
        )


@dataclass(frozen=True)
class Index:
    """All scopes of a project, by id and by syntax node."""

    trees: Mapping[str, ast.Module]
    scopes: Mapping[str, Scope]
    by_node: Mapping[ast.AST, Scope]
    stored_attributes: frozenset[str]
    """Names of all attributes that some code of the project sets."""
    captured: set[str] = field(default_factory=set)
    """Variables of functions that a function or class inside uses too."""

    def module(self, file: str) -> Scope:
        return self.scopes[file + "::"]

    def classes_with(self, method: str) -> list[Scope]:
        """Return the functions named `method` in any class of the project."""
        return [
            s
            for s in self.scopes.values()
            if s.parent and s.parent.is_class and s.is_function and getattr(s.node, "name", "") == method
        ]

    def methods(self, cls: Scope, name: str) -> list[Scope]:
        found = (s for s in self.scopes.values() if s.parent is cls and s.is_function)
        return [s for s in found if getattr(s.node, "name", "") == name]

    def owner(self, scope: Scope, name: str) -> Scope | None:
        """Return the scope whose variable `name` is when used in `scope`; None for a builtin."""
        if name in scope.globals:
            return self.module(scope.file)
        here: Scope | None = scope
        first = True
        while here is not None:
            visible = first or not here.is_class
            if visible and name in here.bound and name not in here.nonlocals:
                return self.module(here.file) if name in here.globals else here
            here, first = here.parent, False
        return None

    def file_of(self, dotted: str, importer: str) -> str | None:
        """Return the project file a module name means when imported by file `importer`, None for a
        library."""
        level = len(dotted) - len(dotted.lstrip("."))
        parts = [p for p in dotted.lstrip(".").split(".") if p]
        folder = posixpath.dirname(importer)
        if level:
            for _ in range(level - 1):
                folder = posixpath.dirname(folder)
            return self._at(posixpath.join(folder, *parts))
        while True:
            found = self._at(posixpath.join(folder, *parts)) if parts else None
            if found or not folder or folder == posixpath.dirname(folder):
                return found
            folder = posixpath.dirname(folder)

    def _at(self, path: str) -> str | None:
        candidates = (path + ".py", posixpath.join(path, "__init__.py"))
        return next((c for c in candidates if c in self.trees), None)


def build_index(sources: Mapping[str, bytes], around: str | None = None) -> Index:
    """Parse every file that Python accepts (others are left out: they cannot run) and collect its scopes.

    With `around`, only what can run together with that file: the files that import it, and all that those
    import.
    """
    trees: dict[str, ast.Module] = {}
    for file, source in sources.items():
        try:
            trees[file] = ast.parse(source)
        except (SyntaxError, ValueError):
            continue
    if around in trees:
        near = _together(trees, around)
        trees = {file: tree for file, tree in trees.items() if file in near}
    scopes: dict[str, Scope] = {}
    by_node: dict[ast.AST, Scope] = {}
    for file, tree in trees.items():
        module = Scope(file + "::", file, tree, None)
        scopes[module.id] = module
        by_node[tree] = module
        _collect(module, scopes, by_node)
    stored = frozenset(
        n.attr
        for t in trees.values()
        for n in ast.walk(t)
        if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)
    )
    index = Index(trees, scopes, by_node, stored)
    index.captured.update(_captured(index))
    return index


def _together(trees: Mapping[str, ast.Module], file: str) -> set[str]:
    lookup = Index(trees, {}, {}, frozenset())
    imports = {f: set(_imported(lookup, f)) for f in trees}
    importers: dict[str, set[str]] = {f: {g for g in trees if f in imports[g]} for f in trees}
    return _reached(imports, _reached(importers, {file}))


def _imported(lookup: Index, file: str) -> Iterator[str]:
    for node in ast.walk(lookup.trees[file]):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [a.name for a in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            names = [base, *(base + ("" if base.endswith(".") else ".") + a.name for a in node.names)]
        for name in names:
            parts = name.split(".")
            for length in range(1, len(parts) + 1):  # importing a.b runs a as well
                found = lookup.file_of(".".join(parts[:length]), file) if any(parts[:length]) else None
                if found:
                    yield found


def _reached(edges: Mapping[str, set[str]], start: set[str]) -> set[str]:
    done, pending = set[str](), list(start)
    while pending:
        current = pending.pop()
        if current not in done:
            done.add(current)
            pending += edges[current]
    return done


def _captured(index: Index) -> Iterator[str]:
    for scope in index.scopes.values():
        for name in {n.id for n in own_nodes(scope.node) if isinstance(n, ast.Name)}:
            owner = index.owner(scope, name)
            if owner is not None and owner is not scope and owner.is_function:
                yield f"{owner.id}|{name}"


def _collect(scope: Scope, scopes: dict[str, Scope], by_node: dict[ast.AST, Scope]) -> None:
    scope.bound.update(scope.params)
    for node in own_nodes(scope.node):
        scope.bound.update(names_bound_by(node))
        if isinstance(node, ast.Global):
            scope.globals.update(node.names)
            _module_of(scope).bound.update(node.names)
        elif isinstance(node, ast.Nonlocal):
            scope.nonlocals.update(node.names)
        if isinstance(node, SCOPES):
            inner = Scope(_free_id(scope, node, scopes), scope.file, node, scope)
            scopes[inner.id] = inner
            by_node[node] = inner
            _collect(inner, scopes, by_node)


def _module_of(scope: Scope) -> Scope:
    while scope.parent is not None:
        scope = scope.parent
    return scope


def _free_id(parent: Scope, node: ast.AST, taken: Mapping[str, Scope]) -> str:
    """Return `file::outer.name`, with ~2, ~3, … for later ones of the same name."""
    name = getattr(node, "name", "<lambda>")
    base = parent.id + ("" if parent.id.endswith("::") else ".") + name
    number, candidate = 1, base
    while candidate in taken:
        number += 1
        candidate = f"{base}~{number}"
    return candidate


def own_nodes(root: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that run as part of `root`'s own body; nested functions and classes themselves, not
    their bodies.

    Decorators, defaults and bases of a nested definition do run here and are yielded.
    """
    if isinstance(root, ast.Lambda):
        pending: list[ast.AST] = [root.body]
    elif isinstance(root, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)):
        pending = list(root.body)
    else:
        pending = [root]
    while pending:
        node = pending.pop(0)
        yield node
        pending[:0] = outside_parts(node) if isinstance(node, SCOPES) else list(ast.iter_child_nodes(node))


def outside_parts(node: ast.AST) -> list[ast.AST]:
    """Return the parts of a nested definition that the scope around it evaluates."""
    if isinstance(node, ast.ClassDef):
        return [*node.decorator_list, *node.bases, *(k.value for k in node.keywords)]
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return [*node.decorator_list, *node.args.defaults, *(d for d in node.args.kw_defaults if d)]
    if isinstance(node, ast.Lambda):
        return [*node.args.defaults, *(d for d in node.args.kw_defaults if d)]
    return []


def names_bound_by(node: ast.AST) -> list[str]:
    """Return the names that this very node (not its children) binds or unbinds in its scope."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
        return [node.id]
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return [a.asname or a.name.split(".")[0] for a in node.names if a.name != "*"]
    if isinstance(node, ast.ExceptHandler) and node.name:
        return [node.name]
    if isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name:
        return [node.name]
    if isinstance(node, ast.MatchMapping) and node.rest:
        return [node.rest]
    return []
