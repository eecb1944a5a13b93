"""State that added functions and modules keep: theirs in a whole replay, refused where iterations part."""

from __future__ import annotations

import pytest

from tests.florc.running import florc, lay, python

PROGRAM = """\
import torch

torch.manual_seed(0)
weight = torch.zeros(3, requires_grad=True)
optimizer = torch.optim.SGD([weight], 0.1)
for epoch in range(4):
    for step in range(5):
        optimizer.zero_grad()
        ((weight - torch.randn(3)) ** 2).sum().backward()
        optimizer.step()
    print(epoch, weight.norm().item())
"""
BEGIN, LOOK = "torch.manual_seed(0)\n", "    print(epoch,"
MODULE = """\
SEEN = []

def add(x):
    SEEN.append(x)
    print("seen", len(SEEN), x)

def show(x):
    print("shown", x)
"""
COUNTS = "def count():\n    count.n = getattr(count, 'n', 0) + 1\n    print(count.n)\n"
COLLECTS = """\
class C:
    seen = []
    def add(self):
        self.seen.append(1)
        print(len(self.seen))
"""
WAYS = {
    "a module": ("import probes\n", "    probes.add(weight.norm().item())\n", "probes"),
    "a name of a module": ("from probes import add\n", "    add(weight.norm().item())\n", "add"),
    "a global": ("N = 0\ndef count():\n    global N\n    N += 1\n    print(N)\n", "    count()\n", "count"),
    "an attribute": (COUNTS, "    count()\n", "count"),
    "a class": (COLLECTS, "    C().add()\n", "C"),
}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = lay(tmp_path_factory.mktemp("handing"), {"train.py": PROGRAM})
    assert florc(folder, "record", "-q", "--overhead", "1", "train.py").code == 0
    lay(folder, {"probes.py": MODULE})
    return folder


def edit(folder, before, look):
    lay(folder, {"train.py": PROGRAM.replace(BEGIN, before + BEGIN).replace(LOOK, look + LOOK)})


@pytest.mark.parametrize(("before", "look", "name"), WAYS.values(), ids=WAYS)
def test_a_whole_replay_leaves_what_added_lines_keep_to_them(recorded, before, look, name):
    edit(recorded, before, look)
    done = florc(recorded, "replay", "train.py")
    assert (done.code, done.out) == (0, python(recorded, "train.py").out)
    assert "put back" not in done.err


@pytest.mark.parametrize("option", [("--at", "2"), ("--workers", "2"), ("--sample", "50%")], ids=" ".join)
@pytest.mark.parametrize(("before", "look", "name"), WAYS.values(), ids=WAYS)
def test_iterations_alone_are_refused_where_added_lines_keep_something(recorded, before, look, name, option):
    edit(recorded, before, look)
    done = florc(recorded, "replay", *option, "train.py")
    assert (done.code, done.out) == (2, "")
    assert f"{option[0]}: the added lines carry something from one iteration to the next ({name})" in done.err


def test_iterations_alone_are_given_where_they_keep_nothing(recorded):
    before = "import probes\nSCALE = 2.0\ndef norm(x):\n    return SCALE * x.norm().item()\n"
    edit(recorded, before, "    probes.show(norm(weight))\n")
    wanted = python(recorded, "train.py").out.splitlines()
    done = florc(recorded, "replay", "--at", "2", "train.py")
    assert (done.code, done.out.splitlines()) == (0, wanted[4:6])


IN_FUNCTION = """\
import torch

torch.manual_seed(0)
weight = torch.zeros(3, requires_grad=True)
optimizer = torch.optim.SGD([weight], 0.1)

def train(steps):
    for step in range(steps):
        optimizer.zero_grad()
        ((weight - torch.randn(3)) ** 2).sum().backward()
        optimizer.step()

def main():
    for epoch in range(4):
        train(5)
        print(epoch, weight.norm().item())

main()
"""


@pytest.fixture(scope="module")
def in_function(tmp_path_factory):
    folder = lay(tmp_path_factory.mktemp("function"), {"train.py": IN_FUNCTION})
    assert florc(folder, "record", "-q", "--overhead", "1", "train.py").code == 0
    return folder


def test_what_a_call_collects_it_collects_anew(in_function):
    text = IN_FUNCTION.replace("    for step", "    norms = []\n    for step")
    text = text.replace("        optimizer.step()\n", """\
        optimizer.step()
        norms.append(weight.grad.norm().item())
    print("mean", sum(norms) / len(norms), max(norms))
""")
    lay(in_function, {"train.py": text})
    wanted = python(in_function, "train.py").out.splitlines()
    done = florc(in_function, "replay", "--at", "2", "train.py")
    assert (done.code, done.out.splitlines()) == (0, wanted[4:6])


BETWEEN = {
    "before the loop": (
        "    for epoch", "    norms = []\n    for epoch", "        norms.append(1)\n", "norms"
    ),
    "the iteration before": (
        "        train(5)\n",
        "        if epoch:\n            print(weight - last)\n        train(5)\n",
        "        last = weight.detach().clone()\n", "last",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("where", "first", "then", "name"), BETWEEN.values(), ids=BETWEEN)
def test_what_the_function_around_the_main_loop_keeps_is_told(in_function, where, first, then, name):
    text = IN_FUNCTION.replace(where, first).replace("        print(epoch", f"{then}        print(epoch")
    lay(in_function, {"train.py": text})
    assert florc(in_function, "replay", "train.py").out == python(in_function, "train.py").out
    done = florc(in_function, "replay", "--at", "2", "train.py")
    assert (done.code, done.out) == (2, "")
    assert f"carry something from one iteration to the next ({name})" in done.err
