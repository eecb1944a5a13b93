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
