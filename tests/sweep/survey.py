"""Run inside the surveyed program: which expressions have a value whenever a position is reached.

Its file is laid beside the program, which calls `look(n)` at position n; at exit the findings go to the file
that SWEEP_SURVEY names, as JSON: {position: {"visits": count, "expressions": [...]}}. Nothing here draws a
random number, and it must run without the rest of the tests.
"""

from __future__ import annotations

import atexit
import json
import os
import random
import sys
from collections import deque
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

DEPTH = 2  # attributes and items followed below a name
ITEMS = 6  # keys of a dict, attributes of an object that are followed
PLAIN_ITEMS = 2000  # elements of a container that is printed as a whole
MAX_RELATIONS = 8  # pairs of paths to one object, told a position
METHODS = (FunctionType, staticmethod, classmethod, property)

_seen: dict[int, _Place] = {}


class _Place:
    """What is known of one position: expressions that held at every visit, and pairs that were one object."""

    def __init__(self) -> None:
        self.visits = 0
        self.expressions: dict[str, None] = {}
        self.relations: dict[str, tuple[str, str]] = {}
        self.paths: set[str] = set()


def look(number: int) -> None:
    """Note what the frame that calls this can print."""
    place = _seen.setdefault(number, _Place())
    place.visits += 1
    found = _Found()
    for name, value in _names(sys._getframe(1)):
        found.add(name, value, 0)
    if place.visits == 1:
        place.expressions, place.paths = found.expressions, set(found.paths)
    else:
        place.expressions = {e: None for e in place.expressions if e in found.expressions}
        place.paths &= found.paths.keys()
    place.relations |= found.relations()
    if number % 3 == 0:  # not everywhere: where a function asks for its names, florc goes another way
        frame = sys._getframe(1)
        asked = "dir()" if frame.f_locals is frame.f_globals else "sorted(locals())"
        place.expressions = {asked: None, **place.expressions}


def _names(frame: Any) -> Iterator[tuple[str, Any]]:
    """The names that mean one thing for certain in this frame, its own first."""
    code = frame.f_code
    own = {*code.co_varnames, *code.co_cellvars, *code.co_freevars}
    for name, value in frame.f_locals.items():
        if name.isidentifier() and not name.startswith("__"):
            yield name, value
    for name, value in frame.f_globals.items():
        if name not in own and name not in frame.f_locals and not name.startswith("__"):
            yield name, value


class _Found:
    """What one visit finds."""

    def __init__(self) -> None:
        self.expressions: dict[str, None] = {}
        self.paths: dict[str, Any] = {}

    def add(self, path: str, value: Any, depth: int) -> None:
        """Take in what can be printed of a value, and of what it holds; nothing of a half-built object."""
        try:
            self._add(path, value, depth)
        except Exception:  # before super().__init__(), say: what was said before holds, what follows does not
            pass

    def _add(self, path: str, value: Any, depth: int) -> None:
        library = type(value).__module__.partition(".")[0]
        if isinstance(value, ModuleType):
            self._module(path, value)
        elif _is_plain(value):
            self._say(path if len(repr(value)) < 40 else f"hash(repr({path}))")
        elif library == "torch" or _is_torch(value):
            self._torch(path, value, depth)
        elif library == "numpy":
            self._numpy(path, value)
        elif isinstance(value, random.Random):
            self._say(f"hash({path}.getstate()[1])")
        elif isinstance(value, (list, tuple, deque, dict)):
            self._container(path, value, depth)
        elif isinstance(value, (FunctionType, type)):
            self._code(path, value, depth)
        elif hasattr(value, "__dict__") and not callable(getattr(value, "__next__", None)):
            self._object(path, value, depth)

    def _say(self, expression: str) -> None:
        self.expressions[expression] = None

    def _module(self, name: str, value: ModuleType) -> None:
        state = {
            "torch": [f"hash({name}.get_rng_state().numpy().tobytes())", f"{name}.is_grad_enabled()",
                      f"{name}.get_default_dtype()"],
            "random": [f"hash({name}.getstate()[1])"],
            "numpy": [f"hash({name}.random.get_state()[1].tobytes())", f"{name}.random.get_state()[2:]"],
        }
        for expression in state.get(value.__name__, ()):
            self._say(expression)

    def _torch(self, path: str, value: Any, depth: int) -> None:
        import torch

        if isinstance(value, torch.Tensor):
            self._tensor(path, value)
        elif isinstance(value, torch.nn.Module):
            self._net(path, value, depth)
        elif isinstance(value, torch.optim.Optimizer):
            self._optimizer(path, value)
        elif isinstance(value, torch.optim.lr_scheduler.LRScheduler):
            self.paths[f"{path}.optimizer"] = value.optimizer
            self._say(f"({path}.last_epoch, {path}._last_lr)")
        elif isinstance(value, torch.Generator):
            self._say(f"hash({path}.get_state().numpy().tobytes())")
        elif isinstance(value, torch.amp.GradScaler):
            self._say(f"{path}.get_scale()")
        elif isinstance(value, torch.utils.data.DataLoader):
            self.paths[f"{path}.dataset"] = value.dataset
            self._say(f"(type({path}.sampler).__name__, {path}.batch_size)")

    def _tensor(self, path: str, value: Any) -> None:
        import torch

        self.paths[path] = value
        if value.layout != torch.strided or value.dtype == torch.bfloat16 or value.device.type != "cpu":
            self._say(f"hash(str({path}.tolist()))")
        else:
            self._say(f"hash({path}.detach().contiguous().numpy().tobytes())")
        self._say(f"({path}.dtype, {path}.shape, {path}.stride(), {path}.requires_grad, {path}.is_leaf)")
        if value.is_leaf and value.requires_grad:
            told = f"({path}.grad is None)", f"{path}.grad.double().norm().item()"
            self._say(told[value.grad is not None])
        elif value.grad_fn is not None:
            self._say(f"type({path}.grad_fn).__name__")

    def _net(self, path: str, value: Any, depth: int) -> None:
        self.paths[path] = value
        parameters = list(value.parameters())
        self._say(
            f'hash(b"".join([t.detach().numpy().tobytes() for t in {path}.state_dict().values()]))'
            if all(p.element_size() != 2 for p in parameters)
            else f"[t.double().sum().item() for t in {path}.state_dict().values()]"
        )
        self._say(f"hash(str([None if p.grad is None else p.grad.double().norm().item() "
                  f"for p in {path}.parameters()]))")
        self._say(f"[m.training for m in {path}.modules()].count(True)")
        self._say(f"[p.requires_grad for p in {path}.parameters()].count(True)")
        for name, parameter in list(value.named_parameters(recurse=True))[:1]:
            if all(part.isidentifier() for part in name.split(".")):
                self.paths[f"{path}.{name}"] = parameter
        self._members(path, value, depth, hidden=True)

    def _optimizer(self, path: str, value: Any) -> None:
        self.paths[path] = value
        for index, group in enumerate(value.param_groups[:2]):
            if group["params"]:
                self.paths[f'{path}.param_groups[{index}]["params"][0]'] = group["params"][0]
        self._say(f'hash(b"".join([v.numpy().tobytes() for s in {path}.state.values() '
                  f'for v in s.values() if hasattr(v, "numpy")]))')
        self._say(f"(len({path}.state), [(len(g), g['lr'], len(g['params'])) for g in {path}.param_groups])")

    def _numpy(self, path: str, value: Any) -> None:
        import numpy

        if isinstance(value, numpy.ndarray):
            self.paths[path] = value
            whole = f"hash(str({path}.tolist()))" if value.dtype.hasobject else f"hash({path}.tobytes())"
            self._say(f"({path}.dtype, {path}.shape, {path}.flags.writeable, {whole})")
        elif isinstance(value, numpy.generic):
            self._say(path)
        elif isinstance(value, numpy.random.Generator):
            self._say(f"hash(str({path}.bit_generator.state))")
        elif isinstance(value, numpy.random.RandomState):
            self._say(f"(hash({path}.get_state()[1].tobytes()), {path}.get_state()[2:])")

    def _container(self, path: str, value: Any, depth: int) -> None:
        self.paths[path] = value
        self._say(f"(type({path}).__name__, len({path}))")
        if isinstance(value, dict) and depth < DEPTH:
            for key in [k for k in list(value)[:ITEMS] if isinstance(k, (str, int))]:
                self.add(f"{path}[{key!r}]", value[key], depth + 1)
        elif not isinstance(value, dict) and value and depth < DEPTH:
            self.add(f"{path}[0]", value[0], depth + 1)
            self.add(f"{path}[-1]", value[-1], depth + 1)

    def _code(self, path: str, value: Any, depth: int) -> None:
        """A function's closure, defaults and attributes; a class's own plain attributes."""
        if not _is_project(value) or depth:
            return
        if isinstance(value, type):
            self._members(path, value, depth)
            return
        for index, cell in enumerate(value.__closure__ or ()):
            try:
                self.add(f"{path}.__closure__[{index}].cell_contents", cell.cell_contents, depth + 1)
            except ValueError:  # an empty cell
                pass
        for index, default in enumerate(value.__defaults__ or ()):
            self.add(f"{path}.__defaults__[{index}]", default, depth + 1)
        self._members(path, value, depth)

    def _object(self, path: str, value: Any, depth: int) -> None:
        self.paths[path] = value
        if _is_project(type(value)) or type(value).__name__ in ("Namespace", "SimpleNamespace"):
            self._members(path, value, depth)

    def _members(self, path: str, value: Any, depth: int, *, hidden: bool = False) -> None:
        if depth >= DEPTH:
            return
        names = [n for n in vars(value) if n.isidentifier() and not n.startswith("_" if hidden else "__")]
        for name in names[: 2 * ITEMS]:
            if hidden and name in ("training",):
                continue
            member = vars(value)[name]
            if not (isinstance(value, type) and isinstance(member, METHODS)):
                self.add(f"{path}.{name}", member, depth + 1)

    def relations(self) -> dict[str, tuple[str, str]]:
        """Pairs of paths that lead to one object."""
        first: dict[int, str] = {}
        pairs: dict[str, tuple[str, str]] = {}
        for path, value in self.paths.items():
            other = first.setdefault(id(value), path)
            if other != path and len(pairs) < MAX_RELATIONS:
                pairs[f"({other} is {path})"] = (other, path)
        return pairs


def _is_torch(value: Any) -> bool:
    """True for instances of the project's subclasses of torch's classes."""
    kinds = [("torch", "Tensor"), ("torch.nn", "Module"), ("torch.optim", "Optimizer"),
             ("torch.optim.lr_scheduler", "LRScheduler")]  # fmt: skip
    there = [getattr(sys.modules.get(module), name, None) for module, name in kinds]
    return isinstance(value, tuple(kind for kind in there if isinstance(kind, type)))


def _is_plain(value: Any) -> bool:
    """True for what prints the same wherever it is: numbers, texts, and small containers of these alone."""
    if value is None or type(value) in (bool, int, float, complex, str, bytes):
        return True
    if type(value) in (list, tuple, set, frozenset, deque):
        return len(value) <= PLAIN_ITEMS and all(_is_plain(item) for item in value)
    if type(value) is dict:
        return len(value) <= PLAIN_ITEMS and all(_is_plain(k) and _is_plain(v) for k, v in value.items())
    return False


def _is_project(value: Any) -> bool:
    module = sys.modules.get(getattr(value, "__module__", ""))
    file = getattr(module, "__file__", None) or ""
    return file.startswith(os.environ["SWEEP_HOME"] + os.sep) and "site-packages" not in file


def _write() -> None:
    found = {}
    for number, place in _seen.items():
        relations = [text for text, pair in place.relations.items() if place.paths.issuperset(pair)]
        found[number] = {"visits": place.visits, "expressions": [*place.expressions, *relations]}
    with open(os.environ["SWEEP_SURVEY"], "w", encoding="utf-8") as stream:
        json.dump(found, stream)


atexit.register(_write)
