"""Added `if`s over loop variables: what they can show nothing in is skipped, and never anything else.

Each program is run plainly with its probe from the start, recorded without, and replayed with it: the text
must be the same, and no more iterations than expected may have run.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from florc.plans.narrowing import reaches_the_script
from tests.florc.running import florc, lay, python

pytestmark = pytest.mark.program

HEAD = """\
import random
random.seed(3)
total = 0.0

def work(amount):
    global total
    total += amount * random.random()
    return total
"""


def with_lines(program: str, marker: str, lines: str) -> str:
    """The program with lines in the place of the comment `marker`."""
    indent = next(line for line in program.splitlines() if line.strip() == marker).split("#")[0]
    text = "".join(f"{indent}{line}\n" for line in lines.splitlines())
    return program.replace(f"{indent}{marker}\n", text)


def replayed(folder: Path, program: str, marker: str, probe: str, truth: str = "") -> dict[str, Any]:
    """The summary of a replay, which must print what plain Python prints.

    marker: where the probe goes. truth: lines that print what the probe would if it did not disturb.
    """
    home = lay(folder / "user", {"train.py": program})
    assert florc(home, "record", "-q", "--overhead", "1", "train.py").code == 0
    right = with_lines(program, marker, truth or probe)
    wanted = python(lay(folder / "truth", {"train.py": right}), "train.py")
    lay(home, {"train.py": with_lines(program, marker, probe)})
    done = florc(home, "replay", "--summary", "summary.json", "train.py")
    assert (done.code, done.out) == (wanted.code, wanted.out), done.err
    found: dict[str, Any] = json.loads((home / "summary.json").read_text())
    assert found["exact"]
    return found


def executed(summary: dict[str, Any]) -> list[int]:
    """The iterations of the (only) main loop that ran."""
    (loop,) = summary["main_loops"]
    found: list[int] = loop["executed"]
    return found


EPOCHS = f"""{HEAD}
def main():
    for epoch in range(10):
        for step in range(8):
            x = work(step)
            # here
        # after
        print("epoch", epoch, total)

main()
"""
ALL = list(range(10))
# a probe, and the iterations that it executes
CONDITIONS = {
    "one epoch": ("if epoch == 3: print('p', x)", [3]),
    "an epoch and a step": ("if epoch == 3 and step == 7: print('p', x)", [3]),
    "a step and an epoch": ("if step == 7 and epoch == 3: print('p', x)", [3]),
    "several": ("if epoch in (3, 7): print('p', x)", [3, 7]),
    "every so many": ("if epoch % 4 == 0: print('p', x)", [0, 4, 8]),
    "and what is not known": ("if epoch == 3 and total > 0: print('p', x)", [3]),
    "and a call": ("if epoch % 4 == 1 and work.__name__.startswith('w'): print('p', x)", [1, 5, 9]),
    "a chain": ("if 2 <= epoch < 4: print('p', x)", [2, 3]),
    "not": ("if not epoch // 2: print('p', x)", [0, 1]),
    "as a truth": ("if not epoch: print('p', x)", [0]),
    "or": ("if epoch == 2 or epoch == 5 and step == 1: print('p', x)", [2, 5]),
    "computed": ("if (epoch + 1) * 2 == 10: print('p', x)", [4]),
    "nested": ("if epoch == 6:\n    if step > 5:\n        print('p', x)", [6]),
    "an elif": ("if epoch == 1: print('p')\nelif epoch == 2: print('q', x)", [1, 2]),
    "an elif, not known": ("if epoch == 1: print('p')\nelif x > 3 and epoch == 2: print('q')", ALL),
    "an else": ("if epoch == 1: pass\nelse: print('p', x)", ALL),
    "never": ("if epoch == 10: print('p', x)", []),
    "two, each with its own": ("if epoch == 1: print('p', x)\nif epoch == 2: print('q', x)", [1, 2]),
    "two, one without": ("if epoch == 1: print('p', x)\nif x < 0: print('q', x)", ALL),
    "what is not known first": ("if x > 1e9 and epoch == 3: print('p', x)", ALL),
    "or what is not known": ("if epoch == 3 or x > 1e9: print('p', x)", ALL),
    "a walrus": ("if (twice := epoch * 2) == 4: print('p', x, twice)", ALL),
    "a walrus behind": ("if epoch == 2 and (twice := x * 2) > 0: print('p', x, twice)", [2]),
    "another name": ("if total > 1e9: print('p', x)", ALL),
    "what the probes keep": ("if epoch == 2: kept = x\nif epoch == 4: print('p', kept)", [2, 4]),
}


@pytest.mark.parametrize(("probe", "expected"), CONDITIONS.values(), ids=CONDITIONS)
def test_iterations_in_which_the_condition_is_false_do_not_run(tmp_path, probe, expected):
    assert executed(replayed(tmp_path, EPOCHS, "# here", probe)) == expected


def test_what_a_narrowed_line_disturbs_is_put_back(tmp_path):
    disturbing = "if epoch == 2:\n    print('p', work(random.random()))"
    careful = (
        "if epoch == 2:\n    state, before = random.getstate(), total\n"
        "    print('p', work(random.random()))\n    random.setstate(state)\n    globals()['total'] = before"
    )
    found = replayed(tmp_path, EPOCHS, "# here", disturbing, truth=careful)
    assert executed(found) == [2]
    assert any("put back what these lines change" in note for note in found["notes"])


# a program's loops, and the probe's test: none of it may be taken for a value that it is not
DOUBTFUL = {
    "set in the body": """
def main():
    for epoch in range(6):
        epoch = epoch * 2
        x = work(epoch)
        # here: epoch == 4
main()
""",
    "set in the body after the probe": """
def main():
    for epoch in range(6):
        x = work(epoch)
        # here: epoch == 4
        epoch = 9
main()
""",
    "counted up in the body": """
for epoch in range(6):
    work(epoch)
    epoch += 1
    # here: epoch == 4
""",
    "set by an inner loop": """
def main():
    for epoch in range(6):
        work(1)
        for epoch in range(4, 6):
            work(2)
        # here: epoch == 5
main()
""",
    "set by an inner function": """
def main():
    def jump():
        nonlocal epoch
        epoch = 4
    for epoch in range(6):
        work(1)
        jump()
        # here: epoch == 4
main()
""",
    "a global that a function sets": """
def jump():
    global epoch
    epoch = 4
for epoch in range(6):
    work(1)
    jump()
    # here: epoch == 4
""",
    "a global that a function goes through": """
def main():
    global epoch
    for epoch in range(6):
        work(1)
        # here: epoch == 4
main()
""",
    "set through globals()": """
for epoch in range(6):
    work(1)
    globals()["epoch"] = 4
    # here: epoch == 4
""",
    "set through sys.modules": """
import sys
for epoch in range(6):
    work(1)
    setattr(sys.modules["__main__"], "epoch", 4)
    # here: epoch == 4
""",
    "set through the module's object": """
import importlib
me = importlib.import_module("__main__")
for epoch in range(6):
    work(1)
    me.epoch = 4
    # here: epoch == 4
""",
    "set through a module object got by a name that is not written": """
me = __import__(__name__)
for epoch in range(6):
    work(1)
    me.epoch = 4
    # here: epoch == 4
""",
    "set through the module of a function": """
import inspect
for epoch in range(6):
    work(1)
    inspect.getmodule(work).epoch = 4
    # here: epoch == 4
""",
    "set by builtins.exec": """
import builtins
for epoch in range(6):
    work(1)
    builtins.exec("epoch = 4")
    # here: epoch == 4
""",
    "set by exec under another name": """
from builtins import exec as run
for epoch in range(6):
    work(1)
    run("epoch = 4")
    # here: epoch == 4
""",
    "set by another name's exec": """
import builtins as python
for epoch in range(6):
    work(1)
    python.exec("epoch = 4")
    # here: epoch == 4
""",
    "a parameter of that name": """
def train(epoch):
    for step in range(3):
        work(step)
        # here: epoch == 14
for epoch in range(6):
    train(epoch + 10)
""",
    "an inner function's own": """
def main():
    for epoch in range(6):
        def inner(epoch=4):
            work(1)
            # here: epoch == 4
        inner()
main()
""",
    "read by an inner function": """
def main():
    for epoch in range(6):
        def inner():
            work(1)
            # here: epoch == 4
        inner()
main()
""",
    "of a while loop": """
epoch = 0
while epoch < 6:
    work(1)
    # here: epoch == 4
    epoch += 1
""",
    "after the loop": """
for epoch in range(6):
    work(1)
else:
    work(2)
    # here: epoch == 5
""",
    "set by except": """
def main():
    for epoch in range(6):
        work(1)
        try:
            raise ValueError(4)
        except ValueError as epoch:
            # here: str(epoch) == "4" and epoch != 3
            pass
main()
""",
    "of another kind from the fourth iteration on": """
for epoch in [1, 1, 1, 1, 1, 4, 4.5, 4.0, True, "4"]:
    work(1)
    # here: epoch == 4
""",
    "whole numbers and others": """
def main():
    for epoch in [1, 2.5, 4, 4.0, True, None, "x" * 100]:
        work(1)
        # here: epoch == 4
main()
""",
    "with an equality of its own": """
class Odd:
    def __eq__(self, other):
        print("compared with", other)
        return other == 4
def main():
    for epoch in [3, Odd(), 5, Odd()]:
        work(1)
        # here: epoch == 4
main()
""",
    "in a recursion": """
def train(depth):
    for epoch in range(3):
        work(epoch)
        if depth and epoch == 1:
            train(depth - 1)
        # here: epoch == 2
train(3)
""",
    "what would raise": """
for epoch in range(3):
    work(epoch)
    # here: epoch % 2 == 5 or epoch // (epoch * 0 + 1) == 2
""",
    "range is not Python's": """
class Number(int):
    def __eq__(self, other):
        print("asked for", other)
        return False
    __hash__ = None
def range(count):
    return [Number(number) for number in (1, 2, 3)]
def main():
    for epoch in (1, 2):
        for step in range(3):
            work(1)
            # here: step == 5 and epoch == 9
main()
""",
    "in a class": """
class Runs:
    for epoch in range(6):
        work(1)
        # here: epoch == 4
""",
    "twice in one target": """
def main():
    for epoch, epoch in [(1, 4), (4, 1), (2, 4)]:
        work(1)
        # here: epoch == 4
main()
""",
}


@pytest.mark.parametrize("program", DOUBTFUL.values(), ids=DOUBTFUL)
def test_a_name_that_may_hold_something_else_narrows_nothing_wrongly(tmp_path, program):
    marker = next(line.strip() for line in program.splitlines() if "# here: " in line)
    probe = f"if {marker.removeprefix('# here: ')}: print('p', total)"
    replayed(tmp_path, f"{HEAD}{program}print('end', total)\n", marker, probe)


REACHING = (
    "import __main__", "from sys import argv, modules", "importlib.import_module('__main__')",
    "import_module(name)", "__import__(f'{name}')", "patch('__main__.epoch', 1)", "from unittest import mock",
    "frame.f_globals", "gc.get_objects()", "load = importlib.import_module",
)
NOT_REACHING = (
    "if __name__ == '__main__': main()", "if __name__=='__main__': main()", "from sys import argv",
    "import_module('configs.small')", "import_module('configs.' + name)", "model.eval()",
)


@pytest.mark.parametrize("text", REACHING + NOT_REACHING)
def test_what_may_get_hold_of_the_scripts_names_is_seen_in_any_file(text):
    assert reaches_the_script(text.encode()) == (text in REACHING)


# loops over other things than range, the test, and the iterations in which it holds
VALUES = {
    "enumerate": ("epoch, lr in enumerate([0.5, 0.25, 0.125])", "epoch == 1", [1]),
    "a tuple in a tuple": ("epoch, (low, high) in enumerate([(1, 5), (2, 7)])", "high == 7", [1]),
    "reversed": ("epoch in reversed(range(4))", "epoch == 3", [0]),
    "words": ("phase in ('warm', 'main', 'cool')", "phase != 'main'", [0, 2]),
    "words, a part of them": ("phase in ('warm', 'main', 'cool')", "'oo' in phase", [2]),
    "fractions are not recorded": ("lr in (0.5, 0.25, 0.125)", "lr == 0.25", [0, 1, 2]),
    "downwards": ("epoch in range(5, 0, -1)", "epoch <= 2", [3, 4]),
}


@pytest.mark.parametrize("place", ["module", "function"])
@pytest.mark.parametrize(("loop", "test", "expected"), VALUES.values(), ids=VALUES)
def test_recorded_values_of_any_plain_kind_decide(tmp_path, place, loop, test, expected):
    body = f"for {loop}:\n    for step in range(3):\n        work(step)\n        # here\n    print(total)\n"
    if place == "function":
        body = "def main():\n" + "".join(f"    {line}\n" for line in body.splitlines()) + "main()\n"
    found = replayed(tmp_path, HEAD + body, "# here", f"if {test}: print('p', total)")
    assert executed(found) == expected


STEPS = f"""{HEAD}
import sys
seen = []
def main():
    for epoch in range(4):
        for step in range(40):
            x = work(step)
            seen.append(epoch * step)
            if step % 5 == 0: print("at", step, x)
            if step % 7 == 0: print("beside", step, file=sys.stderr)
            # here
        print("epoch", epoch, total, x, step, sum(seen))
    print("all", total, step, len(seen))
main()
"""
# a probe, and how many blocks are left before their end
EARLY = {
    "one step": ("if step == 7: print('p', x)", 4),
    "one step of one epoch": ("if epoch == 2 and step == 7: print('p', x)", 1),
    "several": ("if step in (3, 11): print('p', x)", 4),
    "a range": ("if 5 <= step < 9: print('p', x)", 4),
    "by the epoch": ("if step == epoch * 3: print('p', x)", 4),
    "two probes": ("if step == 3: print('p', x)\nif step == 30: print('q', x)", 4),
    "not the last": ("if step == 39: print('p', x)", 0),
    "beyond the end": ("if step == 99: print('p', x)", 0),
    "again and again": ("if step % 9 == 0: print('p', x)", 0),
    "something else besides": ("if step == 3: print('p', x)\nif x < 3: print('q', x)", 0),
    "what the probes keep": ("if step == 3: kept = x\nif step == 5: print('p', kept - x)", 4),
}


@pytest.mark.parametrize(("probe", "left"), EARLY.values(), ids=EARLY)
def test_a_block_is_left_after_the_last_step_that_can_show(tmp_path, probe, left):
    found = replayed(tmp_path, STEPS, "# here", probe)
    assert found["blocks"]["left_early"] == left


def test_what_ends_as_it_began_is_put_back_in_the_middle_of_a_block(tmp_path):
    """No checkpoint has it: at the end of each block step is 39 and taken is empty, as at its start."""
    program = f"""{HEAD}
taken, kept = [], []
for epoch in range(3):
    for step in range(40):
        taken.append(work(step))
        # here
        kept.append(step)
        if step == 39: taken.clear()
    print(epoch, taken, len(kept), total)
"""
    found = replayed(tmp_path, program, "# here", "if step == 7: print('p', taken)")
    assert (found["blocks"]["left_early"], found["started_again"]) == (3, "")


def test_what_the_rest_of_a_block_wrote_comes_once_to_each_stream(tmp_path):
    found = replayed(tmp_path, STEPS, "# here", "if step == 7: print('p', x)")
    assert found["blocks"]["left_early"] == 4
    done = florc(tmp_path / "user", "replay", "train.py")
    told = [line for line in done.err.splitlines() if line.startswith("beside")]
    assert told == [f"beside {step}" for step in range(0, 40, 7)] * 4


BATCHES = """
def batches():
    try:
        yield from range(40)
    finally:
        print("closed", work(1))
"""
# programs whose loop ends otherwise than by its last step, or whose iterator's end can be seen
ENDINGS = {
    "a break": ("step in range(40)", "if step == 30: break", 3),
    "an enumerate": ("step, _ in enumerate([0.5] * 40)", "pass", 3),
    "an enumerate from three": ("step, _ in enumerate([0.5] * 40, 3)", "pass", 3),
    "over a dictionary": ("step, _ in enumerate({n: n for n in range(40)}.items())", "pass", 3),
    "over a zip": ("step, _ in enumerate(zip(range(40), 'a' * 40))", "pass", 3),
    "with large steps": ("step in range(1, 400, 2)", "pass", 3),
    "downwards": ("step in range(40, 0, -1)", "pass", 0),
    "over a generator": ("step, _ in enumerate(batches())", "pass", 0),
    "over a map": ("step, _ in enumerate(map(work, range(40)))", "pass", 0),
    "the name set elsewhere": ("step in range(40)", "step -= 3", 0),
}


def stepping(loop: str, end: str, place: str) -> str:
    """A program with such a loop in three epochs: in a function, or in the body of the module's loop."""
    lines = [f"for {loop}:", "    x = work(step)", "    # here", f"    {end}", "    print('at', step, x)"]
    inside = "".join(f"    {line}\n" for line in [*lines, "print('trained', step, x)"])
    if place == "module":
        return f"{HEAD}{BATCHES}for epoch in range(3):\n{inside}    print(step, x, total)\n"
    call = "for epoch in range(3):\n    print('gave', train(epoch), total)\n"
    return f"{HEAD}{BATCHES}def train(epoch):\n{inside}{call}"


@pytest.mark.parametrize("place", ["function", "module"])
@pytest.mark.parametrize(("loop", "end", "left"), ENDINGS.values(), ids=ENDINGS)
def test_a_block_that_is_left_ends_as_it_did(tmp_path, place, loop, end, left):
    found = replayed(tmp_path, stepping(loop, end, place), "# here", "if step == 7: print('p', x)")
    assert found["blocks"]["left_early"] == left


def test_a_block_that_is_left_returns_what_it_returned(tmp_path):
    program = stepping("step in range(40)", "if step == 30: return step", "function")
    found = replayed(tmp_path, program, "# here", "if step == 7: print('p', x)")
    assert found["blocks"]["left_early"] == 3


FILES = f"""{HEAD}
log = open("log.txt", "a")
def main():
    for epoch in range(3):
        with open(f"epoch{{epoch}}.txt", "w") as own:
            for step in range(30):
                x = work(step)
                log.write(f"{{epoch}} {{step}} {{x}}\\n")
                own.write(f"{{x}}\\n")
                # here
        log.flush()
        print(epoch, open("log.txt").read().count("\\n"), open(f"epoch{{epoch}}.txt").read()[-40:])
main()
print(open("log.txt").read())
"""


def test_files_that_the_rest_of_a_block_wrote_are_as_they_were(tmp_path):
    found = replayed(tmp_path, FILES, "# here", "if epoch == 1 and step == 4: print('p', x)")
    assert (executed(found), found["blocks"]["left_early"]) == ([1], 1)


REACHED = f"""{HEAD}
import os

def train(step):
    if step > 100:
        work(step)
        # branch
    work(step)

def evaluate():
    for k in range(3):
        work(k)
    # evaluation
    return total

def rare():
    work(1)
    # rare

def never():
    work(1)
    # never

def outside():
    # outside
    work(1)

outside()
for epoch in range(6):
    for step in range(4):
        train(step)
    print("epoch", epoch, evaluate())
    if epoch == 4:
        rare()
"""
NEVER = "never reached in this run"


@pytest.mark.parametrize(
    ("marker", "skipped", "told"),
    [
        ("# rare", 2, False),
        ("# evaluation", 12, False),
        ("# never", 0, True),
        ("# branch", 0, True),
        ("# outside", 0, False),
    ],
)
def test_only_what_a_line_ran_in_is_run_through(tmp_path, marker, skipped, told):
    found = replayed(tmp_path, REACHED, marker, "print('p', total)")
    assert found["blocks"] == {"skipped": skipped, "executed": 0, "left_early": 0}
    assert any(NEVER in note for note in found["notes"]) is told
    done = florc(tmp_path / "user", "replay", "--plan", "train.py")
    assert (NEVER in done.err) is told


def test_of_a_run_with_other_processes_it_is_not_known_what_was_never_reached(tmp_path):
    child = "if (child := os.fork()) == 0:\n    never()\n    os._exit(0)\nos.waitpid(child, 0)\n"
    program = REACHED + child
    home = lay(tmp_path, {"train.py": program})
    assert florc(home, "record", "-q", "train.py").code == 0
    lay(home, {"train.py": with_lines(program, "# never", "print('p')")})
    assert NEVER not in florc(home, "replay", "--plan", "train.py").err


# a function with the loop and the place of the probe, how it is called, the test, and the epochs that run
PARAMETERS = {
    "by its place": ("train(model, epoch)", "train(None, epoch)", "epoch == 3 and step == 7", [3]),
    "by its name": ("train(*, epoch=0)", "train(epoch=epoch)", "epoch in (1, 2)", [1, 2]),
    "its default": ("train(epoch=3)", "train()", "epoch == 3 and step == 7", [0, 1, 2, 3, 4]),
    "another value": ("train(epoch)", "train(epoch + 10)", "epoch == 12", [2]),
    "a word": ("train(phase)", "train('even' if epoch % 2 == 0 else 'odd')", "phase == 'odd'", [1, 3]),
    "a fraction": ("train(epoch)", "train(epoch / 2)", "epoch == 1.0", [0, 1, 2, 3, 4]),
    "called twice": ("train(k)", "train(epoch), train(9 - epoch)", "k == 6", [3]),
    "called by itself": (
        "train(k)", "train(epoch * 2)", "k == 3 and step == 7", [0, 1, 2, 3, 4],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("function", "call", "test", "expected"), PARAMETERS.values(), ids=PARAMETERS)
def test_a_parameter_has_the_value_it_was_called_with(tmp_path, function, call, test, expected):
    again = "        if step == 5 and k % 2 == 0: train(k + 1)\n" if call == "train(epoch * 2)" else ""
    program = (
        f"{HEAD}def {function}:\n    for step in range(12):\n        x = work(step)\n        # here\n{again}"
        f"    print(x)\nfor epoch in range(5):\n    {call}\n    print('epoch', epoch, total)\n"
    )
    assert executed(replayed(tmp_path, program, "# here", f"if {test}: print('p', x)")) == expected
