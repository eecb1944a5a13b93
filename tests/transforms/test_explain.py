"""The words of `florc explain`: whole texts, so that a reader sees what a user sees."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from florc.transforms.explain import SMALL, explain, explain_data
from florc.transforms.plan import LoopPlan, Plan

BARE = LoopPlan(
    id="train.py::for#0",
    kind="for",
    line=1,
    col=0,
    end_line=2,
    function="",
    guarded=True,
    reason="",
    binds=(),
    changes=(),
    calls=(),
    has_else=False,
    has_return=False,
)


def loop(line: int, end: int, **more) -> LoopPlan:
    return replace(BARE, line=line, end_line=end, **more)


def plan(*loops: LoopPlan, refused: str = "") -> Plan:
    return Plan("train.py", loops, (), refused)


def text(*parts: str) -> str:
    return "\n\n".join(parts) + "\n"


SOURCE = b"""\
best = 0
for epoch in range(1, args.epochs + 1):
    for x, y in loader:
        step(model, optimizer, x, y)
    best = max(best, 1)
for i in range(3):
    xs.append(i)
"""
EPOCHS = loop(2, 5, changes=("model", "optimizer", "best"), binds=("epoch", "x", "y", "best"))
STEPS = loop(3, 4, col=4, changes=("model", "optimizer"), binds=("x", "y"))
TINY = loop(6, 7, guarded=False, reason=SMALL)


def test_a_usual_script():
    assert explain(plan(TINY, STEPS, EPOCHS), SOURCE) == text(
        "train.py:2  for epoch in range(1, args.epochs + 1)   guarded, main loop\n"
        "    It changes model and optimizer; rebinds best. Replay can start it at any iteration, with all"
        " of\n"
        "    that put back as it was.",
        "  train.py:3  for x, y in loader                     guarded, skip block\n"
        "      It changes model and optimizer. Replay skips it and puts that back, unless a line you added\n"
        "      inside has to run.",
        "1 small loop carries no guard (line 6): nothing in it takes long. Replay just runs it.",
    )


def test_without_the_source_the_place_is_named():
    assert explain(plan(replace(EPOCHS, function="main"))).startswith(
        "train.py:2  for loop in main()   guarded, main loop\n"
    )


def test_small_loops_are_counted_not_listed():
    loops = [loop(n, n + 1, guarded=False, reason=SMALL) for n in (1, 4, 7)]
    assert explain(plan(*loops)) == (
        "3 small loops carry no guard (lines 1, 4, 7): nothing in them takes long. Replay just runs them.\n"
    )


REFUSALS = {
    "it yields in the middle": "yield from a short loop",
    "it awaits in the middle": "move it into a plain function",
    "it is an async for loop": "move it into a plain function",
    "it stands in a function that is compiled (torch.jit.script, torch.compile, numba or the like)":
    "Nothing is lost",
    "it stands in the body of a class with bases, which may look at every name bound there": "in a function",
    "the statement nonlocal x comes after its start": "to the top of its function",
    "a jump in a finally block may throw its return away": "out of the finally block",
}


@pytest.mark.parametrize(("reason", "remedy"), REFUSALS.items(), ids=REFUSALS)
def test_a_refusal_gives_the_place_the_reason_and_what_to_do(reason, remedy):
    said = " ".join(explain(plan(loop(3, 5, guarded=False, reason=reason))).split())
    assert "not guarded" in said
    assert f"No guard at train.py:3: {reason}." in said
    assert remedy in said


def test_a_loop_that_changes_nothing_outside():
    assert "It changes nothing that is used outside it." in explain(plan(loop(1, 2)))


def test_a_loop_with_an_else_is_never_skipped_whole():
    assert "never skipped as a whole" in explain(plan(loop(1, 4, has_else=True)))
    inner = loop(2, 3, has_else=True)
    assert "Without the else it could be." in " ".join(explain(plan(loop(1, 4), inner)).split())


def test_a_return_is_repeated():
    assert "A return out of it is repeated with its value." in " ".join(
        explain(plan(loop(1, 4, has_return=True))).split()
    )


def test_a_loop_reached_from_another_is_a_skip_block():
    inner = loop(2, 4, function="train")
    outer = loop(8, 9, calls=("train.py::train",))
    assert [d["role"] for d in explain_data(plan(inner, outer))] == ["skip block", "main loop"]


def test_the_second_skip_block_is_told_shortly():
    said = explain(plan(loop(1, 9), loop(2, 3), loop(4, 5)))
    assert " ".join(said.split()).count("unless a line you added") == 1
    assert "Replay skips it likewise." in said


def test_many_names_are_counted():
    names = tuple(f"name{n}" for n in range(20))
    assert "name8 and 11 more" in " ".join(explain(plan(loop(1, 2, changes=names))).split())


def test_three_attributes_of_an_object_are_the_object():
    assert "changes meter." in explain(plan(loop(1, 2, changes=("meter.n", "meter.sum", "meter.avg"))))
    assert "self.a, self.b and self.c" in explain(plan(loop(1, 2, changes=("self.a", "self.b", "self.c"))))


def test_a_refused_module():
    said = " ".join(explain(plan(EPOCHS, refused="libcst cannot read its tabs")).split())
    assert said.startswith(
        "train.py runs as it is written: libcst cannot read its tabs. No loop of it is skipped"
    )
    assert explain_data(plan(EPOCHS, refused="libcst cannot read its tabs"))[0]["guarded"] is False


def test_a_module_without_loops():
    assert explain(plan()) == "train.py has no loops.\n"


ADVICE = {
    "an evaluation in a comprehension": (
        "for epoch in range(3):\n    acc = sum(evaluate(model, b) for b in batches)\n",
        "train.py:2: evaluate(…) runs inside a comprehension, which carries no guard",
    ),
    "an iterator made before the loop": (
        "it = iter(loader)\nfor step in range(9):\n    x = next(it)\n",
        "train.py:3: it was made by iter() on line 1, before the loop.",
    ),
    "a flat loop over steps": (
        "x = 0\nfor step in range(900):\n    loss(step).backward()\n    optimizer.step()\n",
        "train.py:2: this is one flat loop over steps",
    ),
}


@pytest.mark.parametrize(("source", "said"), ADVICE.values(), ids=ADVICE)
def test_advice(source, said):
    line = 1 if source.startswith("for") else 2
    found = explain(plan(loop(line, source.count("\n"))), source.encode())
    assert said in " ".join(found.split())


@pytest.mark.parametrize(
    "source",
    [
        "for epoch in range(3):\n    acc = sum(x * 2 for x in xs)\n",
        "for epoch in range(3):\n    m = sum(p.norm() for p in model.parameters())\n",
        "for step in range(9):\n    it = iter(loader)\n    x = next(it)\n",
        "for x in loader:\n    loss(x).backward()\n",
    ],
    ids=["numbers", "norms", "an iterator of its own", "an epoch's loop over batches"],
)
def test_no_advice_where_none_is_due(source):
    assert "train.py:" not in explain(plan(loop(1, source.count("\n"))), source.encode()).partition("\n")[2]


def test_data_is_plain_and_complete():
    data = explain_data(plan(TINY, STEPS, EPOCHS), SOURCE)
    assert json.loads(json.dumps(data)) == data
    assert [d["line"] for d in data] == [2, 3, 6]
    assert data[0]["rebinds"] == ["best"] and data[0]["changes"] == ["model", "optimizer"]
    assert [d["role"] for d in data] == ["main loop", "skip block", "small"]
