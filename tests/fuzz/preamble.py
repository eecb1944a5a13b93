"""What every generated program may lean on: imports, small classes and functions, a second module.

They are ordinary project code: florc instruments them, and probes may stand in them.
"""

from __future__ import annotations

import ast

IMPORTS = """\
import array, bisect, collections, contextlib, copy, dataclasses, datetime, decimal, enum, fractions
import functools, heapq, io, itertools, json, logging, math, operator, os, pathlib, random, sys, time
import types, warnings, weakref
"""

NUMPY_IMPORTS = "import numpy as np\n"

TORCH_IMPORTS = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset
"""

CLASSES = """\
Point = collections.namedtuple("Point", "x ys")


class Color(enum.Enum):
    RED = 1
    GREEN = 2
    BLUE = 3


@dataclasses.dataclass
class Config:
    n: int = 1
    tags: list = dataclasses.field(default_factory=list)
    table: dict = dataclasses.field(default_factory=dict)
    parent: object = None


class Slots:
    __slots__ = ("a", "b", "c", "__weakref__")

    def __init__(self, a):
        self.a, self.b, self.c = a, None, set()


class Meter:
    total = 0
    registry = []

    def __init__(self, start=0):
        self.count, self.sum, self.history, self._value = start, 0.0, [], None

    def add(self, value):
        self.count += 1
        self.sum += value
        Meter.total += 1
        for _ in range(2):
            self.history.append(round(value, 6))
        del self.history[:-6]
        return self

    def __call__(self, value):
        return self.add(value)

    def __len__(self):
        return len(self.history)

    def __iter__(self):
        yield from self.history

    def __enter__(self):
        self.count += 1
        return self

    def __exit__(self, *_):
        self.sum -= 1

    def reset(self):
        self.__init__()

    @property
    def mean(self):
        return self.sum / max(self.count, 1)

    @property
    def value(self):
        return self._value

    @value.setter
    def value(self, value):
        self._value = value
        self.history.append(value)

    @classmethod
    def depth(cls):
        return getattr(cls.add, "depth", 0)


class Best(Meter):
    seen = {}

    def __init__(self, start=0):
        super().__init__(start)
        self.best = None

    def add(self, value):
        super().add(value)
        if self.best is None or value > self.best:
            self.best = value
            type(self).seen[len(self.history)] = value
        return self

"""

FUNCTIONS = """\
def whole(n):
    return int(n) % 50 if isinstance(n, (int, float)) and abs(n) < 1e15 else 1


def work(amount=3):
    result = 0
    for v in range(amount):
        result += square(v)
    return result


def square(v):
    return v * v


def make_counter(start=0):
    count = start

    def counter(step):
        nonlocal count
        count += 1
        return count

    return counter


def make_average():
    seen, mean = [], 0.0

    def average(value):
        nonlocal mean
        seen.append(value)
        mean = sum(seen[-4:]) / len(seen[-4:])
        return mean

    return average


def make_nested():
    table = {}

    def outer(value):
        def inner():
            table[len(table) % 5] = value
            return len(table)
        return inner()

    return outer


def accumulate(into, value):
    into.append(value)
    del into[:-5]
    return len(into)


def inner(content):
    return repr(content) if isinstance(content, (int, float, list, dict, str)) else type(content).__name__


def remember(value, memory=[]):
    memory.append(value)
    del memory[:-6]
    return len(memory)


def tally(name):
    tally.calls += 1
    tally.names[name] = tally.names.get(name, 0) + 1
    return tally.calls


tally.calls, tally.names = 0, {}


def recall(n, cache={}):
    if n not in cache:
        cache[n] = n * n
    return cache[n]


@functools.lru_cache(maxsize=None)
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def numbers_from(n):
    while True:
        yield n
        n += 1


def walk_tree(depth):
    if depth:
        yield from walk_tree(depth - 1)
        yield depth
        yield from walk_tree(depth - 1)


def running_mean(values):
    total = 0
    for number, value in enumerate(values, 1):
        total += value
        yield total / number


def echo():
    got = None
    while True:
        got = yield got


def adder():
    summed = 0
    while True:
        got = yield summed
        summed += got or 0


def primed(generator):
    next(generator)
    return generator


def traced(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        wrapper.calls += 1
        return function(*args, **kwargs)

    wrapper.calls, wrapper.depth = 0, getattr(function, "depth", 0) + 1
    return wrapper


def hold_weakly(container, thing):
    if isinstance(container, weakref.WeakValueDictionary):
        container["k"] = thing
    elif isinstance(container, weakref.WeakKeyDictionary):
        container[thing] = 1
    else:
        container.add(thing)


def fails(n):
    if n % 3 == 0:
        raise ValueError(n)
    return n


def append_line(name, value):
    os.makedirs("out", exist_ok=True)
    with open(name, "a") as stream:
        print(value, file=stream)


def write_text(name, text):
    os.makedirs("out", exist_ok=True)
    with open(name, "w") as stream:
        stream.write(text)


def read_text(name):
    try:
        with open(name) as stream:
            return stream.read()
    except OSError:
        return ""


@contextlib.contextmanager
def logged(into, name):
    into.append(f"enter {name}")
    try:
        yield into
    finally:
        into.append(f"leave {name}")

"""

NETS = """\
class Squares(Dataset):
    def __init__(self, n):
        self.n, self.asked = n, 0

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        self.asked += 1
        return torch.tensor([float(i * i)]), i


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.calls, self.log = 0, []
        self.register_buffer("seen", torch.zeros(2))
        self.build()

    def build(self):
        self.out = nn.Linear(3, 2)

    def forward(self, x):
        self.calls += 1
        return self.out(torch.relu(self.fc(x)))


class Normed(Net):
    def build(self):
        self.norm, self.drop, self.out = nn.BatchNorm1d(3), nn.Dropout(0.25), nn.Linear(3, 2)

    def forward(self, x):
        self.calls += 1
        x = self.fc(x)
        if self.training and len(x) > 1:
            x = self.norm(x)
            self.seen[0] += 1
        return self.out(self.drop(x))


class Tied(Net):
    def build(self):
        self.out = nn.Linear(3, 3)
        self.out.weight = self.fc.weight
        self.layers = nn.ModuleList([nn.Linear(3, 3) for _ in range(2)])

    def forward(self, x):
        self.calls += 1
        for layer in self.layers:
            x = torch.tanh(layer(x))
        return self.out(self.fc(x))


class Recurrent(Net):
    def build(self):
        self.cell, self.hidden = nn.GRUCell(3, 3), None

    def forward(self, x):
        self.calls += 1
        known = self.hidden is not None and len(self.hidden) == len(x)
        hidden = self.hidden if known else torch.zeros(len(x), 3)
        out = self.cell(self.fc(x), hidden)
        self.hidden = out.detach()
        return out


def optimizer_for(net, which):
    if which == 0:
        return torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    if which == 1:
        return torch.optim.Adam(net.parameters(), lr=0.01)
    if which == 2:
        return torch.optim.AdamW([{"params": [net.fc.weight]}, {"params": [net.fc.bias], "lr": 0.1}], lr=0.01)
    return torch.optim.SGD(net.parameters(), lr=0.1)


def scheduler_for(optimizer, which):
    if which == 0:
        return torch.optim.lr_scheduler.StepLR(optimizer, 3, gamma=0.5)
    if which == 1:
        return torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.95 ** epoch)
    return torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)


def fit_step(net, optimizer):
    x = torch.randn(4, 3)
    optimizer.zero_grad()
    loss = net(x).pow(2).mean()
    if loss.requires_grad:
        loss.backward()
        optimizer.step()
    return loss.item()

"""

HELPER = """\
import itertools

state = {"n": 0}
items = [1]
kept = items
count = 0
_ticket = itertools.count()


class Registry:
    names = []

    @classmethod
    def add(cls, name):
        cls.names.append(name)
        del cls.names[:-5]


def bump(n):
    global count
    count += n % 5
    state["n"] += 1
    for _ in range(2):
        step(n)
    return count


def step(n):
    items.append(next(_ticket))
    del items[:-4]


def area(n):
    return n * 2


def shared(into):
    into.append(state)
    del into[:-6]
"""


def used_by(program: str, text: str) -> str:
    """Those definitions of the text that a program uses, and what these use."""
    lines, nodes = text.split("\n"), ast.parse(text).body
    wanted, taken = _names(ast.parse(program)), set()
    while True:
        new = [node for node in nodes if node not in taken and _defined(node) & wanted]
        if not new:
            break
        taken.update(new)
        wanted = wanted.union(*map(_names, new))
    parts = []
    for node in nodes:
        if node in taken:
            first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))])
            parts.append("\n".join(lines[first - 1 : node.end_lineno]))
    return "\n\n\n".join(parts)


def _names(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def _defined(node: ast.stmt) -> set[str]:
    """The names that a statement of the preamble is for: `f.calls = 0` belongs to f."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return {node.name}
    return _names(node) - {"collections"} if isinstance(node, ast.Assign) else set()
