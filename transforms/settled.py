"""Which variables of added lines no iteration of a loop changes: made once, before it, and then only read.

`start = model.weight.clone()` before the loop, `print((model.weight - start).norm())` in it. What stands in
the text decides: whatever reads such a name in a loop must be pure, and so must what it is handed on to. An
added function that reads one may change it: handed.py has those.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

from .knowledge import Facts, dotted, is_pure_expression, last_name, origin
from .recorded import names_in
from .statements import WITHS


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_GRAD = _words("no_grad enable_grad inference_mode set_grad_enabled")
_KEYWORDS = _words("dim axis ord p keepdim sep end")
_SCALARS = _words("len float int bool str repr abs round sum isinstance")
_BUILTINS = _SCALARS | _words("print min max sorted list tuple dict set enumerate zip range any all")
_NUMBERS = _words(
    """item norm sum mean std var prod dot abs pow square sqrt exp log numel nelement size dim all any argmax
    argmin clone isnan isfinite eq ne gt lt ge le"""
)
"""Methods of tensors and arrays whose results share nothing with them; lists and dicts do not have them."""
_METHODS = _NUMBERS | _words(
    """items keys values get index count join format flatten reshape view squeeze unsqueeze transpose t
    detach max min median quantile state_dict tolist"""
)
_SOURCES = _words("parameters named_parameters buffers named_buffers")
"""Methods of modules whose results can be gone through once."""
_FUNCTIONS = {
    "torch": _words(
        """norm dist abs sum mean std var dot matmul mm cosine_similarity allclose equal stack cat
        max min sqrt square pow log exp isnan isfinite isclose zeros ones full tensor zeros_like ones_like
        eye arange"""
    ),
    "torch.nn.functional": _words("cosine_similarity mse_loss l1_loss pairwise_distance"),
    "numpy": _words(
        """mean std abs sum allclose array_equal dot max min median var sqrt square log exp isnan isfinite
        zeros ones full array arange"""
    ),
}
_ALL_OF = frozenset({"torch.linalg", "numpy.linalg", "math"})
_SHARING = _words("max min array")  # what they return may be a part of what they are given
_ONE_ARGUMENT = _words("abs sqrt square log exp isnan isfinite")  # NumPy writes its result into a second


def settled(
    statements: Sequence[ast.stmt], runs_once: Callable[[ast.stmt], bool], facts: Facts
) -> frozenset[str]:
    """The names that one statement binds, in no loop, and whose values those in loops leave as they are.

    statements: all that were added to a module.
    runs_once: tells of one whether it stands in none of the loops, nor in what they may call.
    """
    every = list(_unwrapped(statements))
    once = [one for one in every if runs_once(one)]
    looped = [one for one in every if one not in once]
    bound = [name for one in every for name in names_in([one]).bound]
    made = [name for one in once for name in _made_by(one, facts) if bound.count(name) == 1]
    return frozenset(name for name in made if _is_left(name, looped, facts))


def _unwrapped(statements: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    for one in statements:
        if isinstance(one, WITHS) and all(map(_is_of_grad, one.items)):
            yield from _unwrapped(one.body)
        else:
            yield one


def _is_of_grad(item: ast.withitem) -> bool:
    call = item.context_expr
    if not isinstance(call, ast.Call) or last_name(call.func) not in _GRAD or item.optional_vars is not None:
        return False
    return not call.keywords and all(isinstance(one, ast.Constant) for one in call.args)


def _mentioned(node: ast.AST) -> set[str]:
    """The names in it, those of scopes inside included."""
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def _mentions(node: ast.AST, names: set[str]) -> bool:
    return not names.isdisjoint(_mentioned(node))


# -- what is made ------------------------------------------------------------------------------------------


def _made_by(node: ast.stmt, facts: Facts) -> list[str]:
    """Names that a statement binds to something that can be read as often as one likes."""
    if not isinstance(node, (ast.Assign, ast.AnnAssign)) or node.value is None:
        return []
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    if not is_pure_expression(node.value, facts) or not _is_plain(node.value, facts):
        return []
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _is_plain(value: ast.expr, facts: Facts) -> bool:
    """Tell whether an expression makes numbers, texts, tensors, arrays, or lists and dicts of these."""
    if isinstance(value, (ast.Constant, ast.JoinedStr, ast.Compare)):
        return True
    if isinstance(value, ast.UnaryOp):
        return _is_plain(value.operand, facts)
    if isinstance(value, ast.BinOp):
        return _is_plain(value.left, facts) and _is_plain(value.right, facts)
    if isinstance(value, (ast.List, ast.Tuple, ast.Set)):
        return all(_is_plain(one, facts) for one in value.elts)
    if isinstance(value, ast.Dict):
        return all(one is not None and _is_plain(one, facts) for one in [*value.keys, *value.values])
    if isinstance(value, (ast.ListComp, ast.SetComp)):
        return _is_element(value.elt, value.generators, facts)
    if isinstance(value, ast.DictComp):
        parts = (value.key, value.value)
        return all(_is_element(one, value.generators, facts) for one in parts)
    return isinstance(value, ast.Call) and _makes_plain(value, facts)


def _is_element(value: ast.expr, generators: Sequence[ast.comprehension], facts: Facts) -> bool:
    """The same, or what the comprehension goes over where these are names and parameters of a module."""
    named = {name for one in generators for name in names_in([one.target]).bound}
    of_module = all(_goes_over(one.iter, facts) for one in generators)
    return _is_plain(value, facts) or (of_module and isinstance(value, ast.Name) and value.id in named)


def _goes_over(value: ast.expr, facts: Facts) -> bool:
    """Tell whether this gives the parameters of a module."""
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return False
    return value.func.attr in _SOURCES - facts.defined


def _makes_plain(call: ast.Call, facts: Facts) -> bool:
    """Tell whether a call makes such a thing, whatever it is given."""
    full = origin(call.func, facts)
    if full in _SCALARS:
        return True
    if full in {"copy.deepcopy", "list", "tuple", "dict"}:
        return len(call.args) == 1 and (_is_plain(call.args[0], facts) or _goes_over(call.args[0], facts))
    if full:
        return _is_known(full)
    method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    return method in (_NUMBERS | {"state_dict", "tolist"}) - facts.defined


def _is_known(full: str) -> bool:
    module, _, name = full.rpartition(".")
    return module in _ALL_OF or name in _FUNCTIONS.get(module, ())


# -- what is left as it is ---------------------------------------------------------------------------------


def _is_left(name: str, looped: Sequence[ast.stmt], facts: Facts) -> bool:
    """Tell whether the statements change nothing of what the name stands for."""
    leading, count = {name}, 0  # names of it, and of what may be a part of it
    while len(leading) > count:
        count = len(leading)
        for one in looped:
            if _mentions(one, leading) and not _leaves(one, leading, facts):
                return False
    return True


def _leaves(node: ast.stmt, leading: set[str], facts: Facts) -> bool:
    """Tell whether a statement changes nothing; `leading` gets the names that it hands parts on to."""
    if isinstance(node, ast.Expr):
        return _only_reads(node.value, leading, facts)
    if isinstance(node, ast.Assign):
        if not _is_number(node.value, leading, facts):
            leading |= names_in([node]).bound
        return all(map(_is_names, node.targets)) and _only_reads(node.value, leading, facts)
    if isinstance(node, ast.AugAssign):
        adds = isinstance(node.target, ast.Name) and node.target.id not in leading
        return adds and _is_number(node.value, leading, facts) and _only_reads(node.value, leading, facts)
    if isinstance(node, ast.If):
        body = [*node.body, *node.orelse]
        return _only_reads(node.test, leading, facts) and all(_leaves(one, leading, facts) for one in body)
    if isinstance(node, ast.For):
        if _mentions(node.iter, leading):
            leading |= names_in([node.target]).bound
        head = _is_names(node.target) and _only_reads(node.iter, leading, facts)
        return head and all(_leaves(one, leading, facts) for one in [*node.body, *node.orelse])
    if isinstance(node, ast.With):
        return all(map(_is_of_grad, node.items)) and all(_leaves(one, leading, facts) for one in node.body)
    return isinstance(node, ast.Pass)


def _is_names(target: ast.expr) -> bool:
    if isinstance(target, (ast.Tuple, ast.List)):
        return all(map(_is_names, target.elts))
    return isinstance(target, ast.Name)


def _is_number(value: ast.expr, leading: set[str], facts: Facts) -> bool:
    """Tell whether an expression comes to something of its own: to no part of what these names stand for."""
    if isinstance(value, (ast.Constant, ast.JoinedStr, ast.Compare)) or not _mentions(value, leading):
        return True
    if isinstance(value, ast.UnaryOp):
        return _is_number(value.operand, leading, facts)
    if isinstance(value, ast.BinOp):
        return _is_number(value.left, leading, facts) and _is_number(value.right, leading, facts)
    if not isinstance(value, ast.Call):
        return False
    full = origin(value.func, facts)
    if full in _SCALARS:
        return full != "sum" or len(value.args) == 1
    if full:
        return _is_known(full) and full.rpartition(".")[2] not in _SHARING
    return isinstance(value.func, ast.Attribute) and value.func.attr in _NUMBERS


def _only_reads(value: ast.expr, leading: set[str], facts: Facts) -> bool:
    """Tell whether an expression is pure, and does with these names nothing but what is known to read."""
    if not is_pure_expression(value, facts):
        return False
    names = _with_variables(value, leading)
    for node in ast.walk(value):
        if isinstance(node, (ast.NamedExpr, ast.Lambda, ast.Starred)) and _mentions(node, names):
            return False
        if isinstance(node, ast.Call) and _mentions(node, names) and not _is_reading(node, facts):
            return False
    return True


def _with_variables(value: ast.expr, leading: set[str]) -> set[str]:
    """These names, and what comprehensions call the parts of what they stand for."""
    found, count = set(leading), 0
    while len(found) > count:
        count = len(found)
        for node in ast.walk(value):
            if isinstance(node, ast.comprehension) and _mentions(node.iter, found):
                found |= names_in([node.target]).bound
    return found


def _is_reading(call: ast.Call, facts: Facts) -> bool:
    if any(keyword.arg not in _KEYWORDS for keyword in call.keywords):
        return False
    full = origin(call.func, facts)
    if full in _BUILTINS:
        return True
    if full:
        most = 1 if full.rpartition(".")[2] in _ONE_ARGUMENT else 2
        return _is_known(full) and len(call.args) <= most
    if not isinstance(call.func, ast.Attribute) or dotted(call.func).startswith(("np.", "torch.")):
        return False
    return call.func.attr in (_METHODS | _SOURCES) - facts.defined
