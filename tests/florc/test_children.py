"""Child processes of a program: what they write comes in a replay too, and lines added to what they run."""

from __future__ import annotations

import json

import pytest

from tests.florc.running import florc, lay, python

pytestmark = pytest.mark.program

PROGRAM = """\
import multiprocessing, random, sys

random.seed(3)
totals = [0.0] * 3000

def silent(number):
    square = number * number

def loud(number):
    print("child", number, flush=True)

def step():
    for i in range(len(totals)):
        totals[i] += random.random()

def train():
    for _ in range(3):
        step()

def run(epoch):
    context = multiprocessing.get_context(sys.argv[1])
    child = context.Process(target=globals()[sys.argv[2]], args=(epoch,))
    child.start()
    child.join()

def main():
    for epoch in range(3):
        train()
        run(epoch)
        print("epoch", epoch, flush=True)

if __name__ == "__main__":
    main()
"""
MAIN = ("        train()\n", "        train()\n        print(totals[0], flush=True)\n")
SQUARE = "    square = number * number\n"
CHILD = (SQUARE, f"{SQUARE}    print('square', square, flush=True)\n")


@pytest.mark.parametrize(("method", "target", "edit", "executed"), [
    ("fork", "silent", MAIN, 0),
    ("fork", "silent", CHILD, 3),
    ("fork", "loud", MAIN, 0),
    ("spawn", "silent", CHILD, 0),
    ("spawn", "loud", MAIN, 0),
    ("forkserver", "loud", MAIN, 0),
])  # fmt: skip
def test_what_children_write_comes_in_its_place(tmp_path, method, target, edit, executed):
    home = lay(tmp_path, {"train.py": PROGRAM})
    assert florc(home, "record", "--overhead", "1", "train.py", method, target).code == 0
    (home / "train.py").write_text(PROGRAM.replace(*edit))
    wanted = python(home, "train.py", method, target).out
    done = florc(home, "replay", "--summary", "s.json", "train.py")
    assert (done.code, done.out) == (0, wanted), done.err
    (loop,) = json.loads((home / "s.json").read_text())["main_loops"]
    assert len(loop["executed"]) == executed


def test_with_new_a_forked_child_shows_what_added_lines_write_alone(tmp_path):
    home = lay(tmp_path, {"train.py": PROGRAM})
    assert florc(home, "record", "--overhead", "1", "train.py", "fork", "loud").code == 0
    added = '    print("added", number, flush=True)\n'
    (home / "train.py").write_text(PROGRAM.replace("def loud(number):\n", f"def loud(number):\n{added}"))
    for words, lines in [(["--new"], [0, 1, 2]), (["--new", "--at", "1"], [1])]:
        done = florc(home, "replay", *words, "train.py")
        assert (done.code, done.out) == (0, "".join(f"added {number}\n" for number in lines)), done.err
