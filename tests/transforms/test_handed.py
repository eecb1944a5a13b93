"""What added functions, classes and imports keep from one use to the next, told by their text."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from florc.transforms import Added

KEEPING = {
    "a global counter": "N = 0\ndef f():\n    global N\n    N += 1\n",
    "an attribute of the function": "def f():\n    f.n = getattr(f, 'n', 0) + 1\n",
    "a list it appends to": "seen = []\ndef f(x):\n    seen.append(x)\n",
    "a list it hands on": "seen = []\ndef f(x):\n    store(seen, x)\n",
    "a default it changes": "def f(x, seen=[]):\n    seen.append(x)\n",
    "a dict it stores to": "best = {}\ndef f(x):\n    best['x'] = x\n",
    "what another function keeps": "N = 0\ndef g():\n    global N\n    N += 1\ndef f():\n    return g()\n",
    "an iterator": "c = itertools.count()\ndef f():\n    return next(c)\n",
    "a list of a class": "class f:\n    seen = []\n    def add(self, x):\n        self.seen.append(x)\n",
    "a number of a class": "class f:\n    n = 0\n    @classmethod\n    def add(cls):\n        cls.n += 1\n",
    "a number of its class": "class f:\n    n = 0\n    def add(self):\n        type(self).n += 1\n",
    "a number of its __class__": "class f:\n    n = 0\n    def add(self):\n        self.__class__.n += 1\n",
    "a base class": "class A:\n    seen = []\nclass f(A):\n    pass\n",
    "a cache, which prints once": "@functools.cache\ndef f(x):\n    print(x)\n",
    "an unknown decorator": "@counted\ndef f(x):\n    print(x)\n",
    "a variable of the function around": "def f():\n    nonlocal n\n    n += 1\n",
    "setattr": "def f(x):\n    setattr(f, 'x', x)\n",
    "a variable bound twice": "last = 0\ndef f():\n    return last\nlast = 1\n",
    "a name of a library it sets": "def f():\n    torch.mine = 1\n",
}
FRESH = {
    "it only prints": "def f(model):\n    for p in model.parameters():\n        print(p.norm())\n",
    "its own list": "def f(xs):\n    seen = []\n    for x in xs:\n        seen.append(x)\n    return seen\n",
    "its own counter": (
        "def f(xs):\n    n = 0\n    def g():\n        nonlocal n\n        n += 1\n    g()\n    return n\n"
    ),
    "a number that stands": "EPS = 1e-8\ndef f(x):\n    return x / (x + EPS)\n",
    "names that are only read": (
        "NAMES = ['a', 'b']\ndef f(x):\n    for i, n in enumerate(NAMES):\n        print(n, x[i])\n"
    ),
    "names by number": "NAMES = ['a', 'b']\ndef f(i):\n    return NAMES[i]\n",
    "plain defaults": "def f(x, digits=3, dtype=torch.float32, *, name=None):\n    print(round(x, digits))\n",
    "an instance's own": (
        "class f:\n    def __init__(self):\n        self.n = 0\n    def add(self):\n        self.n += 1\n"
    ),
    "a dataclass": "@dataclass\nclass f:\n    n: int = 0\n    xs: list = field(default_factory=list)\n",
    "no gradient": "@torch.no_grad()\ndef f(model, x):\n    return model(x).mean()\n",
    "another function": "def g(x):\n    return x.norm()\ndef f(x):\n    return g(x).item()\n",
    "itself": "def f(n):\n    return n and f(n - 1)\n",
}  # fmt: skip
PROBES = "SEEN = []\nUNIT = 1.0\ndef add(x):\n    SEEN.append(x)\ndef norm(x):\n    return x\n"
MODULES = {"probes": Added(ast.parse(PROBES).body)}
IMPORTS = [
    ("import probes\nprobes.add(1)\n", "probes", True),
    ("import probes\nprobes.norm(1)\n", "probes", False),
    ("import probes\nprint(probes.UNIT)\n", "probes", False),
    ("import probes\nprint(len(probes.SEEN))\n", "probes", True),
    ("import probes as p\nhand(p)\n", "p", True),
    ("from probes import add\n", "add", True),
    ("from probes import add as plus, norm\n", "plus", True),
    ("from probes import add as plus, norm\n", "norm", False),
    ("from probes import *\n", "add", True),
    ("import math\nmath.sqrt(2)\n", "math", False),
    ("def f(x):\n    import probes\n    probes.add(x)\n", "f", True),
    ("def f(x):\n    from probes import norm\n    return norm(x)\n", "f", False),
]


@pytest.mark.parametrize("text", KEEPING.values(), ids=KEEPING)
def test_what_keeps_something_is_told(text):
    assert Added(ast.parse(dedent(text)).body).keeps("f")


@pytest.mark.parametrize("text", FRESH.values(), ids=FRESH)
def test_what_begins_anew_with_each_use_keeps_nothing(text):
    assert not Added(ast.parse(dedent(text)).body).keeps("f")


@pytest.mark.parametrize(("text", "name", "keeps"), IMPORTS)
def test_an_import_keeps_what_its_used_names_keep(text, name, keeps):
    assert Added(ast.parse(text).body, lambda module, level: MODULES.get(module)).keeps(name) is keeps
