"""What a call does, in the effect analysis: to a project function, a library one, a method known by name, or
unknown.

The rule where nothing is known: the callee changes its receiver and every argument it is given, and what it
returns may refer to any of them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from . import knowledge, values
from . import knowledge_tables as tables
from .index import Scope
from .store import Store, Summary, scope_of
from .values import FRESH, NOTHING, SCALAR, Path, Value, derived, fresh, join, redirected, substituted

# Methods that change their receiver alone, whatever they are given.
RECEIVER_ONLY = (
    tables.STORING_METHODS
    | {
        "pop",
        "popleft",
        "popitem",
        "remove",
        "discard",
        "clear",
        "sort",
        "reverse",
        "rotate",
        "zero_grad",
        "train",
        "eval",
        "set_epoch",
        "load_state_dict",
        "close",
        "manual_seed",
        "seed",
        "share_memory",
        "retain_grad",
        "read",
        "readline",
        "readlines",
        "set_state",
        "__init__",
        "register_buffer",
        "register_forward_hook",
        "register_hook",
        "get_state",
    }
) - {"update", "add"}
# Methods of containers: they move items, and leave the items as they are.
MOVES_ITEMS = (
    tables.STORING_METHODS
    | {"pop", "popleft", "popitem", "remove", "discard", "clear", "sort", "reverse", "rotate"}
) - {"add_module", "register_buffer", "register_parameter", "add_param_group"}
# Tensors made by these come from no graph: `backward()` reaches nothing through them.
CONSTANT_MAKERS = frozenset(
    "tensor zeros ones full empty rand randn randint randperm arange linspace eye zeros_like ones_like "
    "full_like rand_like randn_like randint_like empty_like bernoulli multinomial normal from_numpy"
    " as_tensor "
    "one_hot".split()
)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
SHARES_MEMORY = frozenset(
    "from_numpy as_tensor asarray atleast_1d atleast_2d view_as_real view_as_complex".split()
)


@dataclass(frozen=True)
class Arguments:
    """The evaluated arguments of one call."""

    positional: tuple[Value, ...]
    named: tuple[tuple[str, Value], ...]
    spread: Value
    """Join of what `*args` and `**kwargs` hand over."""

    @property
    def all(self) -> tuple[Value, ...]:
        return (*self.positional, *(v for _, v in self.named), self.spread)


class Calls:
    """The call half of a `Walker`: needs `value()` of expressions, gives effects and results."""

    def __init__(self, store: Store, scope: Scope) -> None:
        self.store = store
        self.scope = scope
        self.facts = store.facts[scope.file]
        self.effects: set[Path] = set()
        self._recorded: set[Path] = set()
        self.calls: set[str] = set()

    def value(self, node: ast.expr) -> Value:
        raise NotImplementedError

    def attribute(self, base: Value, name: str) -> Value:
        raise NotImplementedError

    def element(self, value: Value) -> Value:
        raise NotImplementedError

    # --- effects ---

    def record(self, effect: Path) -> None:
        """Note that the block changes what `effect` means, and everything that is changed with it."""
        if effect not in self._recorded:
            self._recorded.add(effect)
            self.effects.update(self.store.expand(effect, self.scope))

    def change(self, value: Value) -> None:
        """Note that the block changes the object `value` in place."""
        if value.among(*values.IMMUTABLE):
            return
        for path in value.paths:
            mark = values.mark_of(path)
            if mark == values.STEPPED:
                self.record((*values.unmarked(path), values.ELEMENT, values.SLOT))
            elif path and mark != values.DERIVED:
                self.record(values.unmarked(path))

    def change_slot(self, value: Value, name: str) -> None:
        """Note that the block binds attribute (or element) `name` of the object anew."""
        for path in value.paths:
            if path and not values.mark_of(path):
                self.record((*values.step(path, name), values.SLOT))

    def change_gradients(self, value: Value) -> None:
        """Note a `backward()`: everything the value was computed from gets its gradients changed."""
        for path in derived(value):
            self.record(path)

    # --- arguments ---

    def arguments(self, node: ast.Call) -> Arguments:
        spread = [self.element(self.value(a.value)) for a in node.args if isinstance(a, ast.Starred)]
        spread += [self.element(self.value(k.value)) for k in node.keywords if k.arg is None]
        return Arguments(
            tuple(self.value(a) for a in node.args if not isinstance(a, ast.Starred)),
            tuple((k.arg, self.value(k.value)) for k in node.keywords if k.arg is not None),
            join(spread),
        )

    def waits(self, args: Arguments) -> bool:
        """Tell whether an argument is still to be learnt about: what a library does with it is better not
        guessed."""
        return self.store.learning and not all(
            v.kinds for v in (*args.positional, *(v for _, v in args.named))
        )

    # --- dispatch ---

    def call(self, node: ast.Call) -> Value:
        args = self.arguments(node)
        for name, given in args.named:
            if name == "generator" or (name == "out" and not given.among("scalar")):
                self.change(given)
        if isinstance(node.func, ast.Attribute):
            receiver = self.value(node.func.value)
            return join(
                self.call_method(node, node.func.attr, receiver, k, args) for k in sorted(receiver.kinds)
            )
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args:
            return self._super()
        return self.dispatch(node, self.value(node.func), args)

    def _super(self) -> Value:
        """Return `super()`: the method's own first parameter, looked up above the class it stands in."""
        here: Scope | None = self.scope
        while here is not None and not (here.parent and here.parent.is_class):
            here = here.parent
        if here is None or here.parent is None or not here.params:
            return values.UNKNOWN
        return Value(frozenset({(f"{here.id}|{here.params[0]}",)}), frozenset({"super:" + here.parent.id}))

    def dispatch(self, node: ast.Call, callee: Value, args: Arguments) -> Value:
        """Call a value: every kind of thing it may be, joined."""
        results = [
            self._call_kind(node, Value(callee.paths, frozenset({k})), k, args) for k in sorted(callee.kinds)
        ]
        return join(results)

    def _call_kind(self, node: ast.Call, callee: Value, kind: str, args: Arguments) -> Value:
        label, _, target = kind.partition(":")
        if label == "func":
            return self.call_project(target, args, None)
        if label == "bound":
            return self.call_project(target, args, callee)
        if label == "type":
            return self.construct(target, node, callee, args)
        if label == "lib":
            return self.call_library(target, node, args)
        if label == "class":
            own = self.store.methods(target, "__call__") or self.store.methods(target, "forward")
            if own:
                return join(self.call_project(m.id, args, callee) for m in own)
        if kind == "loss":
            return Value(frozenset({FRESH}).union(*(derived(a) for a in args.all)), frozenset({"tensor"}))
        if kind == "scalar":
            return SCALAR
        return self.call_object(callee, kind, args)

    def call_object(self, callee: Value, kind: str, args: Arguments) -> Value:
        """Call an arbitrary object, `model(x)`: it changes; so do its arguments unless it is a library's
        module."""
        self.change(callee)
        handlers = self.store.index.classes_with("forward") + self.store.index.classes_with("__call__")
        tensors = Arguments((fresh("tensor"),) * len(args.positional), (), NOTHING)
        for method in handlers:  # whatever is called may hold a module of the project: its globals change too
            this = Value(frozenset({FRESH}), frozenset({"class:" + _class_of(method)}))
            self.call_project(method.id, tensors, this)
        if kind == "nn":
            graph = frozenset({FRESH}).union(derived(callee), *(derived(a) for a in args.all))
            return Value(graph, frozenset({"tensor"}))
        return self.unknown(callee, args)

    def unknown(self, receiver: Value, args: Arguments) -> Value:
        """Apply the rule for callees nothing is known about."""
        for given in (receiver, *args.all):
            self.change(given)
        self.hand_over(receiver, args)
        paths = frozenset({FRESH}).union(receiver.paths, *(a.paths for a in args.all))
        return Value(values.limited(paths), frozenset({"?"}))

    def hand_over(self, receiver: Value, args: Arguments) -> Value:
        """Assume that functions among the arguments are called, with anything the callee has at hand."""
        whole = join((receiver, *args.all))
        anything = Value(whole.paths | {FRESH}, frozenset({"?"}))
        results = []
        for kind in sorted(k for a in args.all for k in a.kinds):
            label, _, target = kind.partition(":")
            if label in {"func", "bound"}:
                scope = self.store.index.scopes[target]
                given = Arguments((anything,) * len(scope.params), (), NOTHING)
                results.append(self.call_project(target, given, whole if label == "bound" else None))
        return join(results)

    # --- project functions ---

    def call_project(self, target: str, args: Arguments, receiver: Value | None) -> Value:
        """Apply a function's summary, its parameters replaced by what is passed for them."""
        scope = self.store.index.scopes[target]
        binding = self.bind(scope, args, receiver)
        for variable, given in binding.items():
            self.store.add_actual(variable, given)
        summary = self.store.summaries.get(target, Summary())
        changed: set[Path] = set()
        for effect in summary.changes:
            changed.update(_effect_at_call(effect, target, binding))
        for effect in changed:
            self.record(effect)
        self.calls |= {target, *summary.calls}
        paths = {p for r in summary.returns.paths for p in _result_at_call(r, target, binding)}
        if scope.is_generator:
            held = {values.unmarked(c) for c in changed if values.mark_of(c) != values.SLOT}
            return Value(values.limited(frozenset(paths | held | {FRESH})), frozenset({"iterator"}))
        return Value(values.limited(frozenset(paths)), summary.returns.kinds)

    def bind(self, scope: Scope, args: Arguments, receiver: Value | None) -> Mapping[str, Value]:
        """Match arguments to parameters; what does not fit exactly goes to every parameter it might."""
        node = scope.node
        if not isinstance(node, FUNCTIONS):
            return {}
        given = list(args.positional)
        if receiver is not None and not _is_decorated(scope, "staticmethod"):
            given.insert(0, receiver)
        signature = node.args
        positional = [a.arg for a in (*signature.posonlyargs, *signature.args)]
        named = {*positional, *(a.arg for a in signature.kwonlyargs)}
        binding = dict(zip(positional, given, strict=False)) | {n: v for n, v in args.named if n in named}
        if signature.vararg:
            binding[signature.vararg.arg] = _gathered(given[len(positional) :])
        if signature.kwarg:
            binding[signature.kwarg.arg] = _gathered(v for n, v in args.named if n not in named)
        if args.spread.kinds:
            binding = {p: binding.get(p, NOTHING) | args.spread for p in scope.params}
        return {f"{scope.id}|{p}": v for p, v in binding.items()}

    def construct(self, cls: str, node: ast.Call, callee: Value, args: Arguments) -> Value:
        """Make an instance: `__init__` runs on it; a class without one keeps what it is given (a
        dataclass)."""
        instance = fresh("class:" + cls)
        initializers = self.store.methods(cls, "__init__")[:1]
        for method in initializers:
            self.call_project(method.id, args, instance)
        self.calls.add(cls)
        if initializers or not any(a.paths for a in args.all):
            return instance
        names = [
            n.target.id
            for n in getattr(self.store.index.scopes[cls].node, "body", ())
            if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)
        ]
        for name, given in [*zip(names, args.positional, strict=False), *args.named]:
            self.store.add_field(cls, name, given)
        if len(names) >= len(args.positional) and not args.spread.kinds:
            return instance
        return Value(instance.paths.union(*(a.paths for a in args.all)), instance.kinds)

    # --- methods ---

    def call_method(self, node: ast.Call, name: str, receiver: Value, kind: str, args: Arguments) -> Value:
        """Call `receiver.name(…)` where the receiver is of one kind."""
        label, _, target = kind.partition(":")
        this = Value(receiver.paths, frozenset({kind}))
        if label in {"lib", "mod", "type"}:
            callee = self.attribute(this, name)
            if callee.among("?") and not callee.paths - {FRESH}:
                return self.unknown(callee, args)
            return self.dispatch(node, callee, args)
        if label in {"class", "super"}:
            return self._call_own_method(node, name, this, label, target, args)
        if kind == "?":
            own = [] if name.startswith("__") else self.store.index.classes_with(name)
            results = [self.call_project(m.id, args, this) for m in own]
            stored = self.attribute(this, name)
            callables = frozenset(k for k in stored.kinds if k.startswith(("func:", "bound:", "class:")))
            if callables:
                results.append(self.dispatch(node, Value(stored.paths, callables), args))
            return join([*results, self.by_name(node, name, this, args)])
        return self.by_name(node, name, this, args)

    def _call_own_method(
        self, node: ast.Call, name: str, this: Value, label: str, target: str, args: Arguments
    ) -> Value:
        if label == "super":
            above = [
                m for a in list(self.store.ancestors(target))[1:] for m in self.store.index.methods(a, name)
            ][:1]
            this = Value(this.paths, frozenset({"class:" + target}))
        else:
            above = self.store.methods(target, name)
        if above:
            return join(self.call_project(m.id, args, this) for m in above)
        if self.store.learning and (target, "<bases>") not in self.store.fields:
            return NOTHING
        if label == "class":
            held = join(self.store.fields.get((c.id, name), NOTHING) for c in self.store.family(target))
            if held.kinds:
                return self.dispatch(node, self.attribute(this, name), args)
        return self.by_name(node, name, this, args)

    def by_name(self, node: ast.Call, name: str, receiver: Value, args: Arguments) -> Value:
        """Apply what the tables know about a method of this name (the receiver is no project object, or may
        be one)."""
        if self.waits(args):
            return NOTHING
        is_super = isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Call)
        if name == "parse_args":
            return fresh("args")
        if name == "backward":
            self.change_gradients(receiver)
            return SCALAR
        if name == "requires_grad_":
            self._now_in_graph(receiver)
        if receiver.among("scalar"):
            return SCALAR
        if receiver.among("writer") or (knowledge.is_sink_call(node, self.facts) and not is_super):
            return SCALAR
        self.hand_over(receiver, args)
        if _is_pure_by_name(node, name, receiver):
            return self.pure_result(name, receiver, args)
        if name in RECEIVER_ONLY or (name.endswith("_") and not name.startswith("__")):
            return self._receiver_only(name, receiver, args)
        if name in tables.MOVES_MODULES or (
            receiver.among("optimizer", "scheduler", "container", "consts", "nn")
            and name in tables.MUTATING_METHODS
            and name != "step"
        ):
            return self._receiver_only(name, receiver, args)
        if name in {"update", "add"} and receiver.among("container", "consts", "tensor"):
            return self._receiver_only(name, receiver, args)
        return self.unknown(receiver, args)

    def _receiver_only(self, name: str, receiver: Value, args: Arguments) -> Value:
        if name in MOVES_ITEMS:
            self.change_slot(receiver, values.ELEMENT)
        else:
            self.change(receiver)
        if name in tables.STORING_METHODS:
            self.keep(receiver, join(args.all))
        fluent = name.endswith("_") or name in tables.MOVES_MODULES | {"train", "eval", "share_memory"}
        return Value(receiver.paths | {FRESH}, receiver.kinds | (frozenset() if fluent else frozenset({"?"})))

    def keep(self, holder: Value, kept: Value) -> None:
        """Note that a container now refers to a value."""
        if kept.among("scalar") or not kept.kinds:
            return
        for path in holder.paths:
            if not path or values.mark_of(path):
                continue
            self.store.write(path, values.ELEMENT, kept)
            if not kept.among(*values.LEAVES):
                for known in self.store.closure(path):
                    self._holds_more(known)

    def _holds_more(self, container: Path) -> None:
        """A container made with numbers or data only is now one of anything."""
        if len(container) == 1 or container[-1] == values.ANYWHERE:
            self.store.add_value(container[0], Value(frozenset(), frozenset({"container"})))
        for owner, name in [key for key in self.store.fields if key[1] in container[1:]]:
            self.store.add_field(owner, name, Value(frozenset(), frozenset({"container"})))

    def _now_in_graph(self, receiver: Value) -> None:
        for path in receiver.paths:
            if len(path) == 1:
                self.store.add_value(path[0], fresh("?"))

    def pure_result(self, name: str, receiver: Value, args: Arguments) -> Value:
        """Return what a pure method gives: a number, a view into the receiver, or a new tensor computed from
        it."""
        if name in tables.SCALAR_METHODS:
            return fresh("range") if name == "tolist" else SCALAR
        graph = frozenset({FRESH}).union(derived(receiver), *(derived(a) for a in args.all))
        if name in tables.ALIASING_METHODS:
            kept = frozenset(p for p in receiver.paths if p)
            many = {
                "parameters",
                "named_parameters",
                "buffers",
                "items",
                "keys",
                "values",
                "modules",
                "children",
                "named_modules",
                "named_children",
                "named_buffers",
                "state_dict",
                "split",
                "chunk",
                "unbind",
            }
            kind = "container" if name in many else "const" if receiver.among("const") else "?"
            if name in tables.MOVES_MODULES:
                return Value(kept | derived(receiver) | {FRESH}, receiver.kinds)
            extra = join(args.all).paths if name == "get" else frozenset()
            return Value(kept | graph | extra, frozenset({kind}))
        return Value(graph, frozenset({"const" if receiver.among("const") else "tensor"}))

    # --- library functions ---

    def call_library(self, full: str, node: ast.Call, args: Arguments) -> Value:
        """Call a builtin or a library function by its full name."""
        if self.waits(args):
            return NOTHING
        args = Arguments(
            args.positional, tuple((n, v) for n, v in args.named if n not in tables.SETTINGS), args.spread
        )
        kind = knowledge.kind_of_call(node, self.facts)
        name = full.rpartition(".")[2]
        if kind:
            return self._make(kind, node, args)
        if full.startswith("torch.nn.") and name[:1].isupper() and "utils" not in full:
            held = frozenset({FRESH}).union(*(a.paths for a in args.all))
            return Value(held, frozenset({"loss" if name.endswith("Loss") else "nn"}))
        if full in {"collections.namedtuple", "typing.NamedTuple"}:
            return Value(frozenset(), frozenset({"lib:tuple"}))
        if full in {"iter", "next"}:
            return self._iterator(full, args)
        if full == "getattr" and len(node.args) > 1:
            key = node.args[1]
            known = isinstance(key, ast.Constant) and isinstance(key.value, str)
            return self.attribute(
                args.positional[0],
                str(key.value) if isinstance(key, ast.Constant) and known else values.ELEMENT,
            )
        handed = self.hand_over(NOTHING, args)
        if name.endswith("_") or knowledge.is_listed(full, tables.FIRST_ARGUMENT_CHANGED):
            return self._first_argument(full, args)
        if knowledge.is_random_call(node, self.facts) or knowledge.is_listed(full, tables.WRITES_ONLY):
            graph = frozenset({FRESH}).union(*(derived(a) for a in args.all))
            return Value(graph, frozenset({"tensor" if graph - {FRESH} else "const"}))
        if self._is_pure_library(full, node):
            return self._pure_library(full, name, args, handed)
        return self.unknown(NOTHING, args)

    def _is_pure_library(self, full: str, node: ast.Call) -> bool:
        if full in tables.PURE_BUILTINS | tables.ITERATING_BUILTINS:
            return True
        return knowledge.is_listed(full, tables.PURE_FUNCTIONS) or knowledge.is_listed(
            full, tables.ITERATING_FUNCTIONS
        )

    def _make(self, kind: knowledge.Kind, node: ast.Call, args: Arguments) -> Value:
        """Make an optimizer, scheduler, …: it is new, and changing it changes what it was made for."""
        if kind == "loader":
            parts = [
                *args.positional[:1],
                args.spread,
                *(v for n, v in args.named if n in tables.LOADER_PARTS),
            ]
            return Value(frozenset({FRESH}).union(*(v.paths for v in parts)), frozenset({"loader"}))
        if kind == "wrapper":
            whole = join(args.all)
            return Value(whole.paths | {FRESH}, whole.kinds | {"nn"})
        held = [self.value(e) for e in knowledge.widened(kind, node)]
        mark = values.STEPPED if kind == "scheduler" else values.WIDENED
        paths = frozenset((*values.unmarked(p), mark) for v in held for p in v.paths if p)
        return Value(paths | {FRESH}, frozenset({kind}))

    def _iterator(self, full: str, args: Arguments) -> Value:
        source = join(args.positional[:1])
        inner = self.element(source)
        if full == "next":
            self.change(source)
            return inner
        if source.among("loader"):
            return Value(source.paths | {FRESH}, frozenset({"iterator"}))
        return Value(frozenset({FRESH}) | inner.paths, frozenset({"iterator"}))

    def _first_argument(self, full: str, args: Arguments) -> Value:
        first = join(args.positional[:1]) if args.positional else join(args.all)
        self.change(first)
        if full == "setattr" or "heap" in full or "insort" in full:
            self.keep(first, join(args.all[1:]))
        return Value(first.paths | {FRESH}, first.kinds | {"?"})

    def _pure_library(self, full: str, name: str, args: Arguments, handed: Value) -> Value:
        whole = join(args.all)
        if full in tables.SCALAR_BUILTINS or full.startswith(
            ("math.", "time.", "os.", "json.", "re.", "statistics.")
        ):
            return fresh("range") if full == "range" else SCALAR
        if full in tables.ITERATING_BUILTINS | {"super", "vars"} or full.startswith(
            ("itertools.", "collections.")
        ):
            inner = join(self.element(a) for a in args.all)
            lazy = full in {"enumerate", "filter", "map", "reversed", "zip"} or full.startswith("itertools.")
            kept = frozenset({FRESH}) | inner.paths | whole.paths | handed.paths | derived(whole)
            leaves = (
                all(a.among(*values.LEAVES) or not a.kinds for a in args.all)
                and bool(whole.kinds)
                and not lazy
            )
            scalars = bool(whole.kinds) and inner.among("scalar", "const") and full in {"max", "min", "sum"}
            return (
                SCALAR
                if scalars
                else Value(kept, frozenset({"iterator" if lazy else "consts" if leaves else "container"}))
            )
        if full in {"copy.copy", "functools.partial", "types.SimpleNamespace"} or full.startswith(
            "contextlib."
        ):
            return Value(whole.paths | {FRESH}, whole.kinds | {"?"})
        if full.startswith("copy.deepcopy"):
            return Value(frozenset({FRESH}), whole.kinds)
        if full in tables.SCALAR_FUNCTIONS or name in {"device", "dtype"}:
            return SCALAR
        constant = name in CONSTANT_MAKERS and not any(n == "requires_grad" for n, _ in args.named)
        shared = whole.paths if name in SHARES_MEMORY or name in tables.ALIASING_METHODS else frozenset()
        if constant:
            return Value(shared | {FRESH}, frozenset({"const"}))
        kind = "const" if all(a.among(*values.LEAVES) or not a.kinds for a in args.all) else "tensor"
        graph = frozenset({FRESH}).union(*(derived(a) for a in args.all))
        return Value(graph | shared, frozenset({kind}))


def _class_of(method: Scope) -> str:
    return method.parent.id if method.parent is not None else ""


def _decorators(scope: Scope) -> list[ast.expr]:
    node = scope.node
    return node.decorator_list if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else []


def _is_decorated(scope: Scope, name: str) -> bool:
    return any(isinstance(d, ast.Name) and d.id == name for d in _decorators(scope))


def _gathered(given: Iterable[Value]) -> Value:
    whole = join(given)
    functions = frozenset(k for k in whole.kinds if k.startswith(("func:", "bound:")))
    return Value(whole.paths | {FRESH}, functions | {"container"})


def _is_pure_by_name(node: ast.Call, name: str, receiver: Value) -> bool:
    """Tell whether the tables call the method pure, where no project class is meant."""
    shape = ast.Call(
        func=ast.Attribute(ast.Name("_", ast.Load()), name, ast.Load()),
        args=node.args,
        keywords=[k for k in node.keywords if k.arg not in {"key", "out"}],
    )
    if name in tables.MOVES_MODULES:
        looks = isinstance(node.func, ast.Attribute) and knowledge.looks_like_module(node.func.value)
        return (
            not looks and not receiver.among("nn") and not any(k.startswith("class:") for k in receiver.kinds)
        )
    return knowledge.is_pure_call(shape, knowledge.Facts({}, frozenset()))


def _is_inside(variable: str, target: str) -> bool:
    owner = scope_of(variable)
    return owner == target or owner.startswith(target + ".")


def _effect_at_call(effect: Path, target: str, binding: Mapping[str, Value]) -> list[Path]:
    variable, rest = effect[0], effect[1:]
    if variable in binding:
        if rest == (values.SLOT,):
            return []  # a parameter rebound is the callee's own affair
        given = binding[variable]
        if given.among(*values.IMMUTABLE):
            return []
        return [p for base in given.paths if (p := redirected(base, rest))]
    return [] if _is_inside(variable, target) else [effect]


def _result_at_call(path: Path, target: str, binding: Mapping[str, Value]) -> list[Path]:
    if not path:
        return [FRESH]
    if path[0] in binding:
        return [substituted(base, path[1:]) for base in binding[path[0]].paths]
    return [FRESH] if _is_inside(path[0], target) else [path]
