"""What a call can do, as far as its name tells: pure, output, light; and what library constructors tie
together.

Everything here looks at syntax only. A name means what the file's imports say (`facts_of`), or, where no
facts are given, what it conventionally means (`np`, `F`, `torch`). Names the project itself defines are never
pure by name.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from . import knowledge_tables as tables

Kind = Literal["optimizer", "scheduler", "scaler", "wrapper", "loader", "writer", ""]


@dataclass(frozen=True)
class Facts:
    """What one file says about its names: where imported ones come from, which ones the project defines,
    which stand for dicts that take in every key they are asked for, and which for what a class (or a copy)
    has built."""

    imports: Mapping[str, str] = field(default_factory=lambda: tables.CONVENTIONAL_IMPORTS)
    defined: frozenset[str] = frozenset()
    growing: frozenset[str] = frozenset()
    built: frozenset[str] = frozenset()


CONVENTIONS = Facts()


def facts_of(tree: ast.AST, defined: Iterable[str] = ()) -> Facts:
    """Read a file's imports and definitions; `defined` adds names other project files define."""
    imports: dict[str, str] = {}
    own, growing, built = set(defined), set[str](), set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imports.update(_plain_imports(node))
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            joint = "" if base.endswith(".") or not base else "."
            imports.update({a.asname or a.name: f"{base}{joint}{a.name}" for a in node.names})
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            own.add(node.name)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = {name for target in targets if (name := last_name(target))}
            growing.update(names if _makes_defaultdict(node.value) else ())
            built.update(names if _builds(node.value) else ())
    return Facts(imports, frozenset(own), frozenset(growing), frozenset(built))


def _builds(value: ast.expr | None) -> bool:
    """Tell whether this may be a new module: `Net(...)`, `Net(...).to(device)`, `deepcopy(net)`."""
    if not isinstance(value, ast.Call):
        return False
    name = last_name(value.func)
    if name in tables.MOVES_MODULES | {"train", "eval"} and isinstance(value.func, ast.Attribute):
        return _builds(value.func.value)
    return name[:1].isupper() or name in {"deepcopy", "compile"}


def _makes_defaultdict(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Call) and last_name(value.func) == "defaultdict"


def takes_in_keys(node: ast.Subscript, facts: Facts) -> bool:
    """Tell whether what is asked for a key here may take it in: a defaultdict, as optimizers' states are."""
    asked = node.value
    if isinstance(asked, ast.Attribute) and asked.attr == "state":
        return not isinstance(node.slice, ast.Constant)
    return last_name(asked) in facts.growing


def last_name(node: ast.expr) -> str:
    """Return the name of a name or attribute, "" for anything else."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _plain_imports(node: ast.Import) -> dict[str, str]:
    return {a.asname: a.name for a in node.names if a.asname} | {
        a.name.split(".")[0]: a.name.split(".")[0] for a in node.names if not a.asname
    }


def dotted(node: ast.expr) -> str:
    """Return `a.b.c` for a chain of plain names, "" for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([node.id, *reversed(parts)])


def origin(node: ast.expr, facts: Facts = CONVENTIONS) -> str:
    """Return the full library name of a callee (`torch.nn.functional.relu`; builtins bare), "" if it is not
    one."""
    name = dotted(node)
    root, _, rest = name.partition(".")
    if not name:
        return ""
    if root in facts.imports:
        return facts.imports[root] + ("." + rest if rest else "")
    if not rest and hasattr(builtins, root) and root not in facts.defined:
        return root
    return ""


def is_listed(full: str, table: Mapping[str, frozenset[str]]) -> bool:
    """Tell whether a table names this function (or, by "*", its whole module)."""
    module, _, name = full.rpartition(".")
    names = table.get(module, frozenset())
    return name in names or ("*" in names and not name.startswith("_"))


def words(node: ast.expr) -> frozenset[str]:
    """Return the lower-case words in the last name of an expression: `self.train_loader` -> {train,
    loader}."""
    while isinstance(node, (ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    text = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    spaced = "".join(f"_{c}" if c.isupper() else c for c in text)
    return frozenset(w.lower().rstrip("0123456789") for w in [*spaced.split("_"), text] if w)


def looks_like_iterator(node: ast.expr) -> bool:
    """Tell whether going through `node` may use it up, judged by its name or its form."""
    if isinstance(node, ast.Call):
        name = dotted(node.func).rpartition(".")[2] or (
            node.func.attr if isinstance(node.func, ast.Attribute) else ""
        )
        if name in tables.ITERATING_BUILTINS | {"islice", "chain", "tqdm"}:
            return any(looks_like_iterator(a) for a in node.args)
        return name in {"iter", "open"} or name in tables.LOADERS
    return bool(words(node) & tables.ITERATOR_WORDS)


def looks_like_module(node: ast.expr) -> bool:
    """Tell whether a receiver is probably an nn.Module, which `.to()` and the like change in place."""
    return isinstance(node, (ast.Name, ast.Attribute)) and bool(words(node) & tables.MODULE_WORDS)


def _writes_through_arguments(call: ast.Call) -> bool:
    """Tell whether keywords make an otherwise pure call write: `out=`, `inplace=True`,
    `print(file=handle)`."""
    for keyword in call.keywords:
        value = keyword.value
        if keyword.arg == "out" and not (isinstance(value, ast.Constant) and value.value is None):
            return True
        if keyword.arg == "inplace" and not (isinstance(value, ast.Constant) and value.value is False):
            return True
        if keyword.arg == "file" and dotted(value) not in tables.STANDARD_STREAMS:
            return True
    return False


def _writes_by_position(call: ast.Call, facts: Facts) -> bool:
    """Tell whether an argument without a name is one that is written to, or says that one is."""
    full = origin(call.func, facts)
    module, _, name = full.rpartition(".")
    if module == "torch.nn.functional":
        in_place = any(isinstance(one, ast.Constant) and one.value is True for one in call.args[1:])
        renorms = len(call.args) > 3 or any(one.arg == "max_norm" for one in call.keywords)
        return in_place or (name == "embedding" and renorms)
    if module == "numpy":
        if name == "nan_to_num":  # the second says whether it copies
            return len(call.args) > 1 or any(one.arg == "copy" for one in call.keywords)
        most = tables.BEFORE_RESULT.get(name, len(call.args))
    elif not full and isinstance(call.func, ast.Attribute):  # of an array, which is the first argument
        most = tables.BEFORE_RESULT.get(call.func.attr, len(call.args) + 1) - 1
    else:
        return False
    return any(not isinstance(one, ast.Constant) for one in call.args[most:])


def is_random_call(call: ast.Call, facts: Facts = CONVENTIONS) -> bool:
    """Tell whether a call draws from (or seeds) a global random number generator."""
    full = origin(call.func, facts)
    return full not in tables.DRAWS_NOTHING and is_listed(full, tables.RANDOM_FUNCTIONS)


def is_pure_call(call: ast.Call, facts: Facts = CONVENTIONS) -> bool:
    """Tell whether the call itself changes nothing but what print and logging write; its arguments are not
    looked at.

    Only what the tables name is pure; an unknown name, an arbitrary object called (`model(x)`), a random
    draw, `next`, `iter`, a trailing underscore or `out=` are not. Arguments that hold calls must be asked
    about themselves.
    """
    if _writes_through_arguments(call) or _writes_by_position(call, facts):
        return False
    if is_random_call(call, facts) or _uses_up_a_starred(call):
        return False
    if not all(_is_pure_function_value(f, facts) for f in _handed_functions(call, facts)):
        return False
    full = origin(call.func, facts)
    if full in tables.DRAWS_NOTHING:
        return True
    if full:
        return _is_pure_function(full, call)
    if isinstance(call.func, ast.Attribute):
        return _is_pure_method(call, call.func, facts) or _is_logger_call(call.func)
    return False


def _is_pure_function(full: str, call: ast.Call) -> bool:
    if "." not in full and full in tables.PURE_BUILTINS:
        return True
    if ("." not in full and full in tables.ITERATING_BUILTINS) or is_listed(full, tables.ITERATING_FUNCTIONS):
        return not any(looks_like_iterator(_unstarred(a)) for a in call.args)
    if is_listed(full, tables.PURE_FUNCTIONS):
        return full not in {"torch.nn.functional.scaled_dot_product_attention"}
    if full.startswith(("torch.Tensor.", "str.", "dict.", "numpy.ndarray.")):
        return full.rpartition(".")[2] in tables.PURE_METHODS
    return is_listed(full, tables.SINK_FUNCTIONS) and full.partition(".")[0] in {
        "florc",
        "logging",
        "tqdm",
        "sys",
        "traceback",
    }


def _uses_up_a_starred(call: ast.Call) -> bool:
    return any(isinstance(a, ast.Starred) and looks_like_iterator(a.value) for a in call.args)


def _handed_functions(call: ast.Call, facts: Facts) -> list[ast.expr]:
    """Return the functions a call goes on to call: `map(f, xs)`, `max(xs, key=f)`."""
    by_key = [k.value for k in call.keywords if k.arg in {"key", "default_factory"}]
    return by_key + (call.args[:1] if origin(call.func, facts) in tables.CALLS_FIRST_ARGUMENT else [])


def _is_pure_function_value(node: ast.expr, facts: Facts) -> bool:
    """Tell whether a function that is handed on is a lambda (its body is looked at as code) or a pure one by
    name."""
    if isinstance(node, (ast.Lambda, ast.Constant)):
        return True
    return is_pure_call(ast.Call(func=node, args=[], keywords=[]), facts)


def _unstarred(node: ast.expr) -> ast.expr:
    return node.value if isinstance(node, ast.Starred) else node


def _is_pure_method(call: ast.Call, func: ast.Attribute, facts: Facts) -> bool:
    name, count = func.attr, len(call.args) + len(call.keywords)
    if name in facts.defined or (name.endswith("_") and not name.endswith("__")):
        return False
    is_module = looks_like_module(func.value) or last_name(func.value) in facts.built
    if name in tables.MOVES_MODULES and is_module:
        return False
    if name in tables.PURE_METHODS:
        return True
    if name in tables.PURE_WITHOUT_ARGUMENTS:
        return count == 0
    if name in tables.PURE_WITH_ARGUMENTS:
        return count >= tables.PURE_WITH_ARGUMENTS[name]
    return False


def _is_logger_call(func: ast.Attribute) -> bool:
    if func.attr not in tables.LOGGER_METHODS:
        return False
    if isinstance(func.value, ast.Call):
        return dotted(func.value.func).endswith("getLogger")
    last = dotted(func.value).rpartition(".")[2].lower()
    return bool(last) and (last in tables.LOGGER_WORDS or bool(words(func.value) & tables.LOGGER_WORDS))


def is_sink_call(call: ast.Call, facts: Facts = CONVENTIONS) -> bool:
    """Tell whether a call is there for its output: print, logging, SummaryWriter, wandb, a file's write."""
    full = origin(call.func, facts)
    if full and is_listed(full, tables.SINK_FUNCTIONS):
        return True
    if not isinstance(call.func, ast.Attribute) or call.func.attr in facts.defined:
        return False
    receiver, name = call.func.value, call.func.attr
    if name in tables.SINK_METHODS or _is_logger_call(call.func):
        return True
    if name in tables.FILE_METHODS:
        return bool(words(receiver) & (tables.FILE_WORDS | tables.WRITER_WORDS | {"tqdm", "pbar", "bar"}))
    return name in {"log", "log_metric"} and bool(words(receiver) & {"wandb", "run", "mlflow", "logger"})


def is_light_call(call: ast.Call, facts: Facts = CONVENTIONS) -> bool:
    """Tell whether a call surely takes next to no time, so that a loop of such calls is not worth a guard."""
    full = origin(call.func, facts)
    if full:
        if full in tables.ITERATING_BUILTINS or is_listed(full, {"collections": frozenset("*")}):
            return not any(looks_like_iterator(_unstarred(a)) for a in call.args)
        if (
            full in tables.PURE_BUILTINS
            or full in tables.LIGHT_FUNCTIONS
            or is_listed(full, tables.SINK_FUNCTIONS)
        ):
            return True
        return full.rpartition(".")[0] in tables.LIGHT_MODULES
    if not isinstance(call.func, ast.Attribute) or call.func.attr in facts.defined:
        return False
    if call.func.attr == "update":  # dict's, or a progress bar's; an agent's update(batch) is a training step
        return all(isinstance(a, (ast.Constant, ast.Dict)) for a in call.args)
    return call.func.attr in tables.LIGHT_METHODS or is_sink_call(call, facts)


def is_light_iterable(node: ast.expr, facts: Facts = CONVENTIONS) -> bool:
    """Tell whether going through `node` takes next to no time; a loader does not, whatever the loop's body
    holds."""
    return not looks_like_iterator(node) and all(
        is_light_call(n, facts) or is_pure_call(n, facts) for n in ast.walk(node) if isinstance(n, ast.Call)
    )


def is_pure_expression(node: ast.AST, facts: Facts = CONVENTIONS) -> bool:
    """Tell whether evaluating `node`, its nested calls included, changes nothing; a lambda counts as if
    called."""
    if isinstance(node, (ast.Await, ast.Yield, ast.YieldFrom)):
        return False
    if isinstance(node, ast.Call) and not is_pure_call(node, facts):
        return False
    if isinstance(node, ast.comprehension) and looks_like_iterator(node.iter):
        return False
    if (
        isinstance(node, ast.Subscript)
        and words(node.value) & tables.ITERATOR_WORDS
        and not _is_static(node.slice)
    ):
        return False  # a dataset's __getitem__ may draw random numbers
    return all(is_pure_expression(child, facts) for child in ast.iter_child_nodes(node))


def _is_static(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def kind_of_call(call: ast.Call, facts: Facts = CONVENTIONS) -> Kind:
    """Return what a constructor makes, as far as widening cares: an optimizer, a scheduler, a scaler, …"""
    full = origin(call.func, facts) or dotted(call.func)
    name = full.rpartition(".")[2]
    if name in facts.defined:
        return ""
    named: tuple[tuple[Kind, frozenset[str]], ...] = (
        ("optimizer", tables.OPTIMIZERS),
        ("scheduler", tables.SCHEDULERS),
        ("scaler", tables.SCALERS),
        ("wrapper", tables.WRAPPERS),
        ("loader", tables.LOADERS),
        ("writer", tables.WRITERS),
    )
    return next((kind for kind, names in named if name in names), "")


def widened(kind: Kind, call: ast.Call) -> tuple[ast.expr, ...]:
    """Return the arguments that an object made by `call` goes on to change when it is itself changed.

    An optimizer changes its model's parameters, a scheduler its optimizer, a wrapper (DDP, compile) is its
    module.
    """
    if kind in {"optimizer", "scheduler", "wrapper"}:
        named = [
            k.value
            for k in call.keywords
            if k.arg in {"params", "optimizer", "module", "model", "optimizers"}
        ]
        return (*call.args[:1], *named, *(call.args[1:] if kind == "optimizer" else ()))
    return ()
