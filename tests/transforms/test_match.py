"""Matching an edited module against the recorded one: probes, changes, where lines and loops are."""

import ast
import textwrap

import pytest

from florc.transforms.match import Match, match
from florc.transforms.plan import LoopPlan, Plan, Region

BASE = textwrap.dedent("""\
    import logging
    import random

    import torch
    from torch import nn

    log = logging.getLogger(__name__)
    WIDTH = 8
    #@module


    class Net(nn.Module):
        scale = 1.0
        #@class

        def forward(self, x):
            #@method
            return self.out(x) * self.scale


    def total(values):
        #@helper
        return sum(values)


    def main(args, loader):
        model = Net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        history = []
        best = 0.0
        for epoch in range(args.epochs):
            for x, y in loader:
                loss = model(x).sum()
                #@step
                optimizer.step()
            #@loop
            if loss > best:
                best = loss
                #@branch
            print("epoch", epoch, best)
            history.append(best)
        #@end
        return best
    """)


def plan(source: str) -> Plan:
    """A plan in which every loop has an id and every body is a region, as far as the matcher looks at it."""
    tree = ast.parse(source)
    loops: list[LoopPlan] = []
    regions = [Region(0, 1, 0, 1, "module")]
    for node in ast.walk(tree):
        if isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            spot = (f"f.py::#{len(loops)}", "for", node.lineno, node.col_offset, node.end_lineno or 0)
            loops.append(LoopPlan(*spot, "", True, "", (), (), (), False, False))
        for field in ("body", "orelse", "finalbody"):
            body = getattr(node, field, None)
            if isinstance(body, list) and body and not isinstance(node, ast.Module):
                first, last = body[0], body[-1]
                where = (first.lineno, first.col_offset, last.end_lineno)
                regions.append(Region(len(regions), *where, f"{type(node).__name__}.{field}"))
    return Plan("f.py", tuple(loops), tuple(regions), "")


def matched(old: str, new: str, **options: bool) -> Match:
    """Match two texts."""
    return match(old.encode(), new.encode(), plan(old), **options)


def inserted(place: str, code: str, **options: bool) -> Match:
    """Match BASE against BASE with code at one of its places."""
    mark = next(line for line in BASE.splitlines() if line.strip() == f"#@{place}")
    indent = mark[: -len(mark.lstrip())]
    return matched(BASE, BASE.replace(mark, textwrap.indent(textwrap.dedent(code), indent)), **options)


def edited(old: str, new: str) -> Match:
    """Match BASE against BASE with one text in it replaced."""
    assert old in BASE
    return matched(BASE, BASE.replace(old, new))


PURE = [
    ("step", "print(loss.item())"),
    ("step", "log.info('loss %f', loss)"),
    ("step", "norm = sum(p.grad.norm().item() for p in model.parameters())\nprint(norm)"),
    ("step", "assert not loss.isnan()"),
    ("step", "if loss > 10:\n    print('high')\nelse:\n    print('low')"),
    ("step", "for n, p in model.named_parameters():\n    if p.grad is None:\n        continue\n    print(n)"),
    ("step", "while True:\n    break"),
    ("step", "try:\n    print(loss.item())\nexcept RuntimeError as error:\n    print(error)"),
    ("step", "with torch.no_grad():\n    print(x.mean().item())"),
    ("step", "shapes = {}\nshapes['x'] = x.shape\nprint(shapes)"),
    ("step", "seen = []\nseen.append(loss.item())"),
    ("step", "count = 0\ncount += 1"),
    ("step", "print(max(history), len(history))"),  # known to be a list
    ("step", "print(total([1.0, 2.0]))"),  # a function of the module that only computes
    ("loop", "import math\nprint(math.sqrt(epoch))"),
    ("module", "import torch"),  # the same again
    ("end", "print([value for value in history if (double := value * 2) > 1])"),
    ("module", "import sys\nSTART = 0\nprint('start', START)"),
    ("module", "def norm(t):\n    total_ = {}\n    for k in t:\n        total_[k] = 1\n    return total_"),
    ("module", "class Meter:\n    def add(self, v):\n        self.v = v\n        return self"),
    ("class", "def norms(self):\n    return [p.norm() for p in self.parameters()]"),
    ("method", "print(x.shape)"),
    ("branch", "print('better', best)"),
    ("end", "del_me = 1\ndel del_me"),
    ("end", "match epoch:\n    case int() as number:\n        print(number)"),
    ("end", "x_, *rest = [1, 2, 3]"),
]  # fmt: skip


@pytest.mark.parametrize(("place", "code"), PURE)
def test_added_code_that_reads_and_prints_is_a_pure_probe(place, code):
    found = inserted(place, code)
    assert not found.changes
    assert found.probes
    assert all(probe.kind == "added" and probe.pure for probe in found.probes)


IMPURE = [
    ("loop", "model.eval()"),
    ("loop", "history.append(1)"),
    ("loop", "a, b = next(iter(loader))"),
    ("loop", "for a, b in loader:\n    print(a)"),  # draws from the generator, may use it up
    ("loop", "print(list(loader))"),
    ("loop", "print([a for a in loader])"),
    ("loop", "print(*loader)"),
    ("loop", "noise = random.random()"),
    ("loop", "out = model(x)"),
    ("loop", "torch.manual_seed(0)"),
    ("loop", "w = model.out.weight.detach()\nw[0] = 1"),  # shares memory with a parameter
    ("loop", "w = model.out.weight\nw += 1"),
    ("loop", "breakpoint()"),
    ("loop", "import pdb; pdb.set_trace()"),
    ("end", "exit()"),
    ("end", "import sys\nsys.exit(3)"),
    ("module", "class Late:\n    value = random.random()"),
    ("module", "@register('x')\ndef late():\n    return 1"),
    ("loop", "print(optimizer.state[model.out.weight])"),  # before the first step it would have one more key
    ("loop", "print(len(optimizer.state[model.out.weight]['exp_avg']))"),
]


def test_what_the_added_lines_have_opened_themselves_they_may_send_through():
    code = "import socket\nmine = socket.create_connection(('host', 1))\nmine.sendall(b'x')"
    assert not inserted("loop", code).changes


@pytest.mark.parametrize(("place", "code"), IMPURE)
def test_added_code_that_may_change_state_is_a_probe_but_not_a_pure_one(place, code):
    found = inserted(place, code)
    assert not found.changes
    assert not all(probe.pure for probe in found.probes)


def test_a_helper_that_draws_random_numbers_is_not_pure_to_call():
    code = (
        "def noisy(v):\n    return v + random.random()\ndef outer(v):\n    return noisy(v)\nprint(outer(1))"
    )
    *defs, call = inserted("module", code).probes
    assert all(probe.pure and probe.inert for probe in defs)
    assert not call.pure


@pytest.mark.parametrize(
    ("code", "inert"),
    [
        ("import math", True),
        ("from math import sqrt as root", True),
        ("def f(a, b=1):\n    print(a)\n    return b", True),
        ("async def f():\n    await g()", True),
        ("class A:\n    def f(self):\n        raise ValueError", True),
        ("class A:\n    x = random.random()", False),
        ("def f(a=random.random()):\n    pass", False),
        ("print(1)", False),
        ("value = 1", False),
    ],
)
def test_only_imports_and_definitions_without_effects_are_inert(code, inert):
    (probe,) = inserted("module", code).probes
    assert probe.inert is inert


CHANGES = [
    ("step", "break", "`break`"),
    ("step", "if loss > 10:\n    continue", "`continue`"),
    ("step", "for a in range(3):\n    print(a)\nelse:\n    break", "`break`"),  # the else belongs to no loop
    ("step", "return", "`return`"),
    ("step", "raise ValueError", "`raise`"),
    ("step", "try:\n    raise ValueError\nexcept ValueError:\n    pass", "`raise`"),
    ("step", "value = yield", "`yield`"),
    ("step", "best = 1", "assigns `best`"),
    ("step", "best += 1", "assigns `best`"),
    ("step", "best: float = 1", "assigns `best`"),
    ("step", "del history", "assigns `history`"),
    ("step", "for epoch in range(3):\n    print(epoch)", "assigns `epoch`"),
    ("step", "with open('f') as model:\n    pass", "assigns `model`"),
    ("step", "if (best := 3) > 2:\n    print(best)", "assigns `best`"),
    ("step", "print([best := v for v in range(3)])", "assigns `best`"),
    ("step", "try:\n    print(1)\nexcept ValueError as best:\n    pass", "assigns `best`"),
    ("step", "match loss:\n    case {'a': best}:\n        pass", "assigns `best`"),
    ("step", "Net = None", "assigns `Net`"),  # a global here: assigned, it would become a local
    ("step", "model.scale = 2", "changes `model.scale`"),
    ("step", "history[0] = 2", "changes `history[0]`"),
    ("step", "del history[0]", "changes `history[0]`"),
    ("step", "optimizer.param_groups[0]['lr'] = 0.1", "changes `optimizer.param_groups[0]['lr']`"),
    ("step", "model.state_dict()['w'] = 0", "changes `model.state_dict()['w']`"),
    ("step", "setattr(model, 'scale', 2)", "changes `setattr(model, 'scale', 2)`"),
    ("step", "for group in optimizer.param_groups:\n    group['lr'] = 0.1", "`optimizer`"),
    ("step", "for i, p in enumerate(model.parameters()):\n    p.data = 0", "`model`"),
    ("step", "alias = model\nalias.scale = 2", "`model`"),
    ("step", "globals()['WIDTH'] = 3", "changes"),
    ("step", "torch.backends.cudnn.benchmark = True", "changes"),
    ("loop", "import torch.backends.cudnn as cudnn\ncudnn.benchmark = True", "imported module"),
    ("loop", "model.register_forward_hook(print)", "`model.register_forward_hook`"),
    ("loop", "import numpy as np\nnp.set_printoptions(3)", "`np.set_printoptions`"),
    ("loop", "history[0].pipe.sendall(b'x')", "`history.pipe.sendall` sends what cannot be taken back"),
    ("loop", "for value in history:\n    model.send(value)", "`model.send` sends"),
    ("module", "WIDTH = 9", "assigns `WIDTH`"),
    ("module", "def total(values):\n    return 0", "assigns `total`"),
    ("module", "def poke():\n    global WIDTH\n    WIDTH = 9", "assigns `WIDTH`"),
    ("loop", "def poke():\n    nonlocal best\n    best = 9", "assigns `best`"),
    ("module", "import numpy as random", "imports `random`"),
    ("loop", "import torch", "imports `torch`"),  # would make it a local of main, which reads it further up
    ("module", "from random import *", "`import *`"),
    ("module", "sum = max", "assigns `sum`"),  # a function of the module reads it
    ("class", "def forward(self, x):\n    return x", "assigns `forward`"),
    ("class", "def out(self, x):\n    return x", "adds `out` to class `Net`"),
    ("class", "def __call__(self, x):\n    return x", "adds `__call__` to class `Net`"),
    ("class", "seen = []", "adds `seen` to class `Net`"),
    ("class", "def count(self):\n    self.calls = getattr(self, 'calls', 0) + 1", "changes `self.calls`"),
    ("end", "global best\nprint(best)", "declares `best`"),
]  # fmt: skip


@pytest.mark.parametrize(("place", "code", "why"), CHANGES)
def test_added_code_that_steers_or_stores_makes_a_changed_program(place, code, why):
    changes = inserted(place, code).changes
    assert len(changes) == 1
    assert why in changes[0].why


def test_a_return_in_an_added_function_or_a_break_in_an_added_loop_is_fine():
    code = "def first(xs):\n    for v in xs:\n        if v:\n            break\n    return v"
    assert not inserted("loop", code).changes


EDITS = [
    ('print("epoch", epoch, best)', 'print("EPOCH", epoch)', True),
    ('print("epoch", epoch, best)', 'log.warning("epoch %d", epoch)', True),
    ('print("epoch", epoch, best)', "logging.info({'best': best})", True),
    ('print("epoch", epoch, best)', "print(model(x))", False),
]


@pytest.mark.parametrize(("old", "new", "pure"), EDITS)
def test_an_edited_output_statement_is_a_probe_with_its_old_place(old, new, pure):
    found = edited(old, new)
    assert not found.changes
    (probe,) = found.probes
    line = BASE[: BASE.index(old)].count("\n") + 1
    assert (probe.kind, probe.old, probe.line, probe.pure) == ("edited", (line, line), line, pure)
    assert probe.text == new


def test_what_an_edited_statement_calls_to_write_does_not_make_it_impure():
    (probe,) = matched("import wandb\nwandb.log(a)\n", "import wandb\nwandb.log(a, step=1)\n").probes
    assert probe.kind == "edited" and probe.pure


def test_a_removed_print_is_a_probe():
    found = edited('        print("epoch", epoch, best)\n', "")
    assert not found.changes
    (probe,) = found.probes
    line = BASE[: BASE.index("print(")].count("\n") + 1
    assert (probe.kind, probe.old, probe.line) == ("removed", (line, line), line)


LOGGED = "def f(xs, step):\n    if step % 100 == 0:\n        print(step)\n    xs.append(step)\n"


def test_how_often_something_is_printed_may_be_edited():
    (probe,) = matched(LOGGED, LOGGED.replace("100", "10")).probes
    assert (probe.kind, probe.old, probe.line, probe.end_line) == ("edited", (2, 3), 2, 3)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("print(next(it))", "print('next')"),
        ("print(next(it))", "pass"),
        ("print(evaluate(model))", "print('evaluated')"),
        ("if next(it):\n    print(1)", "if True:\n    print(1)"),
        ("print('x', file=report)", "print('y', file=report)"),
        ("report.write('x')", "report.write('y')"),
        ("writer.writerow([1])", "writer.writerow([2])"),
    ],
)
def test_output_whose_arguments_do_something_or_that_goes_to_a_file_may_not_be_edited(old, new):
    assert matched(old + "\n", new + "\n").changes


def test_output_that_keeps_its_calls_may_be_edited():
    found = matched("print(evaluate(model))\n", "print('accuracy', evaluate(model))\n")
    assert [probe.kind for probe in found.probes] == ["edited"] and not found.changes


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("WIDTH = 8", "WIDTH = 9"),
        ("WIDTH = 8\n", ""),
        ("def total(values):", "def total(values, start=0):"),
        ("def total(values):", "def total(values: list):"),
        ("def total(values):", "@torch.no_grad()\ndef total(values):"),
        ("class Net(nn.Module):", "class Net(nn.Sequential):"),
        ("for x, y in loader:", "for x, y in list(loader):"),
        ("range(args.epochs)", "range(3)"),
        ("if loss > best:", "if loss >= best:"),
        ("            optimizer.step()\n", ""),
        ("best = loss", "best = loss.item()"),
        ("import random\n", ""),
    ],
)
def test_other_edits_make_a_changed_program(old, new):
    assert edited(old, new).changes


def test_a_change_is_told_with_both_lines():
    (change,) = edited("WIDTH = 8", "\nWIDTH = 9").changes
    assert (change.old_line, change.new_line, change.text) == (8, 9, "WIDTH = 9")
    assert change.why == "changed: it was `WIDTH = 8`"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x = {'a': 1}\n", 'x = {\n    "a": 1,  # one\n}\n'),
        ('"""Doc."""\nx = 1\n', '"""Other."""\n\n\nx = (1)\n'),
        ("def f():\n    pass\n", 'def f():\n    """Doc."""\n'),
        ("f(u'a' 'b')\n", 'f("ab")\n'),
        ("if a: b()\n", "if (a):\n\n    b()\n"),
        ("a; b\n", "a\nb\n"),
        ("x = 1\n", "x = 1\r\n"),
        ("x = 1\n", "\ufeffx = 1\n"),
        ("if a:\n    b\nelse:\n    if c:\n        d\n", "if a:\n    b\nelif c:\n    d\n"),
    ],
)
def test_comments_layout_and_docstrings_are_no_change(old, new):
    found = matched(old, new)
    assert not found.changes and not found.probes


def test_a_placeholder_may_become_a_probe():
    found = matched(
        "try:\n    f()\nexcept ValueError:\n    pass\n", "try:\n    f()\nexcept ValueError:\n    print(1)\n"
    )
    assert not found.changes
    assert [probe.line for probe in found.probes] == [4]


@pytest.mark.parametrize(
    "header",
    [
        "with torch.profiler.profile() as prof:",
        "with torch.autograd.profiler.record_function('step'):",
        "with record_function('step'):",
        "with contextlib.nullcontext():",
        "with Timer('epoch') as watch, profile_block():",
        "with torch.profiler.profile():\n    with Timer():",
    ],
)
def test_a_profiler_or_timer_may_wrap_unchanged_code(header):
    old = "a()\nfor i in range(3):\n    b(i)\nc()\n"
    body = ["for i in range(3):", "    b(i)", "    print(i)", "c()"]
    depth = "    " * (header.count("\n") + 1)
    found = matched(old, "a()\n" + header + "\n" + "".join(f"{depth}{line}\n" for line in body))
    assert not found.changes
    assert all(probe.pure for probe in found.probes)  # nothing may be put back after what they wrap
    first = header.splitlines()[0]
    assert found.probes[0].text == first and found.probes[0].line == found.probes[0].end_line == 2
    assert (
        found.probes[-1].text == "print(i)" and plan(old).regions[found.probes[-1].region].kind == "For.body"
    )
    assert set(found.ids.values()) == {"f.py::#0"}
    assert found.lines[4] == 5 + header.count("\n") + 1


@pytest.mark.parametrize(
    "header", ["with torch.autocast('cpu'):", "if True:", "with torch.no_grad():", "with lock:"]
)
def test_other_wrappers_change_the_program(header):
    assert matched("a()\nb()\n", f"{header}\n    a()\n    b()\n").changes


def test_a_second_import_of_the_same_is_nobodys_own():
    (probe,) = matched("import os\nos.f()\n", "import os\nimport os.path\nos.f()\n").probes
    assert probe.inert and not probe.own


def test_a_wrapper_may_not_bind_a_recorded_name():
    (change,) = matched("prof = 1\na(prof)\n", "prof = 1\nwith profile() as prof:\n    a(prof)\n").changes
    assert "assigns `prof`" in change.why


def test_an_import_may_gain_names():
    (probe,) = matched("from torch import nn\nnn.f()\n", "from torch import optim, nn\nnn.f()\n").probes
    assert probe.inert and probe.own == {"optim"}
    assert matched(
        "import os\nrandom = 1\nf(os, random)\n", "import os, random\nrandom = 1\nf(os, random)\n"
    ).changes


def test_a_function_may_import_again_what_the_module_has_before_it_reads_it():
    old = "import math\ndef f():\n    a()\n    return math.pi\n"
    assert not matched(old, old.replace("    a()\n", "    import math\n    a()\n")).changes
    late = old.replace("    return", "    if a():\n        import math\n    return")
    assert matched(old, late).changes  # not bound on every way to the return


def test_a_region_is_the_innermost_recorded_body_around_the_probe():
    regions = plan(BASE).regions
    kinds = {"module": "module", "class": "ClassDef.body", "method": "FunctionDef.body", "step": "For.body"}
    for place, kind in kinds.items():
        (probe,) = inserted(place, "print(1)").probes
        region = regions[probe.region]
        assert region.kind == kind
        if region.index:
            assert region.line - 1 <= probe.line <= region.end_line + 1


def test_a_new_else_stands_in_the_region_around():
    (probe,) = edited(
        "            best = loss\n", "            best = loss\n        else:\n            print(1)\n"
    ).probes
    assert plan(BASE).regions[probe.region].kind == "For.body"


def test_loops_keep_their_ids_and_new_ones_get_none():
    old = "for a in x:\n    f(a)\nfor a in x:\n    g(a)\nwhile h():\n    k()\n"
    new = "for n in range(3):\n    print(n)\n" + old.replace(
        "    g(a)\n", "    for m in range(2): print(m)\n    g(a)\n"
    )
    found = matched(old, new)
    assert not found.changes
    assert found.ids == {(3, 0): "f.py::#0", (5, 0): "f.py::#1", (8, 0): "f.py::#2"}


def test_of_two_alike_loops_the_one_without_losses_is_paired():
    old = "for a in x:\n    f(a)\n    g(a)\n"
    found = matched(
        old, "for a_ in x:\n    print(a_)\nfor a in x:\n    print(a)\n    f(a)\n    g(a)\n".replace("a_", "b")
    )
    assert not found.changes
    assert list(found.ids) == [(3, 0)]


def test_lines_follow_their_statements():
    old = "a(\n    1,\n    2,\n)\nif (b and\n        c):\n    d()\nelse:\n    e()\n"
    found = matched(
        old,
        "print(1)\na(1, 2)\n\nif (b and\n        c):\n    print(2)\n    d()\nelse:\n    e()\n    print(3)\n",
    )
    assert found.lines == {1: 2, 2: 2, 3: 2, 4: 2, 5: 4, 6: 5, 7: 7, 9: 9}


def test_decorated_functions_are_mapped_from_their_decorators():
    old = "@dec\n@other\ndef f():\n    return 1\n"
    assert matched(old, "import os\n" + old).lines == {1: 2, 2: 3, 3: 4, 4: 5}


def test_state_of_the_probes_own_may_span_scopes():
    code = "counts = {}\ndef count(name):\n    global calls\n    calls = 1\n    counts[name] = 1"
    old = "def f():\n    return 1\nf()\n"
    found = matched(
        old, f"{code}\ndef f():\n    global calls\n    calls += 1\n    counts['f'] = 2\n    return 1\nf()\n"
    )
    assert not found.changes
    assert set().union(*(probe.own for probe in found.probes)) >= {"counts", "count", "calls"}


def test_a_caller_that_isolates_lets_probes_assign_local_variables():
    code = "x, y = next(iter(loader))"
    assert inserted("loop", code).changes
    (probe,) = inserted("loop", code, isolating=True).probes
    assert probe.recorded == {"x", "y"} and not probe.own and not probe.pure
    assert inserted("loop", "Net = None", isolating=True).changes  # would turn a global into a local
    assert inserted("loop", "model.scale = 1", isolating=True).changes


def test_a_syntax_error_in_the_edited_file_is_raised():
    with pytest.raises(SyntaxError):
        matched("x = 1\n", "x = \n")


def test_sources_in_other_encodings_match():
    old = "# -*- coding: latin-1 -*-\nname = 'é'\nprint(name)\n".encode("latin-1")
    new = old.replace(b"print(name)", b"print(name, '\xe8')")
    (probe,) = match(old, new, plan("x = 1")).probes
    assert probe.text == "print(name, 'è')"


NOTED_BASE = """\
import florc
import random
def train(x, model):
    loss = model(x)
    if loss > 1:
        return loss
    for value in x:
        print(value)
    last = lambda: loss
    return florc.log("end", loss)
"""
NOTED = [  # a line, the same with a value on its way through, and the lines of the probe
    ("    loss = model(x)", '    loss = florc.log("loss", model(x))', (4, 4)),
    ("    loss = model(x)", '    loss = model(florc.log(name="x", value=x))', (4, 4)),
    ("    loss = model(x)", '    loss = florc.log(\n        f"loss {len(x)}",\n        model(x))', (4, 6)),
    ("    loss = model(x)", '    loss = florc.log("a", florc.log("b", model(x)))', (4, 4)),
    ("    if loss > 1:", '    if florc.log("high", loss > 1):', (5, 5)),
    ("        return loss", '        return florc.log("loss", loss)', (6, 6)),
    ("        print(value)", '        print(florc.log("value", value))', (8, 8)),
    ('    return florc.log("end", loss)', "    return loss", (10, 10)),
    ('    return florc.log("end", loss)', '    return florc.log("last", loss)', (10, 10)),
]


@pytest.mark.parametrize(("old", "new", "lines"), NOTED)
def test_a_statement_whose_value_passes_through_florc_log_is_the_recorded_one(old, new, lines):
    found = matched(NOTED_BASE, NOTED_BASE.replace(old, new))
    assert not found.changes
    assert [(probe.kind, (probe.line, probe.end_line), probe.pure) for probe in found.probes] == [
        ("noted", lines, True)
    ]


def test_an_added_if_whose_test_notes_a_value_may_show_something_at_any_time():
    old = "import florc\nfor epoch in range(9):\n    work(epoch)\n"
    for test, limited in (("epoch == 3", True), ("florc.log('e', epoch) == 3", False)):
        (probe,) = matched(old, f"{old}    if {test}:\n        print(epoch)\n").probes
        assert (probe.when is not None) == limited


def test_a_call_that_was_recorded_and_is_still_there_is_no_probe():
    assert not matched(NOTED_BASE, "# moved\n" + NOTED_BASE).probes


NOT_THE_SAME = [
    ("    loss = model(x)", '    loss = florc.log("loss", model(x + 1))'),  # another value
    ("    loss = model(x)", '    loss = florc.log(random.random(), model(x))'),  # draws
    ("    loss = model(x)", '    loss = florc.log(value=model(x), name=x.pop())'),  # in another order
    ("    loss = model(x)", '    loss = florc.log(*("loss", model(x)))'),
    ("    for value in x:", '    for value in florc.log("x", x):'),  # a skipped loop comes by no header
    ("    last = lambda: loss", '    last = lambda: florc.log("late", loss)'),  # called who knows where
]


@pytest.mark.parametrize(("old", "new"), NOT_THE_SAME)
def test_a_call_of_florc_log_that_may_change_the_statement_is_a_change(old, new):
    assert matched(NOTED_BASE, NOTED_BASE.replace(old, new)).changes


@pytest.mark.parametrize("code", ["florc.log('a', epoch)", "kept = florc.log('a', epoch)\nprint(kept)",
                                  "import florc as f\nf.log('a', epoch)"])  # fmt: skip
def test_an_added_call_of_florc_log_is_a_pure_probe(code):
    found = inserted("step", code if "import" in code else f"import florc\n{code}")
    assert not found.changes
    assert all(probe.kind == "added" and probe.pure for probe in found.probes)


WATCHED = [
    ("with torch.profiler.profile(schedule=torch.profiler.schedule(wait=1)) as seen:", 0),
    ("with timer('step'):", 0),
    ("with contextlib.nullcontext():", 1),
]


@pytest.mark.parametrize(("head", "null"), WATCHED)
def test_what_stands_in_a_watching_with_has_to_run_and_is_never_undone(head, null):
    old = "import torch, contextlib, timer\nfor i in range(3):\n    work(i)\n    more(i)\n"
    new = old.replace("    work(i)\n    more(i)\n", f"    {head}\n        work(i)\n        more(i)\n")
    found = matched(old, new)
    assert not found.changes
    assert [(probe.line, probe.end_line, probe.wraps, probe.watches) for probe in found.probes] == [
        (3, 3, True, 0 if null else 5)
    ]


def test_a_watching_with_that_draws_is_a_change():
    old = "import torch\nwork()\n"
    head = "with torch.profiler.record_function(str(torch.rand(1))):"
    found = matched(old, f"import torch\n{head}\n    work()\n")
    assert "cannot be put back" in found.changes[0].why
