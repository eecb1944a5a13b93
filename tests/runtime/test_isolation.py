"""A probe sees the recorded run and leaves it as it is: whatever it changes is put back after it."""

from __future__ import annotations

import pathlib  # noqa: F401 - for the table's texts
import random
import sys
import types
from collections.abc import Callable
from typing import Any

import pytest

from florc.runtime.errors import CannotRestore, NeedsExecution
from florc.runtime.isolation import Isolated
from florc.runtime.project import Project

MODULE = "__probed__"


def world(setup: str, *own: str) -> tuple[dict[str, Any], Callable[[str], list[str]]]:
    """A project module after some setup, and what runs a probe in it; the probe gives what was put back."""
    module = sys.modules[MODULE] = types.ModuleType(MODULE)
    names = vars(module)
    exec(setup, names)
    project = Project()
    project.add(MODULE, "m.py", "/m.py", names)

    def probe(text: str) -> list[str]:
        isolated = Isolated(project, frame, frozenset(own), (), {MODULE: frozenset(own)})
        exec(text, names)
        return isolated.restore()

    frame = _module_frame(names)
    return names, probe


def _module_frame(names: dict[str, Any]) -> Any:
    """A frame at the top of the module."""
    exec(compile("import sys as _s\n_florc_frame = _s._getframe()\ndel _s", "/m.py", "exec"), names)
    return names.pop("_florc_frame")


# name: (setup, probe, look, words of which one must name what was put back)
PLAIN = {
    "a list": ("log = [1]; other = log", "log.append(2); log[0] = 9", "(log, other is log)", "log"),
    "a dict, order and all": (
        "d = {'a': 1, 'b': [2]}",
        "d['b'].append(3); d['c'] = d.pop('a')",
        "list(d.items())",
        "d",
    ),
    "a set": ("s = {1, 2}", "s.add(3); s.discard(1)", "s", "s"),
    "a rebound name": ("x = [1]; y = x", "x = 5", "(x, x is y)", "x"),
    "a deleted name": ("x = [1]", "del x", "x", "x"),
    "attributes": ("class A: pass\na = A(); a.n = 1", "a.n += 1; a.new = 2", "vars(a)", "a"),
    "a class attribute": ("class A:\n    n = 1", "A.n += 1", "A.n", "A"),
    "a closure's variable": (
        "def make():\n    n = 0\n    def up():\n        nonlocal n\n        n += 1\n"
        "        return n\n    return up\nup = make()",
        "up(); up()",
        "up()",
        "up",
    ),
    "a default argument": (
        "def f(x, seen=[]):\n    seen.append(x)\n    return len(seen)",
        "f(1)",
        "f(2)",
        "f",
    ),
    "what it changes below a name of its own": ("log = [1]", "mine = log; mine.append(2)", "log", "log"),
    "Python's generator": (
        "import random\nrandom.seed(1)",
        "random.random(); random.gauss(0, 1)",
        "(random.random(), random.gauss(0, 1))",
        "random",
    ),
    "a private generator": ("import random\nr = random.Random(1)", "r.random()", "r.random()", "r"),
    "the working directory": ("import os", "os.chdir('/')", "os.getcwd()", "directory"),
    "a position in a file": (
        "f = open(__import__('os').__file__); f.readline()",
        "f.read(10)",
        "f.tell()",
        "f",
    ),
}
NUMPY = {
    "NumPy's generator": (
        "import numpy as np\nnp.random.seed(1)",
        "np.random.rand(3)",
        "np.random.rand()",
        "NumPy",
    ),
    "a private one": ("import numpy as np\ng = np.random.default_rng(1)", "g.random(3)", "g.random()", "g"),
    "an array": (
        "import numpy as np\na = np.zeros(2000); v = a[1:]",
        "a += 1; v[0] = 7",
        "(a.sum(), v.base is a)",
        "a",
    ),
    "errstate": ("import numpy as np", "np.seterr(all='ignore')", "np.geterr()", "NumPy"),
}
NET = (
    "import torch\nfrom torch import nn\ntorch.manual_seed(0)\n"
    "net = nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, 1))\n"
    "opt = torch.optim.Adam(net.parameters()); x = torch.randn(8, 2)\n"
    "net(x).sum().backward(); opt.step(); opt.zero_grad(); w = net[0].weight\n"
)
TORCH = {
    "memory too large to stand in a content": (
        "import torch, numpy\nbig = torch.zeros(5000); shown = big[7:9]; rows = numpy.zeros(5000)",
        "big.add_(1); rows += 1",
        "(big.unique().tolist(), shown.tolist(), shown.data_ptr() - big.data_ptr(), rows.sum())",
        "big",
    ),
    "torch's generator": (
        "import torch\ntorch.manual_seed(1)",
        "torch.rand(3)",
        "torch.rand(1).item()",
        "torch",
    ),
    "a private torch generator": (
        "import torch\ng = torch.Generator().manual_seed(1)",
        "torch.rand(3, generator=g)",
        "torch.rand(1, generator=g).item()",
        "g",
    ),
    "running statistics": (
        NET,
        "net(x)",
        "(net[1].running_mean.tolist(), net[1].num_batches_tracked.item())",
        "net",
    ),
    "train and eval": (NET, "net.eval(); net[2].train()", "[m.training for m in net.modules()]", "net"),
    "gradients": (NET, "net(x).sum().backward()", "[p.grad for p in net.parameters()]", "net"),
    "weights and moments": (
        NET,
        "net(x).sum().backward(); opt.step()",
        "(w.tolist(), opt.state[w]['step'].item(), opt.param_groups[0]['params'][0] is net[0].weight)",
        "net",
    ),
    "a batch taken from a new iterator": (
        "import torch\ntorch.manual_seed(0)\n"
        "loader = torch.utils.data.DataLoader(torch.arange(6), batch_size=2, shuffle=True)",
        "next(iter(loader))",
        "[b.tolist() for b in loader]",
        "torch",
    ),
    "grad mode": (NET, "torch.set_grad_enabled(False)", "torch.is_grad_enabled()", "torch"),
    "a tensor of which the program holds a view": (
        "import torch\nt = torch.zeros(6); v = t[2:4]",
        "v += 1; t[5] = 3",
        "(t.tolist(), v.tolist())",
        "t",
    ),
}


def rows(*tables: dict[str, tuple[str, str, str, str]]) -> list[Any]:
    return [pytest.param(*row, id=name) for table in tables for name, row in table.items()]


@pytest.mark.parametrize(("setup", "text", "look", "named"), rows(PLAIN, NUMPY, TORCH))
def test_what_a_probe_changes_is_put_back_and_named(setup, text, look, named, monkeypatch):
    if "torch" in setup:
        pytest.importorskip("torch")
    monkeypatch.chdir(".")
    untouched = world(setup)[0]
    expected = repr(eval(look, untouched))
    names, probe = world(setup, "mine")
    words = probe(text)
    assert repr(eval(look, names)) == expected
    assert any(named in word for word in words)
    for opened in (untouched.get("f"), names.get("f")):
        if opened is not None and hasattr(opened, "close"):
            opened.close()


def test_a_probe_that_only_looks_changes_nothing_and_is_not_named():
    _, probe = world("import random\nlog = [1, 2]; state = random.getstate()")
    assert probe("total = sum(log); text = repr(state)[:5]") == []


def test_what_belongs_to_probes_stays_theirs():
    names, probe = world("log = [1]", "norms", "count")
    probe("norms = [0.5]; count = 1")
    assert probe("norms.append(0.7); count += 1; log.append(9)") == [f"{MODULE}.log"]
    assert (names["norms"], names["count"], names["log"]) == ([0.5, 0.7], 2, [1])


def test_names_of_a_function_are_handed_back_by_value():
    project = Project()

    def program() -> tuple[Any, ...]:
        best, log = 3, [1]
        isolated = Isolated(project, sys._getframe(), frozenset(), ("best", "late", "log"), {})
        best, log[0] = 4, best
        late = 5
        assert isolated.restore() == ["best", "late", "log"]
        return isolated.values, isolated.lacks("late"), isolated.lacks("best"), log, late

    assert program() == ((3, None, [1]), True, False, [1], 5)


# before, then what a probe assigns; both are called x
ASSIGNED = {
    "itself": ("[1]", "x", []),
    "an equal number": ("1000.5", "x * 1.0", []),
    "an equal path": ("pathlib.Path('a')", "pathlib.Path('a')", []),
    "a NaN that is the same": ("float('nan')", "float('nan')", []),
    "another number": ("1", "x + 1", ["x"]),
    "a number of another type": ("1", "True", ["x"]),
    "minus zero": ("0.0", "-x", ["x"]),
    "another list with the same in it": ("[1]", "list(x)", ["x"]),
}


@pytest.mark.parametrize(("before", "assigned", "named"), ASSIGNED.values(), ids=ASSIGNED)
def test_a_name_of_a_function_is_named_where_it_is_bound_to_something_else(before, assigned, named):
    x = eval(before)
    isolated = Isolated(Project(), sys._getframe(), frozenset(), ("x",), {})
    x = eval(assigned)
    assert isolated.restore() == named, x


def test_of_a_module_the_names_are_named_that_are_bound_to_something_else():
    _, probe = world("a, b, c, log = 1, 2.5, 3, [1]")
    assert probe("a = 2; b = b * 1.0; del c; log = log") == [f"{MODULE}.a", f"{MODULE}.c"]


def test_an_iterator_that_has_moved_on_cannot_be_put_back_and_that_is_told():
    """Nothing can be taken back into an iterator."""
    _, probe = world("it = iter([1, 2, 3, 4])")
    with pytest.raises(CannotRestore, match="iterator"):
        probe("next(it)")


def test_a_value_that_was_lost_may_not_be_looked_at_by_a_probe():
    from florc.runtime.lost import Lost

    names, probe = world("")
    names["gone"] = Lost("the last batch's iterator")
    assert probe("pass") == []
    with pytest.raises(NeedsExecution, match="last batch"):
        probe("print(gone)")


def test_generators_are_put_back_where_nothing_else_changed():
    _, probe = world("")
    state = random.getstate()
    assert len(probe("import random; random.seed(9)")) == 1
    assert random.getstate() == state
