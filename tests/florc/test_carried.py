"""Which added lines an earlier iteration may have left something for: told from the text alone."""

from __future__ import annotations

from textwrap import indent

import pytest

from florc.handing import between
from florc.matching import _match

BASE = """\
import torch
#TOP
model = torch.nn.Linear(4, 1)

def evaluate(x):
    #EVALUATE
    return model(x).sum()

def validate(steps):
    #VALIDATE
    for i in range(steps):
        evaluate(torch.ones(4))

class Trainer:
    #METHODS
    def train(self, steps):
        #CALL
        for i in range(steps):
            self.step(i)
            #STEP

    def step(self, i):
        pass

def make():
    #OUTER
    def call(x):
        #NESTED
        return 2 * x
    return call

def batches():
    #GENERATOR
    for x in range(9):
        #YIELDING
        yield x

call, stream = make(), batches()
trainer = Trainer()
#BEFORE
for epoch in range(4):
    #EPOCH
    trainer.train(3)
    #AFTER
    for x in torch.randn(3, 4):
        evaluate(x)
        #INNER
    validate(2)
    call(next(stream))
    #LAST
validate(3)
print("end")
#END
"""
COUNTER = "try:\n    n += 1\nexcept NameError:\n    n = 1\nprint(n)"
COUNTING = """\
class M(type):
    def __call__(cls, *rest):
        cls.k = getattr(cls, "k", 0) + 1
        return super().__call__(*rest)
class Q(metaclass=M):
    pass
"""
BOX = "class Box:\n    items = []\nlog = Box.items"
HELD = {
    "a counter that is made when it is not there": ({"LAST": COUNTER}, "n"),
    "the same in a loop inside": ({"INNER": COUNTER}, "n"),
    "what is bound in a branch": (
        {"EPOCH": "if epoch == 0:\n    first = 1", "LAST": "print(first)"}, "first"),
    "what is made when it is not there": (
        {"LAST": 'if "n" not in globals():\n    n = []\nn.append(1)'}, "n"),
    "a name by its text": (
        {"LAST": "before, now = (locals().get('now'), epoch)\nprint(before)"}, "locals()"),
    "what the iteration before has bound": (
        {"EPOCH": "if epoch:\n    print(last)", "LAST": "last = 2 * epoch"}, "last"),
    "an attribute of a class": ({"TOP": BOX, "LAST": "log.append(epoch)"}, "log"),
    "a metaclass that counts": ({"TOP": COUNTING, "LAST": "q = Q()\nprint(Q.k)"}, "Q"),
    "a function's __dict__": (
        {"TOP": "def f(x):\n    f.__dict__.setdefault('l', []).append(x)", "LAST": "f(epoch)"}, "f"),
    "a function's attribute, set outside": (
        {"TOP": "def f():\n    print('f')", "LAST": "f.n = 1\nprint(f.n)"}, "f"),
    "a list of the module, in a method": ({"TOP": "seen = []", "STEP": "seen.append(i)"}, "seen"),
    "a list of the module, in a function": ({"TOP": "seen = []", "EVALUATE": "seen.append(x)"}, "seen"),
    "a class's number, set outside": ({"TOP": "class C:\n    n = 0", "LAST": "C.n += 1\nprint(C.n)"}, "C"),
    "the same by its name": (
        {"TOP": "def f():\n    pass", "LAST": "setattr(f, 'n', 1)\nprint(getattr(f, 'n'))"}, "f"),
    "a method that counts": (
        {"TOP": "N = 0", "METHODS": "def count(self):\n    global N\n    N += 1", "LAST": "trainer.count()"},
        "count"),
    "calls of a function whose loop runs on its own, too": (
        {"TOP": "calls = []", "VALIDATE": "calls.append(1)\nprint(len(calls))"}, "calls"),
    "what a condition may have bound": (
        {"LAST": "if epoch == 0 or (v := 2 * epoch) > 2:\n    print(v)"}, "v"),
    "what one branch of an expression may have bound": (
        {"LAST": "u = (v := epoch) if epoch == 0 else 1\nprint(u, v)"}, "v"),
    "what is made before the loop, and moves": (
        {"TOP": "w = torch.zeros(2)", "LAST": "w.mul_(0.9)\nprint(w.norm())"}, "w"),
    "the same in a part of it": (
        {"TOP": "w = [torch.zeros(2)]", "LAST": "for q in w:\n    q.add_(1)\nprint(w[0].norm())"}, "w"),
    "the same by another name": (
        {"TOP": "w = [torch.zeros(2)]", "LAST": "q = w[0]\nprint(q)", "INNER": "q += 1"}, "q"),
    "the same, by one of a part": (
        {"TOP": "w = {'a': torch.zeros(2)}", "LAST": "for k, q in w.items():\n    q += 1\nprint(w)"}, "w"),
    "what is given to a function": (
        {"TOP": "w = [p.norm() for p in model.parameters()]", "LAST": "evaluate(w)"}, "w"),
    "an iterator": ({"TOP": "w = enumerate([1, 2])", "LAST": "print(list(w))"}, "w"),
    "a generator": ({"TOP": "w = (p.norm() for p in model.parameters())", "LAST": "print(sum(w))"}, "w"),
    "parts that are iterators": ({"TOP": "w = [zip([1], [2])]", "LAST": "print(list(w[0]))"}, "w"),
    "a dict that takes in keys": (
        {"TOP": "from collections import defaultdict\nw = defaultdict(int)", "LAST": "print(w[epoch], w)"},
        "w"),
    "what is made before the loop, and read in an added function": (
        {"TOP": "w = torch.zeros(2)\ndef f():\n    w.add_(1)", "LAST": "f()\nprint(w)"}, "f"),
    "a draw": ({"TOP": "w = torch.randn(2)", "LAST": "print(w)"}, "w"),
    "what is bound again": (
        {"TOP": "w = torch.zeros(2)", "LAST": "print(w.norm())\nw = model.weight.clone()"}, "w"),
    "a copy out of it": (
        {"TOP": "w = torch.zeros(2)", "LAST": "torch.add(w, 1, out=w)\nprint(w.norm())"}, "w"),
    "a method of the project's of that name": (
        {"TOP": "w = [1.0]", "METHODS": "def count(self, x):\n    x.append(1)",
         "LAST": "trainer.count(w)\nprint(len(w))"}, "w"),
    "a list of a function that made the one called": (
        {"OUTER": "seen = []", "NESTED": "seen.append(x)\nprint(len(seen))"}, "seen"),
    "a number of such a function": (
        {"OUTER": "n = 0", "NESTED": "nonlocal n\nn += 1\nprint(n)"}, "n"),
    "a class made in one": (
        {"OUTER": "class C:\n    n = [0]", "NESTED": "C.n[0] += 1\nprint(C.n)"}, "C"),
    "a generator's": ({"GENERATOR": "c = 0", "YIELDING": "c += 1\nprint(c)"}, "c"),
    "what some iterations bind, read after the loop": (
        {"BEFORE": "best = None", "LAST": "if epoch == 1:\n    best = epoch", "END": "print(best)"}, "best"),
    "what a with may have left out": (
        {"TOP": "from contextlib import suppress", "BEFORE": "d = {0: 5}\nlast = None",
         "LAST": "with suppress(KeyError):\n    last = d[epoch]\nprint(last)"}, "last"),
    "what a with gives another name": (
        {"TOP": "from contextlib import nullcontext\nseen = []",
         "LAST": "with nullcontext(seen) as z:\n    z.append(1)\nprint(seen)"}, "seen"),
    "what a with's head changes": (
        {"TOP": "from contextlib import nullcontext\nseen = []",
         "LAST": "with nullcontext(seen.append(1)):\n    print(len(seen))"}, "seen"),
    "code by its text": ({"TOP": "seen = []", "LAST": "exec('seen.append(1)')\nprint(seen)"}, "exec()"),
    "the script by its name": (
        {"TOP": "import __main__\nseen = []", "LAST": "__main__.seen.append(1)\nprint(seen)"}, "__main__"),
    "the same from where modules are": (
        {"TOP": "import sys\nseen = []",
         "LAST": "sys.modules['__main__'].seen.append(1)\nprint(seen)"}, "__main__"),
    "one operand or the other": (
        {"TOP": "seen = [0]", "LAST": "x = seen or []\nx.append(epoch)\nprint(len(seen))"}, "seen"),
    "a time": ({"TOP": "import time\nt = time.time()", "LAST": "print(t)"}, "t"),
    "a copy of something": (
        {"BEFORE": "import copy\nw = copy.deepcopy(stream)", "LAST": "print(w[0])"}, "w"),
    "a sum over epochs": ({"TOP": "total = 0", "LAST": "total += epoch\nprint(total)"}, "total"),
}  # fmt: skip
ALIASES = {
    "asarray": ("import numpy as np\nw = np.zeros(1)", "a = np.asarray(w)\na += 1"),
    "as_tensor": ("import numpy as np\nw = np.zeros(1)", "a = torch.as_tensor(w)\na.add_(1)"),
    "flip": ("import numpy as np\nw = np.zeros(3)", "a = np.flip(w)\na[0] += 1"),
    "astype": ("import numpy as np\nw = np.zeros(3)", "a = w.astype(float, copy=False)\na[0] += 1"),
    "byte": ("w = torch.zeros(3, dtype=torch.uint8)", "a = w.byte()\na += 1"),
    "atleast": ("w = torch.zeros(2)", "a = torch.atleast_2d(w)\na += 1"),
    "times one": ("w = [[0]]", "a = w * 1\na[0].append(1)"),
    "or": ("w = {'a': [1]}", "a = w | {}\na['a'].append(1)"),
    "deque": ("from collections import deque\nw = [[1]]", "a = deque(w)\na[0].append(1)"),
    "namespace": ("from types import SimpleNamespace as N\nw = [0]", "a = N(a=w)\na.a.append(1)"),
    "parts": ("w = [torch.zeros(2)]", "print([q.subtract_(1) for q in w])"),
    "result": ("import numpy as np\nw = np.zeros(1)", "np.maximum(w, epoch, w)"),
    "moved": ("import copy\nw = torch.nn.Linear(1, 1)", "print(w.double())"),
    "counter": ("from collections import Counter\nw = Counter()", "w.subtract([epoch])"),
    "partition": ("import numpy as np\nw = np.array([3, 1, 2])", "w.partition(1)"),
    "in place": ("import torch.nn.functional as F\nw = torch.zeros(2)", "print(F.relu(w, True))"),
}
HELD |= {name: ({"BEFORE": pre, "LAST": f"{body}\nprint(w)"}, "w") for name, (pre, body) in ALIASES.items()}
FRESH = {
    "what each iteration binds, read after the loop": {"LAST": "b = epoch", "END": "print(b)"},
    "a generator's in one turn": {"YIELDING": "c = 2 * x\nprint(c)"},
    "a number of a function that made the one called": {"OUTER": "n = 5", "NESTED": "print(n)"},
    "an expression that chooses": {"LAST": "v = 2 * epoch\nprint('big' if v > 1 else 'small')"},
    "the same of what a loop binds": (
        {"LAST": "for n, p in model.named_parameters():\n    print(0 if p.grad is None else p.grad.norm())"}),
    "what an expression binds for its branch": {"LAST": "print(v) if (v := 2 * epoch) > 1 else None"},
    "what is bound on the way": {"LAST": "if epoch and (v := 2 * epoch):\n    print(v)"},
    "the same in an and": {"LAST": "(v := 2 * epoch) > 1 and print(v)"},
    "what is made before the loop, and read": (
        {"TOP": "torch.manual_seed(0)", "METHODS": "pass", "LAST": "print((model.weight - w).norm())",
         "BEFORE": "w = model.weight.detach().clone()"}),
    "a number from before the loop": (
        {"BEFORE": "w = model.weight.norm().item()", "LAST": "print(f'{model.weight.norm() / w:.3f}')"}),
    "names from before the loop": (
        {"BEFORE": "w = [n for n, _ in model.named_parameters()]", "LAST": "for n in w:\n    print(n)"}),
    "copies of all parameters": (
        {"BEFORE": "with torch.no_grad():\n    w = {n: p.clone() for n, p in model.named_parameters()}",
         "LAST": "d = 0\nfor n, p in model.named_parameters():\n    d += (p - w[n]).norm()\nprint(d)"}),
    "the same side by side": (
        {"BEFORE": "w = [p.detach().clone() for p in model.parameters()]",
         "LAST": "print(sum((p - q).pow(2).sum() for p, q in zip(model.parameters(), w)) ** 0.5)"}),
    "a deep copy": (
        {"BEFORE": "import copy\nw = copy.deepcopy(model.state_dict())",
         "LAST": "with torch.no_grad():\n    print(torch.dist(model.weight, w['weight']))"}),
    "a list for each epoch": (
        {"EPOCH": "norms = []", "INNER": "norms.append(x.norm().item())", "LAST": "print(max(norms))"}),
    "a counter for each epoch": {"EPOCH": "n = 0", "INNER": "n += 1", "LAST": "print(n)"},
    "a list for each call": {"CALL": "seen = []", "STEP": "seen.append(i)\nprint(len(seen))"},
    "variables of an added loop": {"LAST": "for p in model.parameters():\n    s = p.norm()\n    print(s)"},
    "variables of a with": {"LAST": "with torch.no_grad() as g:\n    w = 1\nprint(g, w)"},
    "either branch": {"LAST": "if epoch:\n    w = 1\nelse:\n    w = 2\nprint(w)"},
    "a format": {"TOP": "form = '{:.3f}'.format", "LAST": "print(form(1.0))"},
    "a lambda": {"TOP": "norm = lambda p: p.norm().item()", "LAST": "print(norm(model.weight))"},
    "the same name elsewhere": {"LAST": "tot = 1\nprint(tot)", "EVALUATE": "tot = x.sum()\nprint(tot)"},
    "a name after the loop": {"LAST": "print(model.bias)", "END": "count = 5\nprint(count)"},
    "a name in a text": {"TOP": "unit = []", "LAST": "print('unit')", "END": "print(unit)"},
    "comprehensions": {"LAST": "norms = [p.norm() for p in model.parameters()]\nprint(norms)"},
    "a helper": {"TOP": "def show(p):\n    print(p.norm())", "INNER": "show(x)", "LAST": "show(x)"},
    "only before the loop": {"TOP": "start = []\nstart.append(1)\nprint(start)"},
}  # fmt: skip


def told(added):
    text = BASE
    for place, code in added.items():
        mark = next(line for line in BASE.splitlines() if line.strip() == f"#{place}")
        text = text.replace(f"{mark}\n", indent(code, mark[: -len(mark.lstrip())]) + "\n")
    match = _match(BASE.encode(), text.encode(), "train.py", "train.py")
    assert not match.match.changes
    loops = {"train.py::for#0", "train.py::validate/for#0"}
    return between({"train.py": match}, "/nowhere", loops, {"train.py::validate/for#0"})


@pytest.mark.parametrize(("added", "name"), HELD.values(), ids=HELD)
def test_what_an_earlier_iteration_may_have_left_is_told(added, name):
    assert name in told(added)


@pytest.mark.parametrize("added", FRESH.values(), ids=FRESH)
def test_what_each_iteration_makes_anew_is_not(added):
    assert told(added) == []
