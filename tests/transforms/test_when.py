"""Which tests of added `if`s speak of loop variables, and of which names nothing is claimed."""

from __future__ import annotations

import textwrap

import pytest

from florc.transforms import Target, When, instrument, match

MAIN, INNER = "a.py::f/for#0", "a.py::f/for#0/for#0"
RECORDED = """
def f(data, other):
    for epoch in range(9):
        for step, (x, y) in enumerate(data):
            g(x)
            # here
"""


def found(recorded: str, test: str, body: str = "print(1)") -> When | None:
    """When the probe `if test: ...` in the place of `# here` can show anything."""
    plain = textwrap.dedent(recorded)
    old, new = plain.encode(), plain.replace("# here", f"if {test}: {body}").encode()
    matched = match(old, new, instrument(old, "a.py").plan, isolating=True)
    assert not matched.changes
    (probe,) = matched.probes
    return probe.when


@pytest.mark.parametrize(
    ("test", "operands"),
    [
        ("epoch == 3", ["epoch == 3"]),
        ("epoch == 3 and step == 7", ["epoch == 3", "step == 7"]),
        ("epoch == 3 and (step == 7 and x > 0) and y == 1", ["epoch == 3", "step == 7", "x > 0", "y == 1"]),
        ("epoch == 3 and g(x) and step == 7", ["epoch == 3"]),
        ("epoch == 3 and other", ["epoch == 3", "other"]),
        ("epoch == 3 and x.sum() > 1", ["epoch == 3"]),
        ("epoch == 3 and data[0] == 1", ["epoch == 3"]),
        ("epoch in {1, 2} or not step % 5", ["epoch in {1, 2} or not step % 5"]),
        ("1 <= epoch < 7.5", ["1 <= epoch < 7.5"]),
    ],
)  # fmt: skip
def test_the_leading_operands_over_loop_variables_count(test, operands):
    when = found(RECORDED, test)
    assert when is not None
    assert when.tests == (tuple(operands),)


@pytest.mark.parametrize(
    "test",
    [
        "g(epoch) == 3", "unknown == 3", "g(x) and epoch == 3", "epoch == unknown", "epoch is 3",
        "epoch ** 99 == 3", "epoch << 99 == 3", "(mine := epoch) == 3", "epoch in range(3)",
        "[epoch for _ in data]", "f'{epoch}' == '3'", "epoch == 3j", "epoch == b'3'", "lambda: epoch",
        "epoch.real == 3",
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:.*is.* with .*int:SyntaxWarning")
def test_anything_else_limits_nothing(test):
    assert found(RECORDED, test) is None


def test_names_come_with_their_loop_and_whether_they_count():
    when = found(RECORDED, "epoch == 1 and step == 2 and x == 3")
    assert when is not None
    targets = (Target("epoch", (MAIN,), True), Target("step", (INNER,), True), Target("x", (INNER,), False))
    assert when.targets == targets


@pytest.mark.parametrize(
    "loop",
    [
        "for step in reversed(range(9))", "for step in data", "for x, step in enumerate(data)",
        "for step in zip(data)", "for (step) in (range(3), 4)",
    ],
)  # fmt: skip
def test_what_is_no_range_and_no_index_does_not_count(loop):
    when = found(f"def f(data):\n    {loop}:\n        g(step)\n        # here\n", "step == 1")
    assert when is not None
    assert [target.counts for target in when.targets] == [False]


@pytest.mark.parametrize(
    "before",
    ["from a import *", "def range(n): return n", "import b as range", "range = list", "def h(range): pass"],
)
def test_a_range_that_may_be_another_does_not_count(before):
    program = f"{before}\ndef f():\n    for step in range(9):\n        g(step)\n        # here\n"
    when = found(program, "step == 1")
    assert when is not None
    assert [target.counts for target in when.targets] == [False]


# a loop over `e` with the place of the probe, in which something else may set `e`
SET_ELSEWHERE = {
    "assigned": "def f():\n    for e in range(9):\n        g(e)\n        e = 2\n        # here\n",
    "assigned in a loop": "def f():\n    for e in range(9):\n        while g(e): e += 2\n        # here\n",
    "deleted": "def f():\n    for e in range(9):\n        g(e)\n        # here\n        del e\n",
    "a walrus": "def f():\n    for e in range(9):\n        g(e := 2)\n        # here\n",
    "a with": "def f():\n    for e in range(9):\n        with g() as e: pass\n        # here\n",
    "an except": (
        "def f():\n    for e in range(9):\n        try: g()\n        except E as e: pass\n        # here\n"
    ),
    "an import": "def f():\n    for e in range(9):\n        import e\n        g(e)\n        # here\n",
    "a function": "def f():\n    for e in range(9):\n        def e(): g()\n        # here\n        e()\n",
    "a match": (
        "def f():\n    for e in range(9):\n        match g():\n            case [e]: pass\n        # here\n"
    ),
    "nonlocal": (
        "def f():\n    def h():\n        nonlocal e\n        e = 2\n"
        "    for e in range(9):\n        h()\n        # here\n"
    ),
    "global": "def f():\n    global e\n    for e in range(9):\n        g()\n        # here\n",
    "global elsewhere": (
        "def h():\n    global e\n    e = 2\nfor e in range(9):\n    h()\n    # here\n"
    ),
    "a star": "for e in range(9):\n    from m import *\n    g(e)\n    # here\n",
    "exec": "for e in range(9):\n    exec('e = 2')\n    # here\n",
    "globals": "for e in range(9):\n    globals().update(e=2)\n    # here\n",
    "vars": "for e in range(9):\n    vars()['e'] = 2\n    # here\n",
    "frames": "import sys\nfor e in range(9):\n    sys._getframe().f_locals['e'] = 2\n    # here\n",
    "its module": "import __main__\nfor e in range(9):\n    __main__.e = 2\n    g()\n    # here\n",
    "a class": "class C:\n    for e in range(9):\n        g(e)\n        # here\n",
    "its else": "def f():\n    for e in range(9):\n        g(e)\n    else:\n        g(2)\n        # here\n",
    "after the loop": "def f():\n    for e in range(9):\n        g(e)\n    # here\n    g(2)\n",
    "an inner function": (
        "def f():\n    for e in range(9):\n        def h():\n            g(e)\n            # here\n"
        "        h()\n"
    ),
    "a parameter that is set": "def f(e):\n    e = 2\n    for x in range(9):\n        g(e)\n        # here\n",
    "a parameter outside of loops": "def f(e):\n    for x in range(9):\n        g(e)\n    # here\n    g(2)\n",
    "a parameter that an inner function sets": (
        "def f(e):\n    def h():\n        nonlocal e\n        e = 2\n"
        "    for x in range(9):\n        h()\n        # here\n"
    ),
    "twice": "def f():\n    for e, e in g():\n        g(e)\n        # here\n",
}  # fmt: skip


@pytest.mark.parametrize("program", SET_ELSEWHERE.values(), ids=SET_ELSEWHERE)
def test_of_a_name_that_something_else_may_set_nothing_is_claimed(program):
    assert found(program, "e == 1") is None


def test_a_parameter_comes_with_all_loops_around():
    when = found(RECORDED, "other == 3")
    assert when is not None
    assert when.targets == (Target("other", (INNER, MAIN), False, is_parameter=True),)


def test_a_loop_that_was_added_is_no_recorded_one():
    old = b"def f():\n    g(1)\n"
    new = b"def f():\n    g(1)\n    for e in range(3):\n        if e == 1: print(e)\n"
    (probe,) = match(old, new, instrument(old, "a.py").plan).probes
    assert probe.when is None


def test_arms_are_told_apart():
    rest = "\n            elif step == 2: print(2)\n            else: print(3)"
    when = found(RECORDED, "epoch == 1", f"print(1){rest}")
    assert when is not None
    assert (when.tests, when.otherwise) == ((("epoch == 1",), ("step == 2",)), True)
