"""Walks the statements of one scope, or of one loop, and gathers what they may change, return and call.

Flow-insensitive: what a name may refer to anywhere in its scope it may refer to everywhere. Every construct
of the language has a line in `STATEMENTS` or `EXPRESSIONS`; what has none is walked child by child.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import Any, Final

from . import knowledge_tables as tables
from . import values
from .calls import Arguments, Calls
from .index import SCOPES, Scope, own_nodes
from .store import Store, Summary
from .values import ELEMENT, FRESH, NOTHING, SCALAR, UNKNOWN, Value, derived, fresh, join

PLAIN = Arguments((), (), NOTHING)


class Walker(Calls):
    """One pass over a scope. `run()` enters its summary in the store; `walk()` takes any part of its body."""

    def __init__(self, store: Store, scope: Scope) -> None:
        super().__init__(store, scope)
        self.returned = NOTHING

    def run(self) -> None:
        node = self.scope.node
        if isinstance(node, ast.Lambda):
            self.returned = self.value(node.body)
        else:
            self.walk(node.body)
        if self.scope.is_function:
            self._parameters()
            returned = self.returned if self.returned.kinds or self._returns_something() else SCALAR
            own = {s.id for s in (self.scope,)}
            params = {f"{self.scope.id}|{p}" for p in self.scope.params}
            outside = values.outermost(
                e for e in self.effects if e[0] in params or e[0].rpartition("|")[0] not in own
            )
            self.store.add_summary(
                self.scope.id, Summary(outside, self._visible(returned), frozenset(self.calls))
            )

    def _visible(self, returned: Value) -> Value:
        """Express a result in parameters, captured names and globals: local names are followed to what they
        mean."""
        params = {f"{self.scope.id}|{p}" for p in self.scope.params}
        done: set[values.Path] = set()
        pending, seen = list(returned.paths), set[values.Path]()
        while pending:
            path = pending.pop()
            if path in seen:
                continue
            seen.add(path)
            local = bool(path) and path[0].rpartition("|")[0] == self.scope.id
            if not local or path[0] in params:
                done.add(path)
            if local:
                held = self.store.values.get(path[0], NOTHING)
                pending += [values.substituted(base, path[1:]) for base in held.paths]
                for length in range(2, len(path) + 1):
                    linked = self.store.links.get(path[:length], NOTHING)
                    pending += [values.substituted(base, path[length:]) for base in linked.paths]
        return Value(values.limited(frozenset(done)), returned.kinds)

    def _returns_something(self) -> bool:
        if isinstance(self.scope.node, ast.Lambda):
            return True
        return any(
            (isinstance(n, ast.Return) and n.value) or isinstance(n, (ast.Yield, ast.YieldFrom))
            for n in own_nodes(self.scope.node)
        )

    def _parameters(self) -> None:
        """Enter what annotations, the enclosing class and * say about the parameters."""
        node = self.scope.node
        assert isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        a = node.args
        for arg in [*a.posonlyargs, *a.args, *a.kwonlyargs]:
            if arg.annotation is not None:
                self._annotated(arg.arg, arg.annotation)
        for star in (a.vararg, a.kwarg):
            if star:
                self.bind_name(star.arg, fresh("container"))
        for name in self.scope.params:
            self.store.add_value(f"{self.scope.id}|{name}", Value(frozenset({FRESH}), frozenset()))
        parent = self.scope.parent
        if parent is not None and parent.is_class and self.scope.params:
            named = {d.id for d in _decorators(node) if isinstance(d, ast.Name)}
            kind = "type:" if "classmethod" in named else "class:"
            if "staticmethod" not in named:
                self.store.add_value(f"{self.scope.id}|{self.scope.params[0]}", fresh(kind + parent.id))

    def _annotated(self, name: str, annotation: ast.expr) -> None:
        text = annotation.value if isinstance(annotation, ast.Constant) else ast.unparse(annotation)
        if text in {"int", "float", "str", "bool"}:
            self.bind_name(name, Value(frozenset({FRESH}), frozenset({"scalar"})))
        elif isinstance(text, str) and text.isidentifier():
            kinds = self.read_name(text).kinds
            instances = frozenset("class:" + k[5:] for k in kinds if k.startswith("type:"))
            if instances:
                self.bind_name(name, Value(frozenset({FRESH}), instances))

    # --- statements ---

    def walk(self, nodes: Iterable[ast.AST]) -> None:
        for node in nodes:
            self.visit(node)

    def visit(self, node: ast.AST) -> None:
        handler = STATEMENTS.get(type(node))
        if handler is not None:
            handler(self, node)
        elif isinstance(node, ast.expr):
            self.value(node)
        else:
            self.walk(ast.iter_child_nodes(node))

    def _assign(self, node: ast.Assign) -> None:
        value = self.value(node.value)
        for target in node.targets:
            self.assign(target, value, node.value)

    def _ann_assign(self, node: ast.AnnAssign) -> None:
        if self.scope.is_class and isinstance(node.target, ast.Name):
            self._field_annotation(node.target.id, node.annotation)
        if node.value is not None:
            self.assign(node.target, self.value(node.value), node.value)

    def _field_annotation(self, name: str, annotation: ast.expr) -> None:
        text = annotation.value if isinstance(annotation, ast.Constant) else ast.unparse(annotation)
        if text in {"int", "float", "str", "bool"}:
            self.store.add_field(self.scope.id, name, SCALAR)

    def _aug_assign(self, node: ast.AugAssign) -> None:
        """`x += y`: the name is bound anew, and what it meant may be changed in place."""
        target = node.target
        before = self.value(_as_load(target))
        operand = self.value(node.value)
        if not before.among("scalar"):
            self.change(before)
        after = SCALAR if before.among("scalar") and operand.among("scalar") else _combined(before, operand)
        if before.kinds:
            self.assign(target, after, None)
        elif isinstance(target, ast.Attribute):
            self.change_slot(self.value(target.value), target.attr)

    def _for(self, node: ast.For | ast.AsyncFor) -> None:
        self.bind_iteration(node.target, node.iter)
        self.walk(node.body)
        self.walk(node.orelse)

    def _with(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            value = self.value(item.context_expr)
            entered = self._enter(item.context_expr, value)
            if item.optional_vars is not None:
                self.assign(item.optional_vars, entered, None)
        self.walk(node.body)

    def _enter(self, expression: ast.expr, context: Value) -> Value:
        """Enter and leave a context manager: a project one runs its methods, an unknown one changes
        itself."""
        call = expression.func if isinstance(expression, ast.Call) else expression
        name = call.attr if isinstance(call, ast.Attribute) else call.id if isinstance(call, ast.Name) else ""
        if name in tables.HARMLESS_CONTEXTS and not any(k.startswith("class:") for k in context.kinds):
            return Value(context.paths | {FRESH}, frozenset({"?"}))
        results = [context]
        for kind in sorted(k for k in context.kinds if k.startswith("class:")):
            for hook in ("__enter__", "__exit__"):
                for method in self.store.methods(kind[6:], hook):
                    results.append(self.call_project(method.id, PLAIN, context))
        if context.kinds & {"?", "iterator"}:
            self.change(context)
        return join(results)

    def _except(self, node: ast.ExceptHandler) -> None:
        if node.type is not None:
            self.value(node.type)
        if node.name:
            self.bind_name(node.name, fresh("?"))
        self.walk(node.body)

    def _delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            self._unbind(target)

    def _unbind(self, target: ast.expr) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            for part in target.elts:
                self._unbind(part)
        elif isinstance(target, ast.Attribute):
            self.change_slot(self.value(target.value), target.attr)
        elif isinstance(target, ast.Subscript):
            self.value(target.slice)
            self.change_slot(self.value(target.value), ELEMENT)
        elif isinstance(target, ast.Name):
            self._rebinds(target.id)

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            shown = alias.name if alias.asname else alias.name.split(".")[0]
            file = self.store.index.file_of(shown, self.scope.file)
            kind = f"mod:{file}" if file else f"lib:{shown}"
            self.bind_name(alias.asname or shown, Value(frozenset(), frozenset({kind})))

    def _import_from(self, node: ast.ImportFrom) -> None:
        base = "." * node.level + (node.module or "")
        joint = "" if base.endswith(".") else "."
        for alias in node.names:
            inner = self.store.index.file_of(f"{base}{joint}{alias.name}", self.scope.file)
            file = self.store.index.file_of(base, self.scope.file)
            if alias.name == "*":
                self._import_all(file)
            elif inner:
                self.bind_name(alias.asname or alias.name, Value(frozenset(), frozenset({f"mod:{inner}"})))
            elif file:
                self.bind_name(alias.asname or alias.name, self.global_of(file, alias.name))
            else:
                kind = f"lib:{base}{joint}{alias.name}"
                self.bind_name(alias.asname or alias.name, Value(frozenset(), frozenset({kind})))

    def _import_all(self, file: str | None) -> None:
        for name in sorted(self.store.index.module(file).bound) if file else ():
            self.scope.bound.add(name)
            self.bind_name(name, self.global_of(file or "", name))

    def global_of(self, file: str, name: str) -> Value:
        """Return a module's global as seen by an importer: the same object, under the module's own
        variable."""
        module = self.store.index.module(file)
        variable = f"{module.id}|{name}"
        kinds = self.store.values.get(variable, NOTHING).kinds
        return Value(frozenset({(variable,)}), kinds)

    def _define(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        scope = self.store.index.by_node[node]
        self._defaults(node, scope)
        value = Value(frozenset(), frozenset({"func:" + scope.id}))
        for decorator in reversed(node.decorator_list):
            value = value | self._decorated(decorator, value)
        self.bind_name(node.name, value)

    def _decorated(self, decorator: ast.expr, value: Value) -> Value:
        """Return what a project decorator makes of a function; a library's is taken to leave it as it is."""
        made = self.value(decorator)
        known = Value(
            made.paths, frozenset(k for k in made.kinds if k.startswith(("func:", "class:", "type:")))
        )
        shape = ast.Call(func=decorator, args=[], keywords=[])
        return self.dispatch(shape, known, Arguments((value,), (), NOTHING))

    def _defaults(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, scope: Scope) -> None:
        a = node.args
        ordered = [*a.posonlyargs, *a.args]
        pairs = list(zip(ordered[len(ordered) - len(a.defaults) :], a.defaults, strict=True))
        pairs += [(arg, d) for arg, d in zip(a.kwonlyargs, a.kw_defaults, strict=True) if d is not None]
        for arg, default in pairs:
            self.store.add_actual(f"{scope.id}|{arg.arg}", self.value(default))

    def _class(self, node: ast.ClassDef) -> None:
        scope = self.store.index.by_node[node]
        bases = join(self.value(b) for b in node.bases)
        for part in [*node.decorator_list, *(k.value for k in node.keywords)]:
            self.value(part)
        self.store.add_field(scope.id, "<bases>", Value(frozenset(), bases.kinds | {"lib:object"}))
        self.bind_name(node.name, Value(frozenset({FRESH}), frozenset({"type:" + scope.id})))
        inner = Walker(self.store, scope)
        inner.walk(node.body)
        self.effects |= {e for e in inner.effects if e[0].rpartition("|")[0] != scope.id}
        self.calls |= inner.calls

    def _return(self, node: ast.Return) -> None:
        if node.value is not None:
            self.returned = self.returned | self.value(node.value)

    def _match(self, node: ast.Match) -> None:
        subject = self.value(node.subject)
        parts = Value(subject.paths | self.element(subject).paths | {FRESH}, frozenset({"?"}))
        for case in node.cases:
            for pattern in ast.walk(case.pattern):
                name = getattr(pattern, "name", None) or getattr(pattern, "rest", None)
                if isinstance(name, str):
                    self.bind_name(name, parts)
                if isinstance(pattern, ast.expr):
                    self.value(pattern)
            if case.guard is not None:
                self.value(case.guard)
            self.walk(case.body)

    # --- binding ---

    def variable(self, name: str) -> str | None:
        owner = self.store.index.owner(self.scope, name)
        return f"{owner.id}|{name}" if owner is not None else None

    def bind_name(self, name: str, value: Value) -> None:
        variable = self.variable(name)
        if variable is not None:
            self.store.add_value(variable, value)
            self._rebinds(name)

    def _rebinds(self, name: str) -> None:
        """A name of another scope (global, nonlocal) that is bound here is an effect; an own one is not."""
        variable = self.variable(name)
        if variable is not None and variable.rpartition("|")[0] != self.scope.id:
            self.record((variable, values.SLOT))

    def assign(self, target: ast.expr, value: Value, source: ast.expr | None) -> None:
        """Bind a target of any shape to a value; `source` is its expression, if there is one to take
        apart."""
        if isinstance(target, ast.Name):
            self.bind_name(target.id, value)
        elif isinstance(target, ast.Starred):
            inner = self.element(value) if source is None else value
            self.assign(target.value, Value(inner.paths | {FRESH}, frozenset({"container"})), None)
        elif isinstance(target, (ast.Tuple, ast.List)):
            self._assign_parts(target.elts, value, source)
        elif isinstance(target, ast.Attribute):
            self._assign_attribute(target, value)
        elif isinstance(target, ast.Subscript):
            self.value(target.slice)
            holder = self.value(target.value)
            self.change_slot(holder, ELEMENT)
            self.keep(holder, value)
            self._call_hook(holder, "__setitem__", Arguments((SCALAR, value), (), NOTHING))

    def _assign_parts(self, targets: list[ast.expr], value: Value, source: ast.expr | None) -> None:
        starred = any(isinstance(t, ast.Starred) for t in targets)
        if (
            isinstance(source, (ast.Tuple, ast.List))
            and len(source.elts) == len(targets)
            and not starred
            and not any(isinstance(s, ast.Starred) for s in source.elts)
        ):
            for target, part in zip(targets, source.elts, strict=True):
                self.assign(target, self.value(part), part)
            return
        inner = self.element(value)
        spread = Value(inner.paths | value.paths, inner.kinds) if inner.kinds else NOTHING
        for target in targets:
            self.assign(target, spread, None)

    def _assign_attribute(self, target: ast.Attribute, value: Value) -> None:
        holder = self.value(target.value)
        self.change_slot(holder, target.attr)
        if target.attr == "requires_grad":
            self._now_in_graph(holder)
        for kind in sorted(holder.kinds):
            label, _, owner = kind.partition(":")
            if label == "class":
                self.store.add_field(owner, target.attr, value)
                for method in self.store.methods(owner, target.attr):  # a property with a setter
                    self.call_project(method.id, Arguments((value,), (), NOTHING), holder)
            elif label == "type":
                self.store.add_value(f"{owner}|{target.attr}", value)
                if not holder.paths - {FRESH}:
                    self.record((f"{owner}|{target.attr}", values.SLOT))
            elif label == "mod":
                variable = f"{owner}::|{target.attr}"
                self.store.add_value(variable, value)
                self.record((variable, values.SLOT))
        for path in holder.paths:
            if path and not values.mark_of(path) and value.kinds:
                self.store.write(path, target.attr, value)

    def bind_iteration(self, target: ast.expr, iterable: ast.expr) -> None:
        """Bind a loop's target: the counters of enumerate and range are numbers, zip is taken part by
        part."""
        call = iterable if isinstance(iterable, ast.Call) else None
        name = call.func.id if call is not None and isinstance(call.func, ast.Name) else ""
        parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else []
        if call is not None and name == "enumerate" and len(parts) == 2 and call.args:
            self.assign(parts[0], SCALAR, None)
            self.bind_iteration(parts[1], call.args[0])
        elif (
            call is not None
            and name == "zip"
            and len(parts) == len(call.args)
            and not any(isinstance(e, ast.Starred) for e in [*parts, *call.args])
        ):
            for part, source in zip(parts, call.args, strict=True):
                self.bind_iteration(part, source)
        elif call is not None and name in {"tqdm", "trange"} and call.args:
            self.value(call)
            inner = self.value(call.args[0])
            number = name == "trange" or inner.among("scalar")
            self.assign(target, SCALAR if number else self.element(inner), None)
            if not number:
                self.consume(inner)
        else:
            value = self.value(iterable)
            self.consume(value)
            self.assign(target, self.element(value), None)

    def consume(self, iterable: Value) -> None:
        """Note that going through an iterator (or something that may be one) moves it on."""
        if iterable.kinds & {"?", "iterator"}:
            self.change(Value(iterable.paths, frozenset({"?"})) if "iterator" in iterable.kinds else NOTHING)
            self.change_slot(Value(iterable.paths), ELEMENT)
        if "loader" in iterable.kinds:
            for method in self.store.index.classes_with("__getitem__") + self.store.index.classes_with(
                "__iter__"
            ):
                self.call_project(
                    method.id, PLAIN, Value(iterable.paths, frozenset({"class:" + _class_of(method)}))
                )
        for hook in ("__iter__", "__next__"):
            self._call_hook(iterable, hook, PLAIN)

    def _call_hook(self, holder: Value, hook: str, args: Arguments) -> Value:
        results = []
        for kind in sorted(k for k in holder.kinds if k.startswith("class:")):
            for method in self.store.methods(kind[6:], hook):
                results.append(self.call_project(method.id, args, Value(holder.paths, frozenset({kind}))))
        return join(results)

    # --- expressions ---

    def value(self, node: ast.expr) -> Value:
        """Evaluate an expression: gather its effects, return what it may be."""
        handler = EXPRESSIONS.get(type(node))
        if handler is None:
            for child in ast.iter_child_nodes(node):
                self.visit(child)
            return SCALAR
        result: Value = handler(self, node)
        if result.kinds:
            return result
        return NOTHING if self.store.learning else Value(result.paths | {FRESH}, UNKNOWN.kinds)

    def read_name(self, name: str) -> Value:
        variable = self.variable(name)
        if variable is None:
            return Value(frozenset(), frozenset({"lib:" + name}))
        if name in tables.NEVER_CHANGED:
            return SCALAR
        held = self.store.values.get(variable, NOTHING)
        if held.among("scalar") or not held.kinds:
            return SCALAR if held.kinds else NOTHING
        if all(k.startswith(("func:", "lib:", "mod:")) for k in held.kinds):
            return held
        return Value(frozenset({(variable,)}), held.kinds)

    def _attribute(self, node: ast.Attribute) -> Value:
        return self.attribute(self.value(node.value), node.attr)

    def attribute(self, base: Value, name: str) -> Value:
        """Read an attribute of a value, kind by kind; properties run."""
        if base.among("scalar", "args") or name in tables.NEVER_CHANGED:
            return SCALAR
        result = NOTHING
        for kind in sorted(base.kinds):
            result = result | self._attribute_of(Value(base.paths, frozenset({kind})), kind, name)
        return result | self.store.read(base.paths, name)

    def _attribute_of(self, base: Value, kind: str, name: str) -> Value:
        label, _, owner = kind.partition(":")
        paths = frozenset(values.step(p, name) for p in base.paths)
        if label == "lib":
            return Value(frozenset(), frozenset({f"lib:{owner}.{name}"}))
        if label == "mod":
            module = self.store.index.module(owner)
            if name in module.bound:
                return self.global_of(owner, name)
            inner = self.store.index.file_of("." + name, owner)
            return Value(frozenset(), frozenset({f"mod:{inner}"})) if inner else UNKNOWN
        if label == "type":
            methods = self.store.methods(owner, name)
            held = self.store.values.get(f"{owner}|{name}", NOTHING)
            return (
                self._methods(methods, base, name, bound=False)
                if methods
                else Value(paths, held.kinds or UNKNOWN.kinds)
            )
        if label == "class":
            return self._instance_attribute(base, owner, name, paths)
        if kind in {"const", "tensor"}:
            return Value(
                paths, frozenset({"scalar" if name in {"shape", "dtype", "device", "ndim"} else kind})
            )
        if kind == "optimizer":
            return Value(paths, frozenset({"container"}))
        for method in self.store.index.classes_with(name) if kind == "?" else ():
            if _is_property(method):
                self.call_project(method.id, PLAIN, base)
        return Value(paths, frozenset({"?"}))

    def _instance_attribute(self, base: Value, owner: str, name: str, paths: frozenset[values.Path]) -> Value:
        methods = self.store.methods(owner, name)
        if methods:
            return self._methods(methods, base, name, bound=True)
        held = NOTHING
        for cls in self.store.family(owner):
            held = held | self.store.fields.get((cls.id, name), NOTHING)
            held = held | self.store.values.get(f"{cls.id}|{name}", NOTHING)
        if held.among("scalar"):
            return SCALAR
        if held.kinds:
            return Value(paths | (held.paths - {FRESH}), held.kinds)
        return Value(paths, frozenset() if self.store.still_unknown(name) else frozenset({"?"}))

    def _methods(self, methods: list[Scope], base: Value, name: str, *, bound: bool) -> Value:
        results = []
        for method in methods:
            if _is_property(method) and bound:
                results.append(self.call_project(method.id, PLAIN, base))
            else:
                static = any(
                    isinstance(d, ast.Name) and d.id == "staticmethod" for d in _decorators(method.node)
                )
                cls = any(isinstance(d, ast.Name) and d.id == "classmethod" for d in _decorators(method.node))
                label = "bound" if (bound and not static) or cls else "func"
                results.append(Value(base.paths, frozenset({f"{label}:{method.id}"})))
        return join(results)

    def _subscript(self, node: ast.Subscript) -> Value:
        base = self.value(node.value)
        self.value(node.slice)
        if base.among("const", "tensor"):
            return Value(frozenset(values.step(p, ELEMENT) for p in base.paths), base.kinds)
        got = self._call_hook(base, "__getitem__", Arguments((SCALAR,), (), NOTHING))
        if isinstance(node.slice, ast.Slice):
            return Value(base.paths | self.element(base).paths | {FRESH}, base.kinds)
        return self.element(base) | got

    def element(self, value: Value) -> Value:
        """Return what an element of a value may be; the items a loader yields are new."""
        if value.among("scalar", "range", "args"):
            return SCALAR
        if not value.kinds:
            return NOTHING
        if value.among("loader"):
            return fresh("const")
        paths = frozenset(values.step(p, ELEMENT) for p in value.paths)
        stored = self.store.read(value.paths, ELEMENT)
        kinds = stored.kinds if value.kinds else frozenset()
        if value.among("consts"):
            return Value(values.limited(paths | stored.paths), frozenset({"const"}) | stored.kinds)
        if value.among("const", "tensor"):
            return Value(values.limited(paths | stored.paths), kinds | value.kinds)
        functions = frozenset(k for k in value.kinds if k.startswith(("func:", "bound:")))
        return Value(
            values.limited(paths | stored.paths),
            kinds | functions | (UNKNOWN.kinds if value.kinds else frozenset()),
        )

    def _call(self, node: ast.Call) -> Value:
        return self.call(node)

    def _sequence(self, node: ast.Tuple | ast.List | ast.Set) -> Value:
        parts = [self.value(e.value if isinstance(e, ast.Starred) else e) for e in node.elts]
        return _container(parts)

    def _dict(self, node: ast.Dict) -> Value:
        for key in node.keys:
            if key is not None:
                self.value(key)
        return _container([self.value(v) for v in node.values])

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Value:
        for generator in node.generators:
            self.bind_iteration(generator.target, generator.iter)
            for condition in generator.ifs:
                self.value(condition)
        if isinstance(node, ast.DictComp):
            self.value(node.key)
            made = _container([self.value(node.value)])
        else:
            made = _container([self.value(node.elt)])
        lazy = isinstance(node, ast.GeneratorExp)
        return Value(made.paths, frozenset({"iterator"})) if lazy and made.kinds else made

    def _named(self, node: ast.NamedExpr) -> Value:
        value = self.value(node.value)
        self.assign(node.target, value, node.value)
        return value

    def _choice(self, node: ast.IfExp | ast.BoolOp) -> Value:
        if isinstance(node, ast.IfExp):
            self.value(node.test)
            return self.value(node.body) | self.value(node.orelse)
        return join([self.value(v) for v in node.values])

    def _operator(self, node: ast.BinOp | ast.UnaryOp) -> Value:
        if isinstance(node, ast.UnaryOp):
            operand = self.value(node.operand)
            return SCALAR if isinstance(node.op, ast.Not) or operand.among("scalar") else _combined(operand)
        left, right = self.value(node.left), self.value(node.right)
        if isinstance(node.op, ast.Mod) and isinstance(node.left, (ast.Constant, ast.JoinedStr)):
            return SCALAR
        return _combined(left, right)

    def _compare(self, node: ast.Compare) -> Value:
        operands = [self.value(e) for e in [node.left, *node.comparators]]
        return SCALAR if all(o.among("scalar") for o in operands) else fresh("const")

    def _lambda(self, node: ast.Lambda) -> Value:
        scope = self.store.index.by_node[node]
        self._defaults(node, scope)
        return Value(frozenset(), frozenset({"func:" + scope.id}))

    def _through(self, node: ast.Await | ast.Starred) -> Value:
        return self.value(node.value)

    def _yield(self, node: ast.Yield | ast.YieldFrom) -> Value:
        if node.value is not None:
            value = self.value(node.value)
            if isinstance(node, ast.YieldFrom):
                self.consume(value)
            self.returned = self.returned | value
        return UNKNOWN


def _class_of(method: Scope) -> str:
    assert method.parent is not None
    return method.parent.id


def _decorators(node: ast.AST) -> list[ast.expr]:
    return node.decorator_list if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else []


def _is_property(method: Scope) -> bool:
    names = {
        d.attr if isinstance(d, ast.Attribute) else getattr(d, "id", "") for d in _decorators(method.node)
    }
    return bool(names & {"property", "cached_property"})


def _as_load(target: ast.expr) -> ast.expr:
    if isinstance(target, ast.Name):
        return ast.Name(target.id, ast.Load())
    if isinstance(target, ast.Attribute):
        return ast.Attribute(target.value, target.attr, ast.Load())
    return (
        ast.Subscript(target.value, target.slice, ast.Load()) if isinstance(target, ast.Subscript) else target
    )


def _combined(*operands: Value) -> Value:
    """Return the result of an operator: a number, a tensor of the operands' graph, or a container of both's
    items."""
    if any(not o.kinds for o in operands):
        return NOTHING
    if all(o.among("scalar") for o in operands):
        return SCALAR
    graph = frozenset({FRESH}).union(*(derived(o) for o in operands))
    loose = [o for o in operands if not o.among("scalar", "const", "tensor")]
    containers = [o for o in operands if o.kinds & {"container", "consts", "?"}]
    if not loose:
        return Value(
            graph, frozenset({"const" if all(o.among("scalar", "const") for o in operands) else "tensor"})
        )
    held = frozenset().union(*(o.paths for o in containers))
    only = all(o.among("container", "consts") for o in operands)
    return Value(values.limited(graph | held), frozenset({"container" if only else "?"}))


def _container(parts: list[Value]) -> Value:
    if not all(p.kinds for p in parts):
        return NOTHING
    held = frozenset({FRESH}).union(*(p.paths for p in parts))
    functions = frozenset(k for p in parts for k in p.kinds if k.startswith(("func:", "bound:")))
    leaves = bool(parts) and all(p.among(*values.LEAVES) for p in parts)
    return Value(values.limited(held), frozenset({"consts" if leaves else "container"}) | functions)


Handler = Callable[[Walker, Any], Any]
STATEMENTS: Final[dict[type[ast.AST], Handler]] = {
    ast.Assign: Walker._assign,
    ast.AnnAssign: Walker._ann_assign,
    ast.AugAssign: Walker._aug_assign,
    ast.For: Walker._for,
    ast.AsyncFor: Walker._for,
    ast.With: Walker._with,
    ast.AsyncWith: Walker._with,
    ast.ExceptHandler: Walker._except,
    ast.Delete: Walker._delete,
    ast.Import: Walker._import,
    ast.ImportFrom: Walker._import_from,
    ast.FunctionDef: Walker._define,
    ast.AsyncFunctionDef: Walker._define,
    ast.ClassDef: Walker._class,
    ast.Return: Walker._return,
    ast.Match: Walker._match,
}
EXPRESSIONS: Final[dict[type[ast.AST], Handler]] = {
    ast.Name: lambda walker, node: walker.read_name(node.id),
    ast.Attribute: Walker._attribute,
    ast.Subscript: Walker._subscript,
    ast.Call: Walker._call,
    ast.Tuple: Walker._sequence,
    ast.List: Walker._sequence,
    ast.Set: Walker._sequence,
    ast.Dict: Walker._dict,
    ast.ListComp: Walker._comprehension,
    ast.SetComp: Walker._comprehension,
    ast.GeneratorExp: Walker._comprehension,
    ast.DictComp: Walker._comprehension,
    ast.NamedExpr: Walker._named,
    ast.IfExp: Walker._choice,
    ast.BoolOp: Walker._choice,
    ast.BinOp: Walker._operator,
    ast.UnaryOp: Walker._operator,
    ast.Compare: Walker._compare,
    ast.Lambda: Walker._lambda,
    ast.Await: Walker._through,
    ast.Starred: Walker._through,
    ast.Yield: Walker._yield,
    ast.YieldFrom: Walker._yield,
}
assert set(SCOPES) <= set(STATEMENTS) | set(EXPRESSIONS)  # every kind of scope is entered in one way
