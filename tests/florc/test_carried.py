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

trainer = Trainer()
for epoch in range(4):
    #EPOCH
    trainer.train(3)
    #AFTER
    for x in torch.randn(3, 4):
        evaluate(x)
        #INNER
    validate(2)
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
    "a sum over epochs": ({"TOP": "total = 0", "LAST": "total += epoch\nprint(total)"}, "total"),
}  # fmt: skip
FRESH = {
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
