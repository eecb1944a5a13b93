"""What a loop looks like before and after: one row per shape of guard."""

import textwrap

import pytest

from florc.transforms import instrument


def _after(before: str, **arguments) -> str:
    text = instrument(textwrap.dedent(before).lstrip("\n").encode(), "train.py", **arguments).text
    return text.decode()


# (why, before, after); the import line is left out of both where it stands at the very top
TABLE = [
    (
        "a for-loop of a module: the runtime reaches the names by itself",
        """
        for epoch in range(3):
            train(epoch)
        """,
        """
        _florc_0 = _florc.loop("train.py::for#0")
        for epoch in () if _florc_0.skipped else _florc_0.over(range(3)):
            if _florc_0.live and _florc_0.boundary() and _florc_0.done: break
            train(epoch)
        _florc_0.leave()
        """,
    ),
    (
        "a for-loop of a function: names come and go by assignment",
        """
        def main(args):
            best = 0
            for epoch in range(args.epochs):
                acc = train(epoch)
                best = max(best, acc)
            return best
        """,
        """
        def main(args):
            best = 0
            _florc_0 = _florc.loop("train.py::main/for#0", "epoch", "acc", "best")
            if _florc_0.skipped:
                epoch, acc, best = _florc_0.values
                if _florc_0.lacks("epoch"): del epoch
                if _florc_0.lacks("acc"): del acc
            for epoch in () if _florc_0.skipped else _florc_0.over(range(args.epochs)):
                if _florc_0.live and _florc_0.boundary():
                    epoch, acc, best = _florc_0.values
                    if _florc_0.lacks("acc"): del acc
                    if _florc_0.done: break
                acc = train(epoch)
                best = max(best, acc)
            _florc_0.leave()
            return best
        """,
    ),
    (
        "one name, and loops in loops: a guard each, numbered by order",
        """
        def main(loader):
            for _ in range(9):
                for batch in loader:
                    step(batch)
        """,
        """
        def main(loader):
            _florc_0 = _florc.loop("train.py::main/for#0", "_", "batch")
            if _florc_0.skipped:
                _, batch = _florc_0.values
                if _florc_0.lacks("_"): del _
                if _florc_0.lacks("batch"): del batch
            for _ in () if _florc_0.skipped else _florc_0.over(range(9)):
                if _florc_0.live and _florc_0.boundary():
                    _, batch = _florc_0.values
                    if _florc_0.lacks("batch"): del batch
                    if _florc_0.done: break
                _florc_1 = _florc.loop("train.py::main/for#0/for#0", "batch")
                if _florc_1.skipped:
                    (batch,) = _florc_1.values
                    if _florc_1.lacks("batch"): del batch
                for batch in () if _florc_1.skipped else _florc_1.over(loader):
                    if _florc_1.live and _florc_1.boundary():
                        (batch,) = _florc_1.values
                        if _florc_1.done: break
                    step(batch)
                _florc_1.leave()
            _florc_0.leave()
        """,
    ),
    (
        "a function's loop that binds nothing",
        """
        def main(env):
            while env.alive(): env.step()
        """,
        """
        def main(env):
            _florc_0 = _florc.loop("train.py::main/while#0")
            while not _florc_0.skipped and (env.alive()):
                if _florc_0.live and _florc_0.boundary() and _florc_0.done: break
                env.step()
            _florc_0.leave()
        """,
    ),
    (
        "while: the condition is kept as it is, parenthesized once; a literal goes",
        """
        while (a and
               b(1)):  # both
            c()
        while step := go(): c()
        while True:  # for ever
            c()
        while 1: c()
        while(x): c()
        """,
        """
        _florc_0 = _florc.loop("train.py::while#0")
        while not _florc_0.skipped and (a and
               b(1)):  # both
            if _florc_0.live and _florc_0.boundary() and _florc_0.done: break
            c()
        _florc_0.leave()
        _florc_1 = _florc.loop("train.py::while#1")
        while not _florc_1.skipped and (step := go()):
            if _florc_1.live and _florc_1.boundary() and _florc_1.done: break
            c()
        _florc_1.leave()
        _florc_2 = _florc.loop("train.py::while#2")
        while not _florc_2.skipped:  # for ever
            if _florc_2.live and _florc_2.boundary() and _florc_2.done: break
            c()
        _florc_2.leave()
        _florc_3 = _florc.loop("train.py::while#3")
        while not _florc_3.skipped:
            if _florc_3.live and _florc_3.boundary() and _florc_3.done: break
            c()
        _florc_3.leave()
        _florc_4 = _florc.loop("train.py::while#4")
        while not _florc_4.skipped and (x):
            if _florc_4.live and _florc_4.boundary() and _florc_4.done: break
            c()
        _florc_4.leave()
        """,
    ),
    (
        "returns tell every guard they leave, innermost first",
        """
        def find(grid):
            for row in grid:
                if not row: return
                for cell in row:
                    if good(cell): return row, cell
                    def other(): return cell
            return None
        """,
        """
        def find(grid):
            _florc_0 = _florc.loop("train.py::find/for#0", "row", "cell", "other")
            if _florc_0.skipped:
                row, cell, other = _florc_0.values
                if _florc_0.lacks("row"): del row
                if _florc_0.lacks("cell"): del cell
                if _florc_0.lacks("other"): del other
            for row in () if _florc_0.skipped else _florc_0.over(grid):
                if _florc_0.live and _florc_0.boundary():
                    row, cell, other = _florc_0.values
                    if _florc_0.lacks("cell"): del cell
                    if _florc_0.lacks("other"): del other
                    if _florc_0.done: break
                if not row: return _florc_0.returning(None)
                _florc_1 = _florc.loop("train.py::find/for#0/for#0", "cell", "other")
                if _florc_1.skipped:
                    cell, other = _florc_1.values
                    if _florc_1.lacks("cell"): del cell
                    if _florc_1.lacks("other"): del other
                for cell in () if _florc_1.skipped else _florc_1.over(row):
                    if _florc_1.live and _florc_1.boundary():
                        cell, other = _florc_1.values
                        if _florc_1.lacks("other"): del other
                        if _florc_1.done: break
                    if good(cell): return _florc_0.returning(_florc_1.returning((row, cell)))
                    def other(): return cell
                if _florc_1.leave(): return _florc_0.returning(_florc_1.returned)
            if _florc_0.leave(): return _florc_0.returned
            return None
        """,
    ),
    (
        "a loop with else is never skipped",
        """
        def f(n):
            for i in range(n):
                work(i)
            else:
                i = None
        """,
        """
        def f(n):
            _florc_0 = _florc.loop("train.py::f/for#0", "i", skippable=False)
            for i in _florc_0.over(range(n)):
                if _florc_0.live and _florc_0.boundary():
                    (i,) = _florc_0.values
                work(i)
            else:
                i = None
            _florc_0.leave()
        """,
    ),
    (
        "a loop with else and nothing to put back",
        """
        while work():
            pass
        else:
            rest()
        """,
        """
        _florc_0 = _florc.loop("train.py::while#0", skippable=False)
        while work():
            if _florc_0.live: _florc_0.boundary()
            pass
        else:
            rest()
        _florc_0.leave()
        """,
    ),
    (
        "a class body: its guard does not stay behind as an attribute",
        """
        class Table:
            for k in range(3):
                fill(k)
        """,
        """
        class Table:
            _florc_0 = _florc.loop("train.py::Table/for#0")
            for k in () if _florc_0.skipped else _florc_0.over(range(3)):
                if _florc_0.live and _florc_0.boundary() and _florc_0.done: break
                fill(k)
            _florc_0.leave()
            del _florc_0
        """,
    ),
    (
        "iterables that would fall apart in a call",
        """
        for x in a, b: f(x)
        for x in *a, b: f(x)
        for x in(a): f(x)
        for x in (y for y in a): f(x)
        for x in (
            a,  # first
            b,
        ): f(x)
        """,
        """
        _florc_0 = _florc.loop("train.py::for#0")
        for x in () if _florc_0.skipped else _florc_0.over((a, b)):
            if _florc_0.live and _florc_0.boundary() and _florc_0.done: break
            f(x)
        _florc_0.leave()
        _florc_1 = _florc.loop("train.py::for#1")
        for x in () if _florc_1.skipped else _florc_1.over((*a, b)):
            if _florc_1.live and _florc_1.boundary() and _florc_1.done: break
            f(x)
        _florc_1.leave()
        _florc_2 = _florc.loop("train.py::for#2")
        for x in () if _florc_2.skipped else _florc_2.over((a)):
            if _florc_2.live and _florc_2.boundary() and _florc_2.done: break
            f(x)
        _florc_2.leave()
        _florc_3 = _florc.loop("train.py::for#3")
        for x in () if _florc_3.skipped else _florc_3.over((y for y in a)):
            if _florc_3.live and _florc_3.boundary() and _florc_3.done: break
            f(x)
        _florc_3.leave()
        _florc_4 = _florc.loop("train.py::for#4")
        for x in () if _florc_4.skipped else _florc_4.over((
            a,  # first
            b,
        )):
            if _florc_4.live and _florc_4.boundary() and _florc_4.done: break
            f(x)
        _florc_4.leave()
        """,
    ),
    (
        "comments and blank lines stay where they are; one-line bodies get a block",
        """
        x = 1

        # the main loop

        # really
        for a in x:  # header

            # body
            f(a)

            # end of body

        # after

        for a in x: f(a); g(a)  # both
        """,
        """
        x = 1

        # the main loop

        # really
        _florc_0 = _florc.loop("train.py::for#0")
        for a in () if _florc_0.skipped else _florc_0.over(x):  # header
            if _florc_0.live and _florc_0.boundary() and _florc_0.done: break

            # body
            f(a)

            # end of body
        _florc_0.leave()

        # after

        _florc_1 = _florc.loop("train.py::for#1")
        for a in () if _florc_1.skipped else _florc_1.over(x):
            if _florc_1.live and _florc_1.boundary() and _florc_1.done: break
            f(a); g(a)  # both
        _florc_1.leave()
        """,
    ),
    (
        "names declared global are the runtime's business, nonlocal ones are the function's",
        """
        def outer():
            seen = 0
            def inner(n):
                global step
                nonlocal seen
                for i in range(n):
                    step = seen = work(i)
        """,
        """
        def outer():
            seen = 0
            def inner(n):
                global step
                nonlocal seen
                _florc_0 = _florc.loop("train.py::outer.inner/for#0", "i", "seen")
                if _florc_0.skipped:
                    i, seen = _florc_0.values
                    if _florc_0.lacks("i"): del i
                    if _florc_0.lacks("seen"): del seen
                for i in () if _florc_0.skipped else _florc_0.over(range(n)):
                    if _florc_0.live and _florc_0.boundary():
                        i, seen = _florc_0.values
                        if _florc_0.lacks("seen"): del seen
                        if _florc_0.done: break
                    step = seen = work(i)
                _florc_0.leave()
        """,
    ),
    (
        "private names are spelled as the compiler spells them",
        """
        class _Net:
            def fit(self, __n=0):
                for __n in work(self):
                    pass
        """,
        """
        class _Net:
            def fit(self, __n=0):
                _florc_0 = _florc.loop("train.py::_Net.fit/for#0", "_Net__n")
                if _florc_0.skipped:
                    (_Net__n,) = _florc_0.values
                for __n in () if _florc_0.skipped else _florc_0.over(work(self)):
                    if _florc_0.live and _florc_0.boundary():
                        (_Net__n,) = _florc_0.values
                        if _florc_0.done: break
                    pass
                _florc_0.leave()
        """,
    ),
]


@pytest.mark.parametrize(("before", "after"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_a_loop_gets_its_guard(before, after):
    expected = textwrap.dedent(after).lstrip("\n")
    assert _without_import(_after(before)) == expected


def _without_import(text: str) -> str:
    return "".join(line for line in text.splitlines(True) if line != "import florc.runtime as _florc\n")


UNTOUCHED = [
    ("nothing in it takes long", "for i in range(3): total += len(str(i))", "nothing in it takes long"),
    ("strings and lists are light", "for c in s:\n    if c.isdigit(): out.append(c.lower())", "takes long"),
    ("math is light", "import math\nwhile x > 1: x = math.sqrt(x)", "takes long"),
    ("yield", "def f():\n    for i in a():\n        yield i", "it yields in the middle"),
    ("yield from", "def f():\n    while a():\n        x = yield from b()", "it yields in the middle"),
    ("await", "async def f():\n    for i in a():\n        await i", "it awaits in the middle"),
    ("async for", "async def f():\n    async for i in a(): b()", "it is an async for loop"),
    ("async with", "async def f():\n    for i in a():\n        async with b(): pass", "it awaits"),
    ("async comprehension", "async def f():\n    for i in a(): [x async for x in i]", "it awaits"),
    ("TorchScript", "@torch.jit.script\ndef f(x):\n    for i in a(x): b(i)", "a function that is compiled"),
    ("compiled with options", "@torch.compile(mode='x')\ndef f(x):\n    for i in a(x): b(i)", "compiled"),
    ("numba", "@numba.njit\ndef f(x):\n    for i in a(x): b(i)", "a function that is compiled"),
    ("compiled by name", "def f(x):\n    for i in a(x): b(i)\ng = torch.compile(f)", "compiled"),
    ("compiled in two calls", "def f(x):\n    for i in a(x): b(i)\ng = torch.compile(mode=1)(f)", "compiled"),
    (
        "called by a compiled function",
        "def h(x):\n    for i in a(x): b(i)\n@torch.compile\ndef f(x): return h(x)",
        "compiled",
    ),
    (
        "a module that is compiled",
        "class Net:\n    def forward(self, x):\n        for i in a(x): b(i)\nmodel = torch.compile(Net())",
        "compiled",
    ),
    ("an enum", "class E(enum.Enum):\n    for i in a(): b(i)", "class with bases"),
    (
        "a late nonlocal",
        "def f():\n    x = 1\n    def g():\n        for i in a():\n            nonlocal x\n            x = i",
        "nonlocal x comes after its start",
    ),
    (
        "a return that may be thrown away",
        "def f():\n    for i in a():\n        try: return i\n        finally: break",
        "may throw its return away",
    ),
]


@pytest.mark.parametrize(
    ("source", "reason"), [row[1:] for row in UNTOUCHED], ids=[row[0] for row in UNTOUCHED]
)
def test_a_loop_stays_as_it_is_and_says_why(source, reason):
    result = instrument(source.encode(), "train.py")
    assert result.text == source.encode()
    (loop,) = result.plan.loops
    assert not loop.guarded and reason in loop.reason


def test_a_light_name_that_the_file_binds_itself_is_not_light():
    assert _plan("from helpers import sum\nfor x in xs: sum(x)").loops[0].guarded
    assert not _plan("from helpers import other\nfor x in xs: sum(x)").loops[0].guarded


def test_a_matrix_product_and_a_loader_take_long_without_a_call():
    assert _plan("for x in xs: y = y @ x").loops[0].guarded
    assert _plan("for x in train_loader: y += x").loops[0].guarded


def test_what_a_compiled_module_does_not_run_is_guarded():
    plan = _plan(
        """
        class Block:
            def forward(self, x):
                for i in a(x): x = self.once(x)
            def once(self, x):
                while a(x): x = helper(x)
        def helper(x):
            for i in a(x): b()
        class Net:
            def __init__(self):
                for i in range(3): self.add(Block())
            def forward(self, x):
                return self.block(x)
            def fit(self, loader):
                for batch in loader: self.step(batch)
        net = torch.compile(Net())
        """
    )
    assert [loop.id.removeprefix("train.py::") for loop in plan.loops if loop.guarded] == [
        "Net.__init__/for#0",
        "Net.fit/for#0",
    ]


def test_a_regular_expression_is_not_that_kind_of_compiled():
    assert _plan("class A:\n  def forward(x):\n    for i in f(): g()\nre.compile('x')").loops[0].guarded


def test_a_loop_inside_a_refused_one_is_judged_for_itself():
    loops = _plan("def f():\n    for i in a():\n        for j in b(i): c(j)\n        yield i").loops
    assert [(loop.id, loop.guarded) for loop in loops] == [
        ("train.py::f/for#0", False),
        ("train.py::f/for#0/for#0", True),
    ]


def test_ids_tell_kinds_scopes_and_repeated_names_apart():
    plan = _plan(
        """
        for a in f(): f()
        while f(): f()
        if x:
            with y:
                for b in f():
                    try: pass
                    finally:
                        while f(): f()
                    def g():
                        for c in f(): f()
        class C:
            def g(self):
                for d in f(): f()
            def g(self):
                for e in f(): f()
                class D:
                    def h(self):
                        while f(): f()
        """
    )
    assert [loop.id.removeprefix("train.py::") for loop in plan.loops] == [
        "for#0",
        "while#0",
        "for#1",
        "for#1/while#0",
        "g/for#0",
        "C.g/for#0",
        "C.g~2/for#0",
        "C.g~2.D.h/while#0",
    ]
    assert [loop.function for loop in plan.loops[4:]] == ["g", "C.g", "C.g~2", "C.g~2.D.h"]


def test_a_replay_guards_the_loops_that_were_recorded_and_no_others():
    source = "for i in new(): f()\nfor i in range(3): pass\ndef g():\n    for i in old(): yield f()\n"
    result = instrument(source.encode(), "train.py", {(2, 0): "train.py::for#0", (4, 4): "train.py::g/for#0"})
    assert [(loop.id, loop.guarded) for loop in result.plan.loops] == [
        ("", False),
        ("train.py::for#0", True),
        ("train.py::g/for#0", False),
    ]
    assert b'_florc.loop("train.py::for#0")' in result.text
    assert result.plan.loops[0].reason == "it was not there when the run was recorded"


def test_the_plan_tells_what_the_text_was_made_from():
    (loop,) = _plan("def f():\n  for i in a():\n    if i: return b\n").loops
    assert (loop.kind, loop.line, loop.col, loop.end_line) == ("for", 2, 2, 3)
    assert (loop.binds, loop.has_return, loop.has_else) == (("i",), True, False)


def _plan(source: str):
    return instrument(textwrap.dedent(source).encode(), "train.py").plan


LOOP = b"for x in f(): g()\n"
PREAMBLES = [
    ("nothing", b"", b""),
    ("a docstring", b'"""Doc."""\n', b""),
    ("a docstring in parts", b'"Doc" "more"\n', b""),
    ("a docstring and future imports", b'"""Doc."""\n\nfrom __future__ import annotations\n', b"\n"),
    (
        "two future imports",
        b"from __future__ import annotations\nfrom __future__ import (division,\n generators)\n",
        b"",
    ),
    ("a shebang and a coding line", b"#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n", b""),
    ("comments and blank lines", b"# license\n\n\n# about x\n", b""),
    ("statements on the docstring's line", b'"""Doc."""; import os\n', b""),
    ("a byte order mark", b"\xef\xbb\xbf# hi\n", b""),
]


@pytest.mark.parametrize(("head", "gap"), [row[1:] for row in PREAMBLES], ids=[row[0] for row in PREAMBLES])
def test_the_runtime_is_imported_after_what_must_come_first(head, gap):
    text = instrument(head + gap + LOOP, "train.py").text
    assert text.startswith(head + gap + b"import florc.runtime as _florc\n_florc_0 = ")
    compile(text, "train.py", "exec", dont_inherit=True)


def test_the_import_stands_apart_from_what_precedes_and_close_to_what_follows():
    source = b'"""Doc."""\n\n# about os\nimport os\n' + LOOP
    text = instrument(source, "train.py").text
    assert text.startswith(b'"""Doc."""\n\nimport florc.runtime as _florc\n# about os\nimport os\n_florc_0')


FORMS = [
    ("CRLF", b"x = 1\r\nfor i in f():\r\n    g(i)\r\n# end\r\n"),
    ("tabs", b"def f():\n\tfor i in f():\n\t\tg(i)\n\treturn 1\n"),
    ("no newline at the end", b"for i in f():\n  g(i)"),
    ("no newline after a one-line body", b"for i in f(): g(i)"),
    ("latin-1", b"# coding: latin-1\ns = '\xe9'\nfor i in f():\n    g('\xe9')\n"),
    ("form feeds", b"\x0c\nx = 1\n \x0c\nfor i in f():\n    g(i)\n\x0c\n    g('''\n\x0c\n''')\n\x0c\n"),
    ("form feeds and CRLF", b"x = 1\r\n\x0c\r\nfor i in f():\r\n    g(i)\r\n"),
    ("a form feed in a comment", b"# a \x0c b\nfor i in f():\n    g(i)\n"),
    ("semicolons", b"a = 1; b = 2;\nfor i in f():\n    g(i); h(i);\n"),
    ("backslashes", b"for i in \\\n    f():\n    g(i) \\\n      + 1\n"),
    ("a string over lines", b"for i in f():\n    g('''\nfor j in k():\n''')\n"),
    ("odd indentation", b"if 1:\n   for i in f():\n         g(i)\n         if i:\n          h()\n"),
    ("unicode names", "für = 1\nfor i in f(ж):\n    g(ж, 'ß')\n".encode()),
]


@pytest.mark.parametrize("source", [row[1] for row in FORMS], ids=[row[0] for row in FORMS])
def test_the_form_of_the_source_survives(source):
    result = instrument(source, "train.py")
    assert result.plan.refused == "" and result.plan.loops[0].guarded
    kept = [line for line in result.text.splitlines(True) if b"_florc" not in line]
    wanted = [line for line in source.splitlines(True) if not line.lstrip().startswith(b"for i")]
    assert [line.strip() for line in wanted if line not in kept] in ([], [b"f():"], [b"g(i)"])
    newline = b"\r\n" if b"\r\n" in source else b"\n"
    assert result.text.count(b"\n") == result.text.count(newline)
    compile(result.text, "train.py", "exec", dont_inherit=True)


def test_a_source_that_uses_our_name_gets_another():
    text = instrument(b"_florc_0 = 1\nfor i in f(_florc_0): g()\n", "train.py").text
    assert text.startswith(b"import florc.runtime as _florc__\n_florc_0 = 1\n_florc___0 = _florc__.loop(")


def test_a_module_without_a_guarded_loop_is_not_touched():
    source = b"import os\nfor i in range(3): print(i)\n"
    assert instrument(source, "train.py").text == source


def test_an_instrumented_text_is_not_instrumented_again():
    text = instrument(LOOP, "train.py").text
    again = instrument(text, "train.py")
    assert (again.text, again.plan.refused) == (text, "it is instrumented already")


# what Python takes and libcst does not
UNPARSED = b"def f(x):\n\t with x:\n\t\t pass\nfor i in f(1): g()\n"


def test_a_module_that_libcst_cannot_parse_runs_as_it_is_written():
    compile(UNPARSED, "train.py", "exec")
    result = instrument(UNPARSED, "train.py")
    assert result.text == UNPARSED
    assert result.plan.refused == "libcst cannot parse it, though Python can"
    assert [loop.reason for loop in result.plan.loops] == ["the whole module runs as it is written"]
    assert [region.kind for region in result.plan.regions] == ["module"]


@pytest.mark.parametrize("source", [b"for x in:\n", b"return 1\n", b"x = 1\0", b"def f():\n  nonlocal y\n"])
def test_what_python_refuses_is_a_syntax_error(source):
    with pytest.raises(SyntaxError):
        instrument(source, "train.py")


@pytest.mark.parametrize("depth", [50, 300, 900, 3000])
def test_a_deep_program_is_guarded_or_left_alone(depth):
    source = b"for i in f():\n    g()\n" + b"x = " + b"+".join([b"y"] * depth) + b"\n"
    result = instrument(source, "train.py")
    assert (result.plan.refused and result.text == source) or result.plan.loops[0].guarded


def test_regions_are_bodies_that_call_something():
    plan = _plan(
        """
        def f(x):
            "doc"
            if x:
                a()
            elif x > 1:
                y = 2
            else:
                for i in x: b()
                else: c()
            while x: pass
            try: d()
            except E: e()
            else: g()
            finally: h()
        class C:
            z = 1
            with open(z): k()
        match f:
            case 1: f()
            case 2: pass
        @torch.jit.script
        def left_alone(x):
            if x: a()
        """
    )
    assert [(region.kind, region.line) for region in plan.regions] == [
        ("module", 2),
        ("function", 3),
        ("if", 5),
        ("else", 9),
        ("for", 9),
        ("else", 10),
        ("try", 12),
        ("except", 13),
        ("else", 14),
        ("finally", 15),
        ("class", 17),
        ("with", 18),
        ("match", 20),
    ]
    assert [region.index for region in plan.regions] == list(range(13))
