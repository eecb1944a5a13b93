"""Probes that change what they look at, in every way that fits a line: the run goes on as recorded."""

from __future__ import annotations

import pytest

from tests.florc.running import florc, lay, python

pytestmark = pytest.mark.program

PROGRAM = """\
import contextlib, random
random.seed(3)
log, total = [0.5] * 400, 0

def train(epoch):
    global total
    for step in range(3):
        total += random.random()
    print("epoch", epoch, total)

for epoch in range(3):
    train(epoch)
print("end", sum(log))
"""
EPOCH = "    train(epoch)\n"
# a probe, and what it prints of the recorded run in each epoch
PROBES = {
    "a with": "with contextlib.nullcontext(): print('probe', log.append(1), len(log))",
    "an if": "if epoch >= 0: print('probe', log.append(1), len(log))",
    "an if with more": "if epoch >= 0: log.append(1); print('probe', None, len(log))",
    "a for": "for _ in range(1): print('probe', log.append(1), len(log))",
    "an else": "if epoch < 0: pass\n    else: print('probe', log.append(1), len(log))",
    "a try": "try: print('probe', log.append(1), len(log))\n    finally: random.random()",
    "two levels": (
        "if epoch >= 0:\n        with contextlib.nullcontext(): print('probe', log.append(1), len(log))"
    ),
    "two beside each other": "random.random(); print('probe', log.append(1), len(log))",
}


@pytest.mark.parametrize("probe", PROBES.values(), ids=PROBES)
def test_what_it_changes_is_put_back_wherever_it_stands_on_its_line(tmp_path, probe):
    home = lay(tmp_path, {"train.py": PROGRAM})
    plain = python(home, "train.py").out.splitlines()
    assert florc(home, "record", "-q", "--overhead", "1", "train.py").code == 0
    (home / "train.py").write_text(PROGRAM.replace(EPOCH, f"{EPOCH}    {probe}\n"))
    done = florc(home, "replay", "train.py")
    wanted = [text for line in plain[:3] for text in (line, "probe None 401")] + plain[3:]
    assert (done.code, done.out.splitlines()) == (0, wanted), done.err


REBOUND = """\
import random
random.seed(3)
scale, total = 2, 0

def train(epoch):
    acc = 0
    for step in range(3):
        acc = acc + step
        loss = random.random()
        # step
    avg = acc / 3
    # function
    print("epoch", epoch, avg, loss)
    return avg

# module
for epoch in range(3):
    total = total + train(epoch)
    # loop
print("end", total, scale)
"""
# where (step: line 10, function: 12, module: 16, loop: 19), the lines, what the one note says ("": none)
ASSIGNING = {
    "a name of a function": ("function", "avg = avg * 100", "12: put back what this line changes: avg"),
    "one in a block": ("step", "acc = acc + 1", "10: put back what this line changes: acc"),
    "several, on two lines": (
        "step",
        "loss = loss * 2; acc = 9\n        del epoch",
        "10-11: put back what these lines change: acc, epoch, loss",
    ),
    "before a harmless statement": (
        "function",
        "avg = 0; mine = 1",
        "12: put back what this line changes: avg",
    ),
    "a loop's variable": (
        "function",
        "for step in range(9): pass",
        "12: put back what this line changes: step",
    ),
    "a name of the module": ("module", "scale = scale * 2", "16: put back what this line changes: scale"),
    "one in a loop of the module": ("loop", "total = 0", "19: put back what this line changes: total"),
    "two of the module": (
        "loop",
        "total = 0\n    scale += 1",
        "19-20: put back what these lines change: scale, total",
    ),
    "the probes' own": ("function", "mine = avg * 100\n    mine = mine + 1", ""),
    "what it holds already": ("function", "avg = avg * 1.0; acc = acc", ""),
    "what it holds already, in the module": ("loop", "total = total * 1.0; scale = scale", ""),
}


@pytest.fixture(scope="module")
def rebound(tmp_path_factory):
    """A project with a recording of REBOUND, and what it printed."""
    home = lay(tmp_path_factory.mktemp("rebound"), {"train.py": REBOUND})
    plain = python(home, "train.py").out
    assert florc(home, "record", "-q", "--overhead", "1", "train.py").code == 0
    return home, plain


@pytest.mark.parametrize(("place", "lines", "note"), ASSIGNING.values(), ids=ASSIGNING)
def test_a_variable_that_it_assigns_is_put_back_with_one_note(rebound, place, lines, note):
    home, plain = rebound
    (home / "train.py").write_text(REBOUND.replace(f"# {place}\n", f"{lines}\n"))
    done = florc(home, "replay", "train.py")
    assert (done.code, done.out) == (0, plain), done.err
    told = [line for line in done.err.splitlines() if "put back what" in line]
    assert told == ([f"florc: train.py:{note}"] if note else [])
