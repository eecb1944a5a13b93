"""Which functions, classes and imports that somebody added keep something from one use to the next.

A replay of some iterations alone, or by several workers, would have such a thing begin anew: a counter in a
global or in an attribute of the function, a list that a function appends to, state in a module of one's own.
What stands in the text decides; where that does not tell, the answer is yes.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from .knowledge import last_name
from .look import HARMLESS_DECORATORS
from .names import arguments_of
from .probes import Probe
from .recorded import names_in
from .statements import DEFINITIONS, FUNCTIONS, access_path, first_line

IMPORTS = (ast.Import, ast.ImportFrom)
_KEEPING_DECORATORS = frozenset({"cache", "lru_cache"})
"""What they are put on prints the first time alone."""
_KEEPING_CALLS = frozenset({"setattr", "delattr", "globals", "vars", "exec", "eval"})
_ALL_ATTRIBUTES = frozenset({"__dict__", "__defaults__", "__kwdefaults__", "__closure__", "__globals__"})
_READING_CALLS = frozenset(
    "len sum min max sorted enumerate zip range print list tuple set dict str repr any all isinstance".split()
)
_READING_METHODS = frozenset(
    "items keys values get index count join format split startswith endswith".split()
)

_COMPARING = (ast.Compare, ast.BinOp, ast.UnaryOp, ast.FormattedValue, ast.Starred, ast.If)

Find = Callable[[str, int], "Added | None"]
"""By a module's name and the dots before it: what somebody added there; None for what nobody changed."""


def added_statements(tree: ast.Module, probes: Sequence[Probe]) -> list[ast.stmt]:
    """The statements of an edited module that are probes, outermost ones alone."""
    places = {(probe.line, probe.columns[0]) for probe in probes}
    found: list[ast.stmt] = []
    waiting: list[ast.AST] = [tree]
    for node in waiting:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt) and (first_line(child), child.col_offset) in places:
                found.append(child)
            elif not isinstance(child, ast.expr):
                waiting.append(child)
    return found


def nowhere(name: str, level: int) -> Added | None:
    """Find no module."""
    return None


@dataclass
class Added:
    """The added statements of a module: of one that is new, all of them."""

    statements: Sequence[ast.stmt]
    find: Find = nowhere
    _definitions: dict[str, list[ast.stmt]] = field(default_factory=dict)
    _bindings: dict[str, list[ast.stmt]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for node in self.statements:
            defines = isinstance(node, (*DEFINITIONS, *IMPORTS)) or _lambda_of(node) is not None
            kept = self._definitions if defines else self._bindings
            for name in names_in([node]).bound:
                kept.setdefault(name, []).append(node)

    def is_defined(self, name: str) -> bool:
        """Tell whether a name is only ever defined or imported."""
        return name in self._definitions and name not in self._bindings

    def is_function(self, name: str) -> bool:
        """Tell whether a name stands for a function; its attributes are kept."""
        nodes = self._definitions.get(name, [])
        return any(isinstance(node, FUNCTIONS) or _lambda_of(node) is not None for node in nodes)

    def keeps(self, name: str, seen: frozenset[str] = frozenset(), shared: bool = False) -> bool:
        """Tell whether what this name stands for may keep something; shared: others have it, too."""
        if name in seen:
            return False
        if name in self._bindings:
            return not self._is_settled(name, shared)
        nodes = self._definitions.get(name) or self._definitions.get("*", [])
        return any(self._node_keeps(node, name, seen | {name}) for node in nodes)

    def _node_keeps(self, node: ast.stmt, name: str, seen: frozenset[str]) -> bool:
        if isinstance(node, FUNCTIONS):
            return self._function_keeps(node, seen)
        if isinstance(node, ast.ClassDef):
            return self._class_keeps(node, seen)
        value = _lambda_of(node)
        if value is not None:
            names = names_in([value])
            plain = all(map(self._is_immutable, _defaults(value.args)))
            return not plain or any(self.keeps(one, seen) for one in names.read | names.taken)
        if isinstance(node, ast.Import):
            return any(self._module_keeps(one, name) for one in node.names)
        assert isinstance(node, ast.ImportFrom)
        return self._from_keeps(node, name)

    # -- imports ----------------------------------------------------------------------------------------

    def _module_keeps(self, alias: ast.alias, name: str) -> bool:
        if name not in (alias.asname, alias.name.partition(".")[0]):
            return False
        module = self.find(alias.name, 0)
        if module is None:
            return False
        used = set[str]()
        depth = 0 if alias.asname else alias.name.count(".")
        for _, around in self._uses(name):
            attributes = [parent.attr for parent in around[: depth + 1] if isinstance(parent, ast.Attribute)]
            if len(attributes) <= depth:
                return any(module.keeps(one, shared=True) for one in module.all_names)
            used.add(attributes[depth])
        return any(module.keeps(one, shared=True) for one in used)

    def _from_keeps(self, node: ast.ImportFrom, name: str) -> bool:
        module = self.find(node.module or "", node.level)
        for alias in node.names:
            if alias.name == "*":
                return module is not None and module.keeps(name, shared=True)
            if name != (alias.asname or alias.name):
                continue
            joint = "." if node.module else ""
            inner = self.find(f"{node.module or ''}{joint}{alias.name}", node.level)
            if inner is not None:
                return any(inner.keeps(one, shared=True) for one in inner.all_names)
            return module is not None and module.keeps(alias.name, shared=True)
        return False

    @property
    def all_names(self) -> frozenset[str]:
        """Every name that is bound."""
        return frozenset(self._definitions) | frozenset(self._bindings)

    # -- functions and classes --------------------------------------------------------------------------

    def _class_keeps(self, node: ast.ClassDef, seen: frozenset[str]) -> bool:
        if any(_keeps_decorated(decorator) for decorator in node.decorator_list):
            return True
        if node.keywords or any(last_name(base) == "type" for base in node.bases):
            return True  # of a metaclass
        if any(self.keeps(base.id, seen) for base in node.bases if isinstance(base, ast.Name)):
            return True
        for part in node.body:
            if isinstance(part, FUNCTIONS):
                of_class = any(last_name(one) == "classmethod" for one in part.decorator_list)
                if self._function_keeps(part, seen, of_class=of_class):
                    return True
            elif isinstance(part, (ast.Assign, ast.AnnAssign)):
                value = part.value
                plain = value is None or self._is_immutable(value) or _is_field(value)
                if not plain:
                    return True  # all instances share it
            elif not isinstance(part, (ast.Pass, ast.Expr)):
                return True
        return False

    def _function_keeps(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef, seen: frozenset[str], of_class: bool = False
    ) -> bool:
        if any(_keeps_decorated(decorator) for decorator in node.decorator_list):
            return True
        if not all(map(self._is_immutable, _defaults(node.args))):
            return True
        local, taken = _locals(node), names_in([node]).taken
        mine = local - {node.args.args[0].arg} if of_class and node.args.args else local
        for part in (inner for statement in node.body for inner in ast.walk(statement)):
            if isinstance(part, ast.Global):
                return True
            if isinstance(part, ast.Nonlocal) and not taken.isdisjoint(part.names):
                return True  # of a function around this one
            if isinstance(part, (ast.Attribute, ast.Subscript)) and not isinstance(part.ctx, ast.Load):
                path = access_path(part)
                if not path or path[0] not in mine or "__class__" in path:
                    return True
            elif isinstance(part, ast.Attribute):
                if self._is_kept(part, local):
                    return True
            elif isinstance(part, ast.Call) and last_name(part.func) in _KEEPING_CALLS:
                return True
            elif isinstance(part, IMPORTS):
                if any(self._node_keeps(part, name, seen) for name in names_in([part]).bound):
                    return True
            elif isinstance(part, ast.Name) and part.id not in local and self.keeps(part.id, seen):
                return True
        return False

    def _is_kept(self, node: ast.Attribute, local: set[str]) -> bool:
        """Tell whether an attribute is one of an added function, or leads to all there are."""
        of = node.value
        return node.attr in _ALL_ATTRIBUTES or (
            isinstance(of, ast.Name) and of.id not in local and self.is_function(of.id)
        )

    # -- variables --------------------------------------------------------------------------------------

    def _is_settled(self, name: str, shared: bool) -> bool:
        """Tell whether a variable is bound once, to what nobody changes."""
        bindings = self._bindings[name]
        only = bindings[0]
        if len(bindings) > 1 or name in self._definitions:
            return False
        if not isinstance(only, (ast.Assign, ast.AnnAssign)):
            return False
        targets = only.targets if isinstance(only, ast.Assign) else [only.target]
        if not all(isinstance(target, ast.Name) for target in targets) or only.value is None:
            return False
        if self._is_immutable(only.value):
            return True
        if shared:
            return False
        flat = isinstance(only.value, (ast.List, ast.Tuple, ast.Set, ast.Dict))
        parts = [part for part in ast.iter_child_nodes(only.value) if isinstance(part, ast.expr)]
        return flat and all(map(self._is_immutable, parts)) and all(map(_only_reads, self._uses(name)))

    def _is_immutable(self, value: ast.expr) -> bool:
        """Tell whether an expression makes nothing that could be changed, nor leads to what was added."""
        if isinstance(value, (ast.Constant, ast.JoinedStr)):
            return True
        if isinstance(value, ast.UnaryOp):
            return self._is_immutable(value.operand)
        if isinstance(value, ast.BinOp):
            return self._is_immutable(value.left) and self._is_immutable(value.right)
        if isinstance(value, ast.Tuple):
            return all(map(self._is_immutable, value.elts))
        if not isinstance(value, ast.Attribute):
            return False
        if isinstance(value.value, ast.Constant):
            return True  # "{:.3f}".format
        path = access_path(value)  # torch.float32, math.pi
        return bool(path) and path[0] not in self.all_names

    def _uses(self, name: str) -> Iterator[tuple[ast.Name, list[ast.AST]]]:
        """Every place that reads the name, with the nodes around it, the nearest first."""
        for statement in self.statements:
            yield from _reads(statement, name, [])


def _reads(node: ast.AST, name: str, around: list[ast.AST]) -> Iterator[tuple[ast.Name, list[ast.AST]]]:
    if isinstance(node, ast.Name):
        if node.id == name and isinstance(node.ctx, ast.Load):
            yield node, around
        return
    for child in ast.iter_child_nodes(node):
        yield from _reads(child, name, [node, *around])


def _only_reads(use: tuple[ast.Name, list[ast.AST]]) -> bool:
    node, around = use
    parent = around[0] if around else None
    if isinstance(parent, ast.BoolOp):  # comes to one of its operands
        outer = next(one for one in around if not isinstance(one, ast.BoolOp))
        return isinstance(outer, (ast.If, ast.While, ast.Assert))
    if isinstance(parent, (ast.For, ast.comprehension)):
        return parent.iter is node
    if isinstance(parent, ast.Subscript):
        return parent.value is not node or isinstance(parent.ctx, ast.Load)
    if isinstance(parent, ast.Call):
        return last_name(parent.func) in _READING_CALLS and isinstance(parent.func, ast.Name)
    if isinstance(parent, ast.Attribute):
        called = len(around) > 1 and isinstance(around[1], ast.Call) and around[1].func is parent
        return called and parent.attr in _READING_METHODS
    return isinstance(parent, _COMPARING)


def _locals(node: ast.AST) -> set[str]:
    """Names that the function and what is defined in it bind."""
    found: set[str] = set()
    for part in ast.walk(node):
        if isinstance(part, (*FUNCTIONS, ast.Lambda)):
            found.update(argument.arg for argument in arguments_of(part.args))
        if part is not node and isinstance(part, ast.stmt):
            found |= names_in([part]).bound
        elif isinstance(part, ast.comprehension):
            found |= names_in([part.target]).bound
    return found


def _keeps_decorated(decorator: ast.expr) -> bool:
    name = last_name(decorator.func if isinstance(decorator, ast.Call) else decorator)
    return name not in HARMLESS_DECORATORS or name in _KEEPING_DECORATORS


def _lambda_of(node: ast.stmt) -> ast.Lambda | None:
    """The function that an assignment gives a name."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Lambda):
        return None
    return node.value if all(isinstance(target, ast.Name) for target in node.targets) else None


def _defaults(args: ast.arguments) -> list[ast.expr]:
    return [*args.defaults, *(value for value in args.kw_defaults if value is not None)]


def _is_field(value: ast.expr) -> bool:
    """Tell whether this is a dataclass's field: what it makes, each instance has for itself."""
    return isinstance(value, ast.Call) and last_name(value.func) == "field"

