"""The walk over one piece of added code that notes what speaks against its being a probe, or a pure one.

Forbidden is what changes the course or the state of the recorded program for good: leaving a loop or a
function, raising, awaiting, and storing to what the recorded program uses. What changes state only through
calls (a random draw, ``model.eval()``) is permitted and told apart as not pure: the replay puts it back.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from .imports import import_why
from .knowledge import Facts, is_pure_call, looks_like_iterator, takes_in_keys
from .knowledge_tables import ITERATING_BUILTINS
from .lasting import SENDING, lasting_why
from .members import member_why
from .names import arguments_of
from .own import FRESH, Own, Scope, is_fresh_local, sources_in
from .recorded import COMPREHENSIONS, Names, bound_by, inside_parts, names_of, outside_parts
from .statements import FUNCTIONS, access_path

HARMLESS_DECORATORS = frozenset(
    {
        "staticmethod", "classmethod", "property", "contextmanager", "cache", "lru_cache", "wraps", "no_grad",
        "inference_mode", "dataclass", "overload", "total_ordering", "cached_property", "setter",
    }
)  # fmt: skip
"""Decorators that keep no register of what they decorate."""

STEERING = {
    ast.Return: "`return` leaves a function of the recorded program",
    ast.Raise: "`raise` changes the course of the recorded program",
    ast.Yield: "`yield` changes the course of the recorded program",
    ast.YieldFrom: "`yield from` changes the course of the recorded program",
    ast.Await: "`await` changes the course of the recorded program",
    ast.AsyncFor: "`async for` awaits in the middle of the recorded program",
    ast.AsyncWith: "`async with` awaits in the middle of the recorded program",
}
"""What added code may do only inside a function of its own."""


@dataclass(frozen=True)
class Surroundings:
    """What a walk needs to know besides the code it walks."""

    own: Own
    facts: Facts
    isolating: bool
    """An assignment to a variable of the recorded scope is noted, not forbidden."""
    helper: Callable[[str], Helper | None]
    """Looks up a function of the edited module that is pure."""


@dataclass(frozen=True)
class Helper:
    """A pure function of the edited module; ``iterates``: it may go through its arguments."""

    iterates: bool


@dataclass
class _Frame:
    """A scope that the added statement opens itself."""

    node: ast.AST
    names: Names = field(init=False)

    def __post_init__(self) -> None:
        self.names = names_of(self.node)


class Look(ast.NodeVisitor):
    """Walks added code: ``whys`` says why it is no probe, ``impure`` that calling it may change state.

    ``recorded`` collects recorded names it binds where the surroundings permit that.
    """

    def __init__(
        self,
        scope: Scope,
        around: Surroundings,
        statement: ast.stmt,
        harmless: Collection[ast.AST] = (),
    ) -> None:
        self.scope, self.around, self.statement = scope, around, statement
        self.harmless = harmless  # calls that the caller knows to change nothing
        self.whys: list[str] = []
        self.recorded: set[str] = set()
        self.impure = False
        self.frames: list[_Frame] = []
        self.loops = 0
        self.functions = 0

    # --- the course of the program

    def visit(self, node: ast.AST) -> None:
        """Look at one node: what steers, what binds, then what the node's own method knows."""
        steering = STEERING.get(type(node))
        if steering and not self.functions:
            self.whys.append(steering)
        for name in bound_by(node):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                break
            self._bind(name)
        super().visit(node)

    def visit_Break(self, node: ast.Break) -> None:
        if not self.loops:
            self.whys.append("`break` leaves a loop of the recorded program")

    def visit_Continue(self, node: ast.Continue) -> None:
        if not self.loops:
            self.whys.append("`continue` cuts an iteration of the recorded program short")

    def visit_For(self, node: ast.For | ast.AsyncFor) -> None:
        self._iterates(node.iter)
        self.visit(node.target)
        self.visit(node.iter)
        self._loop(node.body, node.orelse)

    visit_AsyncFor = visit_For

    def visit_While(self, node: ast.While) -> None:
        self.visit(node.test)
        self._loop(node.body, node.orelse)

    def _loop(self, body: list[ast.stmt], orelse: list[ast.stmt]) -> None:
        self.loops += 1
        for statement in body:
            self.visit(statement)
        self.loops -= 1
        for statement in orelse:
            self.visit(statement)

    # --- scopes of its own

    @contextmanager
    def _inside(self, node: ast.AST, *, function: bool) -> Iterator[None]:
        loops, self.loops = self.loops, 0
        self.functions += function
        self.frames.append(_Frame(node))
        yield
        self.frames.pop()
        self.functions -= function
        self.loops = loops

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._decorators(node.decorator_list)
        for part in outside_parts(node):
            self.visit(part)
        impure = self.impure  # what a body does, it does when called: the call is what is not pure
        self.enter(node)
        self.impure = impure

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._decorators(node.decorator_list)
        for part in outside_parts(node):
            self.visit(part)
        with self._inside(node, function=False):
            for part in inside_parts(node):
                self.visit(part)

    def enter(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Walk a function's body as if it were called."""
        with self._inside(node, function=True):
            for part in inside_parts(node):
                self.visit(part)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        for part in outside_parts(node):
            self.visit(part)
        with self._inside(node, function=True):
            self.visit(node.body)

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> None:
        self.visit(node.generators[0].iter)
        with self._inside(node, function=False):
            for generator in node.generators:
                self._iterates(generator.iter)
                if generator.is_async and not self.functions:
                    self.whys.append("`async for` awaits in the middle of the recorded program")
            for part in inside_parts(node):
                self.visit(part)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def _decorators(self, decorators: list[ast.expr]) -> None:
        for decorator in decorators:
            path = access_path(decorator)
            if not path or path[-1] not in HARMLESS_DECORATORS:
                self.impure = True

    # --- binding names

    def visit_Name(self, node: ast.Name) -> None:
        if not isinstance(node.ctx, ast.Load):
            self._bind(node.id)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        frames = self.frames
        while self.frames and isinstance(self.frames[-1].node, COMPREHENSIONS):
            self.frames = self.frames[:-1]  # a walrus binds in the scope around a comprehension
        self._bind(node.target.id)
        self.frames = frames

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        if self.frames:
            for name in bound_by(node):
                self._bind(name)
        elif why := import_why(node, self.scope, direct=node is self.statement):
            self.whys.append(why)

    visit_ImportFrom = visit_Import

    def visit_Global(self, node: ast.Global | ast.Nonlocal) -> None:
        taken = [name for name in node.names if name in self.scope.names.used]
        if taken and not self.frames:
            self.whys.append(f"declares `{taken[0]}`, which the recorded program uses")

    visit_Nonlocal = visit_Global

    def _bind(self, name: str) -> None:
        if not self.frames:
            is_global = name in self.around.own.globals.get(self.scope.node, ())
            self._bind_in(name, self.scope.module if is_global else self.scope)
            return
        names = self.frames[-1].names
        if name in names.to_globals:
            self._bind_in(name, self.scope.module)
        elif name in names.to_outer and not any(name in frame.names.local for frame in self.frames[:-1]):
            self._bind_in(name, self.scope)

    def _bind_in(self, name: str, home: Scope) -> None:
        if name not in home.names.used:
            if home.is_class and (why := member_why(name, self.statement, home)):
                self.whys.append(why)
            return
        if self.around.isolating and home is self.scope and not home.is_class and name in home.names.local:
            self.recorded.add(name)
            self.impure = True
        else:
            self.whys.append(f"assigns `{name}`, which the recorded program uses")

    # --- storing into objects

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if not isinstance(node.ctx, ast.Load):
            self._store(node, node.value)
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if not isinstance(node.ctx, ast.Load):
            self._store(node, node.value)
        elif looks_like_iterator(node.value) and not isinstance(node.slice, ast.Constant):
            self.impure = True  # a dataset's __getitem__ may draw random numbers
        elif takes_in_keys(node, self.around.facts) and not self._is_fresh(node.value):
            self.impure = True
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name) and not self._is_fresh(node.target):
            self.impure = True  # in place, where the name stands for a tensor
        self.generic_visit(node)

    def _store(self, whole: ast.AST, target: ast.expr) -> None:
        path = access_path(target)
        if not path:
            self.impure = True
            return
        if self._is_framed(path[0]):
            self.impure |= not self._is_fresh(target)
            if self._is_instance(path[0]):
                self.whys.append(f"changes `{ast.unparse(whole)}`, which belongs to the recorded program")
            return
        holding = self.around.own.holding(path[0], self.scope)
        if holding.kind == "part":
            belongs = "" if holding.root == path[0] else f", part of the recorded `{holding.root}`"
            self.whys.append(
                f"changes `{ast.unparse(whole)}`{belongs or ', which belongs to the recorded program'}"
            )
        elif holding.kind == "module":
            self.whys.append(
                f"changes `{ast.unparse(whole)}`, which an imported module shares with everybody"
            )
        elif holding is not FRESH or len(path) > 1:
            self.impure = True

    def _is_instance(self, name: str) -> bool:
        """Tell whether this is the first parameter of a method that is added to a recorded class."""
        method = self.frames[0].node
        if not self.scope.is_class or not isinstance(method, FUNCTIONS):
            return False
        static = any(access_path(decorator) == ("staticmethod",) for decorator in method.decorator_list)
        parameters = arguments_of(method.args)
        return bool(parameters) and parameters[0].arg == name and not static

    def _is_framed(self, name: str) -> bool:
        return any(name in frame.names.local for frame in self.frames)

    def _is_fresh(self, node: ast.expr) -> bool:
        """Tell whether a name stands for an object that the added code has made itself."""
        if not isinstance(node, ast.Name):
            return False
        for frame in reversed(self.frames):
            if node.id in frame.names.local:
                return is_fresh_local(node.id, inside_parts(frame.node))
        return self.around.own.holding(node.id, self.scope) is FRESH

    # --- calls and iteration

    def visit_Call(self, node: ast.Call) -> None:
        if why := lasting_why(node) or self._sending_why(node):
            self.whys.append(why)
        if isinstance(node.func, ast.Name) and node.func.id in ("setattr", "delattr") and node.args:
            self._store(node, node.args[0])
        method_of_own = isinstance(node.func, ast.Attribute) and self._is_fresh(node.func.value)
        helper = self._helper(node.func)
        if not (method_of_own or helper or node in self.harmless or is_pure_call(node, self.around.facts)):
            self.impure = True
        if (helper and helper.iterates) or _iterates_arguments(node):
            for argument in node.args:
                self._iterates(argument)
        self.generic_visit(node)

    def _sending_why(self, node: ast.Call) -> str:
        """Why a call cannot be undone that sends something through what the recorded program has."""
        path = access_path(node.func)
        if len(path) < 2 or path[-1] not in SENDING or self._is_framed(path[0]):
            return ""
        if self.around.own.home(path[0], self.scope) is not None:
            return ""  # the probes' own connection
        return f"`{'.'.join(path)}` sends what cannot be taken back"

    def _helper(self, func: ast.expr) -> Helper | None:
        if not isinstance(func, ast.Name) or self._is_framed(func.id):
            return None
        return self.around.helper(func.id)

    def visit_Starred(self, node: ast.Starred) -> None:
        if isinstance(node.ctx, ast.Load):
            self._iterates(node.value)
        self.generic_visit(node)

    def _iterates(self, iterable: ast.expr) -> None:
        """Note an iteration that may use up, or draw from, what the recorded program iterates itself."""
        if looks_like_iterator(iterable):
            self.impure = True
        elif isinstance(iterable, ast.Name) and not self._is_framed(iterable.id):
            home = self.around.own.home(iterable.id, self.scope)
            if home is None and not _is_container(iterable.id, self.scope):
                self.impure = True


def _iterates_arguments(node: ast.Call) -> bool:
    if not isinstance(node.func, ast.Name) or node.func.id not in ITERATING_BUILTINS:
        return False
    return len(node.args) == 1 or node.func.id not in ("max", "min")


def _is_container(name: str, scope: Scope) -> bool:
    """Tell whether all a recorded name is ever bound to is displays and constructors of containers."""
    home = next((around for around in scope.around() if name in around.names.local), None)
    if home is None:
        return False
    sources = sources_in(inside_parts(home.node)).get(name, [])
    return bool(sources) and all(
        source.origin == "value" and source.value is not None and _makes_container(source.value)
        for source in sources
    )


def _makes_container(value: ast.expr) -> bool:
    if isinstance(value, (ast.List, ast.Tuple, ast.Dict, ast.Set, ast.ListComp, ast.SetComp, ast.DictComp)):
        return True
    if isinstance(value, ast.Constant):
        return True
    called = access_path(value.func) if isinstance(value, ast.Call) else ()
    return bool(called) and called[-1] in {
        "list",
        "dict",
        "set",
        "tuple",
        "sorted",
        "deque",
        "defaultdict",
        "range",
    }
