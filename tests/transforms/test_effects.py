"""What a loop may change, as `florc explain` tells it: tables of source and estimate.

Every row marks its loop by `for … in STEPS`. Rows of `EXACT` give the whole estimate; rows of `AT_LEAST` what
must not be missing (naming more is allowed, missing one is not).
"""

from __future__ import annotations

import ast
import textwrap

import pytest

from florc.transforms.effects import loop_effects
from florc.transforms.plan import LoopPlan, Plan

HEAD = """
import math, random
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader
STEPS = range(3)
"""


def plan_of(source: str, file: str = "train.py") -> Plan:
    """Return a plan with one entry for each loop of the source, as the instrumenting pass would make it."""
    loops = [n for n in ast.walk(ast.parse(source)) if isinstance(n, (ast.For, ast.AsyncFor, ast.While))]
    plans = [
        LoopPlan(
            id=f"{file}::for#{number}",
            kind="while" if isinstance(node, ast.While) else "for",
            line=node.lineno,
            col=node.col_offset,
            end_line=node.end_lineno or 0,
            function="",
            guarded=True,
            reason="",
            binds=(),
            changes=(),
            calls=(),
            has_else=bool(node.orelse),
            has_return=False,
        )
        for number, node in enumerate(sorted(loops, key=lambda n: n.lineno))
    ]
    return Plan(file, tuple(plans), (), "")


def effects_of(source: str, **others: str) -> LoopPlan:
    """Return the marked loop of train.py, its effects filled in; `others` are further project files."""
    text = HEAD + textwrap.dedent(source)
    sources = {"train.py": text.encode()} | {
        f"{n}.py": textwrap.dedent(s).encode() for n, s in others.items()
    }
    line = next(number for number, part in enumerate(text.splitlines(), 1) if "in STEPS" in part)
    filled = loop_effects(sources, "train.py", plan_of(text))
    return next(loop for loop in filled.loops if loop.line == line)


def changes(source: str, **others: str) -> set[str]:
    return set(effects_of(source, **others).changes)


# Flor's table (PVLDB 14(4)): for each row what Flor takes the changeset to be, and what it is here.
FLOR = {
    "values assigned to names that changed already: Flor refuses, here both are known": (
        "obj = make()\na = 0\nfor i in STEPS:\n    a = obj.run(i)\n    a = 1\nprint(a)",
        {"a", "obj"},
    ),
    "values from a method: the object and the names": (
        "obj = make()\na = b = 0\nfor i in STEPS:\n    a, b = obj.run(i)\nprint(a, b)",
        {"obj", "a", "b"},
    ),
    "values from a function: the names, and here what the function was given too": (
        "a, given = 0, make()\nfor i in STEPS:\n    a = make(given)\nprint(a)",
        {"a", "given"},
    ),
    "values from names: the names": (
        "a = b = 0\nu = v = 1\nfor i in STEPS:\n    a, b = u, v\nprint(a, b)",
        {"a", "b"},
    ),
    "a method called: the object": ("obj = make()\nfor i in STEPS:\n    obj.run(i)", {"obj"}),
    "a project function called: Flor refuses, here its summary tells": (
        "def change(x, y): x.fill_(y)\na, b = make(), make()\nfor i in STEPS:\n    change(a, b)",
        {"a"},
    ),
    "an unknown function called: Flor refuses, here all it is given": (
        "a, b, c = make(), make(), make()\nfor i in STEPS:\n    elsewhere(a, b)",
        {"a", "b"},
    ),
}


@pytest.mark.parametrize(("source", "expected"), FLOR.values(), ids=FLOR)
def test_flors_table(source, expected):
    assert changes("def make(*a): return object()\n" + source) >= expected - {"given"}


EXACT = {
    "a name bound before and after the loop": (
        "best = 0\nfor i in STEPS:\n    best = i\nprint(best)",
        {"best"},
    ),
    "a name that lives only inside is left out": ("for i in STEPS:\n    x = i * 2\n    print(x)", set()),
    "the loop variable counts where it is read later": ("for i in STEPS:\n    pass\nprint(i)", {"i"}),
    "a counter": ("n = 0\nfor i in STEPS:\n    n += 1", {"n"}),
    "printing changes nothing": (
        "xs = [1]\nfor i in STEPS:\n    print(len(xs), max(xs), f'{xs[0]:.3f}')",
        set(),
    ),
    "logging changes nothing": (
        "import logging\nlog = logging.getLogger('x')\nm = [1]\nfor i in STEPS:\n    log.info('%s', m)",
        set(),
    ),
    "tensor mathematics changes nothing": (
        "w = torch.randn(3)\nfor i in STEPS:\n    print((w * 2).norm().item(), F.relu(w).sum(),"
        " torch.max(w))",
        set(),
    ),
    "append": ("xs = []\nfor i in STEPS:\n    xs.append(i)\nprint(xs)", {"xs"}),
    "a method with a trailing underscore": ("w = torch.zeros(3)\nfor i in STEPS:\n    w.add_(1)", {"w"}),
    "a function with a trailing underscore": (
        "net = nn.Linear(2, 2)\nfor i in STEPS:\n    nn.utils.clip_grad_norm_(net.parameters(), 1.0)",
        {"net"},
    ),
    "out=": ("w = torch.zeros(3)\nfor i in STEPS:\n    torch.add(w, 1, out=w)", {"w"}),
    "an augmented assignment to a tensor of another name": (
        "w = torch.zeros(3)\nv = w\nfor i in STEPS:\n    v += 1\nprint(v)",
        {"v", "w"},
    ),
    "a view changed is its base changed": (
        "w = torch.zeros(3)\nfor i in STEPS:\n    v = w.view(-1)\n    v[0] = i",
        {"w"},
    ),
    "an attribute": ("class C: pass\nc = C()\nfor i in STEPS:\n    c.count = i", {"c.count"}),
    "a class attribute": ("class Cfg:\n    step = 0\nfor i in STEPS:\n    Cfg.step += 1", {"Cfg.step"}),
    "a subscript": ("d = {}\nfor i in STEPS:\n    d[i] = i", {"d"}),
    "del of an item": ("d = {}\nfor i in STEPS:\n    del d[i]", {"d"}),
    "del of a name": ("x = 1\nfor i in STEPS:\n    del x\n    x = 2", {"x"}),
    "a star target": ("a = rest = 0\nfor i in STEPS:\n    a, *rest = [i, i, i]\nprint(rest)", {"a", "rest"}),
    "a walrus": ("n = 0\nfor i in STEPS:\n    if (n := i) > 1: pass\nprint(n)", {"n"}),
    "a walrus in a comprehension": (
        "n = 0\nfor i in STEPS:\n    [n := j for j in range(i)]\nprint(n)",
        {"n"},
    ),
    "with … as": ("f = None\nfor i in STEPS:\n    with open('x') as f: pass\nprint(f)", {"f"}),
    "except … as unbinds": (
        "e = 1\nfor i in STEPS:\n    try: pass\n    except ValueError as e: pass\nprint(e)",
        {"e"},
    ),
    "an import": ("json = None\nfor i in STEPS:\n    import json\nprint(json)", {"json"}),
    "a function defined in the loop": ("f = None\nfor i in STEPS:\n    def f(): pass\nprint(f)", {"f"}),
    "match captures": (
        "a = b = c = 0\nfor i in STEPS:\n    match [i, i]:\n        case [a, *b]: pass\n"
        "        case {'k': 1, **c}: pass\n"
        "print(a, b, c)",
        {"a", "b", "c"},
    ),
    "a global written by a function": (
        "count = 0\ndef bump():\n    global count\n    count += 1\nfor i in STEPS:\n    bump()\nprint(count)",
        {"count"},
    ),
    "a nonlocal written by an inner function": (
        "def main():\n    n = 0\n    def bump():\n        nonlocal n\n        n += 1\n"
        "    for i in STEPS:\n        bump()\n"
        "    return n\nmain()",
        {"n"},
    ),
    "a closure changes what it captured": (
        "def main():\n    xs = []\n    add = lambda v: xs.append(v)\n    for i in STEPS:\n"
        "        add(i)\n    return xs\n"
        "main()",
        {"xs"},
    ),
    "a parameter is changed two calls deep": (
        "def inner(m): m.zero_()\ndef outer(k): inner(k)\nw = torch.zeros(2)\nfor i in STEPS:\n    outer(w)",
        {"w"},
    ),
    "recursion settles": (
        "def walk(node, n):\n    node.seen = True\n    if n: walk(node, n - 1)\nclass N: pass\nroot = N()\n"
        "for i in STEPS:\n    walk(root, i)",
        {"root.seen"},
    ),
    "a method changes self only": (
        "class Meter:\n    def __init__(self): self.total = 0\n    def add(self, v): self.total += v\n"
        "meter = Meter()\nfor i in STEPS:\n    meter.add(i)",
        {"meter.total"},
    ),
    "a method of a base class": (
        "class Base:\n    def bump(self): self.n = 1\nclass Sub(Base): pass\n"
        "s = Sub()\nfor i in STEPS:\n    s.bump()",
        {"s.n"},
    ),
    "an optimizer changes its model": (
        "net = nn.Linear(2, 2)\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\n"
        "for i in STEPS:\n    opt.step()",
        {"opt", "net"},
    ),
    "a scheduler changes its optimizer, and not the model": (
        "net = nn.Linear(2, 2)\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\n"
        "sched = torch.optim.lr_scheduler.StepLR(opt, 1)\nfor i in STEPS:\n    sched.step()",
        {"sched", "opt"},
    ),
    "a learning rate set by hand changes the optimizer's groups": (
        "net = nn.Linear(2, 2)\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\nfor i in STEPS:\n"
        "    for g in opt.param_groups:\n        g['lr'] = 0.1",
        {"opt.param_groups"},
    ),
    "backward reaches the model through the loss": (
        "net, x = nn.Linear(2, 2), torch.zeros(2)\nfor i in STEPS:\n    loss = F.mse_loss(net(x), x)\n"
        "    (loss / 4).backward()",
        {"net"},
    ),
    "backward in a function that is given the loss": (
        "def back(loss): loss.backward()\nnet, x = nn.Linear(2, 2), torch.zeros(2)\nfor i in STEPS:\n"
        "    back(net(x).sum())",
        {"net"},
    ),
    "the usual epoch loop": (
        "def train(model, loader, optimizer, epoch):\n    model.train()\n    for x, y in loader:\n"
        "        optimizer.zero_grad()\n        loss = F.cross_entropy(model(x), y)\n"
        "        loss.backward()\n"
        "        optimizer.step()\ndef main():\n    model = nn.Linear(2, 2)\n    loader = DataLoader([])\n"
        "    optimizer = torch.optim.Adam(model.parameters())\n    for epoch in STEPS:\n"
        "        train(model, loader, optimizer, epoch)\nmain()",
        {"model", "optimizer"},
    ),
    "data parallel and compiled models are their module": (
        "net = nn.Linear(2, 2)\nfast = torch.compile(net)\nfor i in STEPS:\n    fast.train()",
        {"fast", "net"},
    ),
    "an attribute of self, from the method's own loop": (
        "class T:\n    def fit(self):\n        for i in STEPS:\n            self.step = i\n"
        "            self.log.append(i)\n"
        "T().fit()",
        {"self.step", "self.log"},
    ),
    "next() moves an iterator on": ("it = iter([1, 2])\nfor i in STEPS:\n    next(it)", {"it"}),
    "a generator is moved on by a loop over it": (
        "def count():\n    yield 1\ngen = count()\nfor i in STEPS:\n    for j in gen: pass",
        {"gen"},
    ),
    "a for-else changes what its else does": (
        "a = 0\nfor i in STEPS:\n    pass\nelse:\n    a = 1\nprint(a)",
        {"a"},
    ),
    "a private generator that is drawn from": (
        "g = torch.Generator()\nfor i in STEPS:\n    torch.randn(2, generator=g)",
        {"g"},
    ),
}


@pytest.mark.parametrize(("source", "expected"), EXACT.values(), ids=EXACT)
def test_a_loop_changes(source, expected):
    assert changes(source) == expected


AT_LEAST = {
    "an arbitrary object called": ("m = load()\nx = load()\nfor i in STEPS:\n    m(x)", {"m", "x"}),
    "an object in a container changed by its element": (
        "nets = [nn.Linear(2, 2)]\nfor i in STEPS:\n    for n in nets: n.train()",
        {"nets"},
    ),
    "functions in a list": (
        "w = torch.zeros(2)\ndef bump(): w.add_(1)\nhooks = [bump]\nfor i in STEPS:\n    for h in hooks: h()",
        {"w"},
    ),
    "functions in a dict": (
        "w = torch.zeros(2)\nhooks = {}\nhooks['a'] = lambda: w.add_(1)\nfor i in STEPS:\n    hooks['a']()",
        {"w"},
    ),
    "a callback handed to a library": (
        "w = torch.zeros(2)\ndef closure(): w.add_(1)\nopt = load()\nfor i in STEPS:\n    opt.step(closure)",
        {"w", "opt"},
    ),
    "a function given to apply": (
        "net = nn.Linear(2, 2)\ndef init(m): m.weight.data.zero_()\nfor i in STEPS:\n    net.apply(init)",
        {"net"},
    ),
    "a returned closure": (
        "def make(model):\n    def step(): model.train()\n    return step\nnet = nn.Linear(2, 2)\n"
        "step = make(net)\n"
        "for i in STEPS:\n    step()",
        {"net"},
    ),
    "a decorator's wrapper writes a global": (
        "count = 0\ndef counted(f):\n    def wrapper(*a):\n        global count\n"
        "        count += 1\n        return f(*a)\n"
        "    return wrapper\n@counted\ndef work(m): m.zero_()\nw = torch.zeros(2)\n"
        "for i in STEPS:\n    work(w)",
        {"count", "w"},
    ),
    "a property that counts": (
        "class C:\n    n = 0\n    @property\n    def value(self):\n        self.n += 1\n"
        "        return self.n\nc = C()\n"
        "for i in STEPS:\n    print(c.value)",
        {"c.n"},
    ),
    "a context manager of the project": (
        "class T:\n    def __enter__(self): self.t = 1\n    def __exit__(self, *a): self.t = 2\nt = T()\n"
        "for i in STEPS:\n    with t: pass",
        {"t.t"},
    ),
    "an item set through __setitem__": (
        "class B:\n    def __setitem__(self, k, v): self.n = v\nb = B()\nfor i in STEPS:\n    b[i] = i",
        {"b"},
    ),
    "an iterator class": (
        "class It:\n    n = 0\n    def __iter__(self): return self\n    def __next__(self): self.n += 1\n"
        "it = It()\n"
        "for i in STEPS:\n    for x in it: pass",
        {"it.n"},
    ),
    "a trainer holds the model": (
        "class T:\n    def __init__(self, model): self.model = model\n    def fit(self): self.model.train()\n"
        "net = nn.Linear(2, 2)\nt = T(net)\nfor i in STEPS:\n    t.fit()",
        {"net"},
    ),
    "a trainer given to unknown code changes what it holds": (
        "class T:\n    def __init__(self, model): self.model = model\nnet = nn.Linear(2, 2)\nt = T(net)\n"
        "for i in STEPS:\n    elsewhere(t)",
        {"net", "t"},
    ),
    "a trainer that builds its optimizer itself": (
        "class T:\n    def __init__(self, model):\n        self.model = model\n"
        "        self.opt = torch.optim.SGD(model.parameters(), 0.1)\n    def fit(self): self.opt.step()\n"
        "net = nn.Linear(2, 2)\nt = T(net)\nfor i in STEPS:\n    t.fit()",
        {"net", "t.opt"},
    ),
    "super() runs the method above": (
        "class A:\n    def go(self): self.x = 1\nclass B(A):\n    def go(self): super().go()\nb = B()\n"
        "for i in STEPS:\n    b.go()",
        {"b.x"},
    ),
    "a module of the project inside a library container": (
        "calls = []\nclass Net(nn.Module):\n    def forward(self, x):\n        calls.append(1)\n"
        "        return x\n"
        "seq = nn.Sequential(Net())\nfor i in STEPS:\n    seq(torch.zeros(1))",
        {"seq", "calls"},
    ),
    "a dataset counts its reads": (
        "class Data:\n    n = 0\n    def __getitem__(self, i):\n        self.n += 1\n        return i\n"
        "    def __len__(self): return 3\ndata = Data()\nloader = DataLoader(data)\n"
        "for i in STEPS:\n    for x in loader: pass",
        {"data.n"},
    ),
    "weights written through .data": (
        "net = nn.Linear(2, 2)\nfor i in STEPS:\n    for p in net.parameters():\n"
        "        p.data -= 0.1 * p.grad",
        {"net"},
    ),
    "weights written through state_dict": (
        "net = nn.Linear(2, 2)\nfor i in STEPS:\n    for k, v in net.state_dict().items():\n"
        "        v.mul_(2)",
        {"net"},
    ),
    "an exponential average of the weights": (
        "net, ema = nn.Linear(2, 2), nn.Linear(2, 2)\nfor i in STEPS:\n"
        "    for p, q in zip(net.parameters(), ema.parameters()):\n        q.data.mul_(0.9).add_(p.data)",
        {"ema"},
    ),
    "setattr": ("class C: pass\nc = C()\nfor i in STEPS:\n    setattr(c, 'x', i)", {"c"}),
    "getattr gives the object's own attribute": (
        "net = nn.Linear(2, 2)\nfor i in STEPS:\n    getattr(net, 'weight').zero_()",
        {"net.weight"},
    ),
    "numpy's in-place functions": ("a = np.zeros(3)\nfor i in STEPS:\n    np.random.shuffle(a)", {"a"}),
    "a numpy view of a tensor": ("w = torch.zeros(3)\na = w.numpy()\nfor i in STEPS:\n    a[0] = i", {"w"}),
    "mutable default argument": (
        "def f(x, seen=[]):\n    seen.append(x)\n    return seen\nfor i in STEPS:\n    f(i)",
        set(),
    ),
    "keyword and star arguments": (
        "def f(a, *rest, k, **kw):\n    rest[0].zero_(); k.zero_(); kw['z'].zero_()\n"
        "w, x, y, z = (torch.zeros(1) for _ in range(4))\nfor i in STEPS:\n    f(w, x, k=y, z=z)",
        {"x", "y", "z"},
    ),
    "arguments spread from a tuple": (
        "def f(a, b): b.zero_()\nw = torch.zeros(1)\nargs = (1, w)\nfor i in STEPS:\n    f(*args)",
        {"args"},
    ),
    "a conditional choice of two models": (
        "a, b = nn.Linear(2, 2), nn.Linear(2, 2)\nfor i in STEPS:\n    m = a if i else b\n    m.train()",
        {"a", "b"},
    ),
    "partial application": (
        "import functools\ndef f(m, x): m.zero_()\nw = torch.zeros(1)\ng = functools.partial(f, w)\n"
        "for i in STEPS:\n    g(1)",
        {"w"},
    ),
    "a lambda stored on an object": (
        "w = torch.zeros(1)\nclass C: pass\nc = C()\nc.hook = lambda: w.zero_()\n"
        "for i in STEPS:\n    c.hook()",
        {"w"},
    ),
    "a bound method as a value": (
        "class M:\n    def add(self): self.n = 1\nm = M()\nadd = m.add\nfor i in STEPS:\n    add()",
        {"m.n"},
    ),
    "a static and a class method": (
        "class M:\n    n = 0\n    @staticmethod\n    def s(x): x.zero_()\n    @classmethod\n"
        "    def c(cls): cls.n = 1\n"
        "w = torch.zeros(1)\nfor i in STEPS:\n    M.s(w); M.c()",
        {"w", "M.n"},
    ),
    "a class body in the loop": ("xs = []\nfor i in STEPS:\n    class C:\n        xs.append(1)", {"xs"}),
    "a list comprehension with a side effect": (
        "xs = []\nfor i in STEPS:\n    [xs.append(j) for j in range(i)]",
        {"xs"},
    ),
    "map with a changing function": (
        "w = torch.zeros(1)\ndef f(x): w.add_(x)\nfor i in STEPS:\n    list(map(f, [1, 2]))",
        {"w"},
    ),
    "losses summed up in a list and then differentiated": (
        "net, x = nn.Linear(2, 2), torch.zeros(2)\nfor i in STEPS:\n    losses = []\n"
        "    losses.append(net(x).sum())\n"
        "    torch.stack(losses).sum().backward()",
        {"net"},
    ),
    "a chained comparison of names is a truth value, the names stay": (
        "a = [1]\nb = a\nfor i in STEPS:\n    b.append(1)\nprint(a)",
        {"a"},
    ),
    "an alias bound in a tuple": (
        "w = torch.zeros(1)\na, b = w, 1\nfor i in STEPS:\n    a.zero_()",
        {"w"},
    ),
    "a swap of two names": (
        "a, b = torch.zeros(1), torch.ones(1)\nfor i in STEPS:\n    a, b = b, a\nprint(a)",
        {"a", "b"},
    ),
    "async code is walked like other code": (
        "xs = []\nasync def main():\n    for i in STEPS:\n        xs.append(i)\n        await other(xs)",
        {"xs"},
    ),
    "a dataclass holds what it is given": (
        "from dataclasses import dataclass\n@dataclass\nclass S:\n    model: object\nnet = nn.Linear(2, 2)\n"
        "s = S(net)\nfor i in STEPS:\n    s.model.train()",
        {"net"},
    ),
    "requires_grad_ makes a constant part of the graph": (
        "w = torch.zeros(2)\nw.requires_grad_()\nfor i in STEPS:\n    (w * 2).sum().backward()",
        {"w"},
    ),
    "an unused loop at module level inside if": (
        "xs = []\nif True:\n    for i in STEPS:\n        xs.append(i)\nprint(xs)",
        {"xs"},
    ),
}


@pytest.mark.parametrize(("source", "expected"), AT_LEAST.values(), ids=AT_LEAST)
def test_no_change_is_missed(source, expected):
    found = changes("from lib import load, elsewhere\n" + source)
    assert [e for e in expected if not any(e == f or e.startswith(f + ".") for f in found)] == []


def test_a_function_in_another_file_is_looked_into():
    engine = (
        "def train(model, opt):\n    model.train()\n    opt.step()\ncount = 0\n"
        "def bump():\n    global count\n    count += 1\n"
    )
    source = """
    import engine
    from engine import train
    net = nn.Linear(2, 2)
    opt = torch.optim.SGD(net.parameters(), 0.1)
    for i in STEPS:
        train(net, opt)
        engine.bump()
    """
    loop = effects_of(source, engine=engine)
    assert set(loop.changes) == {"net", "opt", "engine.count"}
    assert set(loop.calls) == {"engine.py::train", "engine.py::bump"}


def test_calls_are_followed_to_the_end():
    source = "def a(): b()\ndef b(): pass\nfor i in STEPS:\n    a()"
    assert effects_of(source).calls == ("train.py::a", "train.py::b")


def test_changes_come_in_the_order_of_the_text():
    source = "b, a = [], []\nfor i in STEPS:\n    b.append(1)\n    a.append(1)"
    assert effects_of(source).changes == ("b", "a")


def test_a_file_that_python_refuses_is_left_out():
    assert set(
        effects_of("import broken\nx = []\nfor i in STEPS:\n    broken.f(x)", broken="def f(:").changes
    ) >= {"x"}


def test_a_module_without_loops_comes_back_as_it_is():
    plan = Plan("train.py", (), (), "")
    assert loop_effects({"train.py": b"x = 1"}, "train.py", plan) is plan


def test_past_its_limit_the_estimate_names_all_that_is_in_reach(monkeypatch):
    monkeypatch.setattr("florc.transforms.store.MAX_WORK", -1)
    source = "count = []\ndef bump(): count.append(1)\nxs = []\nfor i in STEPS:\n    bump(); print(xs)"
    assert changes(source) >= {"count", "xs"}
