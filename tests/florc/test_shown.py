"""A program that asks for its names is not told of florc's, recorded or replayed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.florc.running import florc, lay, python

WORK = """\
def work(i):
    h = i
    for _ in range(3000):
        h = (h * 31 + 7) % 1009
    return h

"""
FUNCTION = """\
def main(rate=0.1):
    total = 0
    for epoch in range(3):
        for i in range(2):
            total += work(i)
        last = total
    print("end", total)
main()
"""
MODULE = "total = 0\nfor epoch in range(3):\n    total += work(epoch)\nprint(total)\n"

END, LAST, ADD, TOTAL = '    print("end"', "        last = total\n", "    total +=", "print(total)"
COMPREHENSION = "print([n for n, v in globals().items() if isinstance(v, int)], f'{locals().keys()}')"
ONE_DICT = "first = locals(); print(len(first)); again = locals(); print(first is again, sorted(first))"
WRITTEN = "exec('added = 7', globals())\nglobals()['more'] = 8\nprint(added, more)"

# what is asked: (program, the line before which it is asked, the asking)
ASKED = {
    "locals in a function": (FUNCTION, END, "    print(sorted(locals()))\n"),
    "vars and dir in a loop": (FUNCTION, LAST, "        print(list(vars()), dir())\n"),
    "a dict of names that is kept": (FUNCTION, LAST, "        kept = locals(); print(dir(), sorted(kept))\n"),
    "a dict that was kept": (FUNCTION, END, "    d = locals(); e = 1; print(sorted(d), dir(), sorted(d))\n"),
    "one dict a frame": (FUNCTION, "    total = 0\n", f"    {ONE_DICT}\n"),
    "whether a name is there": (FUNCTION, END, "    print('last' in locals())\n"),
    "one of them": (FUNCTION, LAST, "        print(locals()['i'], locals().get('x'))\n"),
    "globals of a module": (MODULE, TOTAL, "print(sorted(globals()), len(vars()), dir())\n"),
    "names and values in a loop": (MODULE, ADD, f"    {COMPREHENSION}\n"),
    "a namespace that is written to": (MODULE, TOTAL, f"{WRITTEN}\n"),
}
CHANGE = "exec"  # what makes another program of it


@pytest.mark.program
@pytest.mark.parametrize(("program", "line", "asked"), ASKED.values(), ids=ASKED)
def test_its_names_are_as_under_python(program: str, line: str, asked: str, tmp_path: Path) -> None:
    asking = WORK + program.replace(line, asked + line)
    assert asking != WORK + program
    lay(tmp_path, {"plain.py": asking, "asking.py": asking, "train.py": WORK + program})
    truth = python(tmp_path, "plain.py").out
    assert florc(tmp_path, "record", "asking.py").out == truth
    assert florc(tmp_path, "replay", "asking.py").out == truth

    florc(tmp_path, "record", "train.py")
    lay(tmp_path, {"train.py": asking})
    replayed = florc(tmp_path, "replay", "train.py")
    if CHANGE in asked:
        assert replayed.code == 69
    else:
        assert (replayed.code, replayed.out) == (0, truth), replayed.err
