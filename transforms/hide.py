"""What the program asks about its names, less the names that guards and marks add.

    locals(), vars() in a function        _florc.snapshot(locals(), "_florc")
    dir()                                 _florc.listed(dir(), "_florc")
    sorted(globals()), vars().items()     sorted(_florc.listed(globals(), "_florc"))

Where a namespace itself is handed on (`exec(text, globals())`, `globals()[name] = value`) it stays itself:
what is done to it must be done. Added to the syntax tree, never to the text.
"""

from __future__ import annotations

import ast

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_SNAPSHOTS = frozenset({"locals", "vars"})  # in a function: a copy of its names
_NAMESPACES = frozenset({"locals", "vars", "globals"})
_READERS = frozenset(
    {
        "all", "any", "dict", "enumerate", "filter", "format", "frozenset", "len", "list", "map", "max",
        "min", "pprint", "print", "repr", "reversed", "set", "sorted", "str", "sum", "tuple",
    }
)  # fmt: skip
"""Functions that take what a namespace holds now, and not the namespace."""
_VIEWS = frozenset({"items", "keys", "values", "copy"})


def hide(tree: ast.Module, alias: str) -> bool:
    """Wrap the calls in ``tree`` that tell the names of a scope; True if there are any."""
    walk = _Hide(alias)
    walk.visit(tree)
    return walk.found


class _Hide(ast.NodeTransformer):
    """Walks a module; ``_chain`` is the way down to the node."""

    def __init__(self, alias: str) -> None:
        self.found = False
        self._alias = alias
        self._chain: list[ast.AST] = []
        self._scopes: list[ast.AST] = []

    def visit(self, node: ast.AST) -> ast.AST:
        opens = isinstance(node, (*_FUNCTIONS, ast.ClassDef))
        self._chain.append(node)
        if opens:
            self._scopes.append(node)
        try:
            self.generic_visit(node)
        finally:
            self._chain.pop()
            if opens:
                self._scopes.pop()
        return self._wrapped(node) if isinstance(node, ast.Call) else node

    def _wrapped(self, node: ast.Call) -> ast.expr:
        if not isinstance(node.func, ast.Name) or node.args or node.keywords:
            return node
        name = node.func.id
        if name == "dir":
            return self._through("listed", node)
        if isinstance(self._chain[-1], ast.Compare):
            return node  # whether a name is there can be asked as it is
        in_function = bool(self._scopes) and isinstance(self._scopes[-1], _FUNCTIONS)
        if name in _SNAPSHOTS and in_function:
            return self._through("snapshot", node)
        return self._through("listed", node) if name in _NAMESPACES and self._is_read() else node

    def _through(self, function: str, node: ast.Call) -> ast.expr:
        self.found = True
        called = ast.Attribute(ast.Name(self._alias, ast.Load()), function, ast.Load())
        whole = ast.Call(called, [node, ast.Constant(self._alias)], [])
        for new in (whole, called, called.value, whole.args[1]):
            ast.copy_location(new, node)
        return whole

    def _is_read(self) -> bool:
        """True if what is around the call takes the names and values that are there now."""
        above = self._chain[-1] if self._chain else None
        if isinstance(above, ast.Attribute) and above.attr in _VIEWS and len(self._chain) > 2:
            return _reads(self._chain[-3])  # of the call of that method, which is in between
        return above is not None and _reads(above)


def _reads(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in _READERS
    return isinstance(node, (ast.For, ast.comprehension, ast.FormattedValue, ast.Starred))
