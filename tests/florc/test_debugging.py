"""`breakpoint()` in an added line: the debugger shows the program's frame, and the replay goes on."""

from __future__ import annotations

import pytest

from tests.florc.running import environment, florc, lay

PROGRAM = """\
def train(epoch):
    total = 0
    for step in range(3):
        total += epoch * step
    return total

for epoch in range(4):
    got = train(epoch)
    print("epoch", epoch, got)
"""
STOPPING = {
    "in the loop": PROGRAM.replace("    got = train(epoch)\n", "    got = train(epoch)\n    breakpoint()\n"),
    "in a function": PROGRAM.replace("    return total\n", "    breakpoint()\n    return total\n"),
}


@pytest.mark.parametrize("text", STOPPING.values(), ids=STOPPING)
def test_it_stops_in_the_program_and_goes_on(tmp_path, text):
    lay(tmp_path, {"train.py": PROGRAM})
    assert florc(tmp_path, "record", "-q", "--overhead", "1", "train.py").code == 0
    lay(tmp_path, {"train.py": text})
    done = florc(tmp_path, "replay", "--at", "2", "train.py", stdin="p 'epoch is', epoch\nc\n")
    assert "('epoch is', 2)" in done.out
    assert f"> {tmp_path}/train.py(" in done.out and "florc" not in done.out
    assert "Traceback" not in done.err


@pytest.mark.parametrize("text", STOPPING.values(), ids=STOPPING)
@pytest.mark.parametrize("typed", ["q\n", ""], ids=["quit", "end of input"])
def test_whoever_quits_it_quits_the_replay_without_a_word(tmp_path, text, typed):
    lay(tmp_path, {"train.py": PROGRAM})
    assert florc(tmp_path, "record", "-q", "--overhead", "1", "train.py").code == 0
    lay(tmp_path, {"train.py": text})
    done = florc(tmp_path, "replay", "--at", "2", "train.py", stdin=typed)
    assert done.code == 1
    assert [line for line in done.err.splitlines() if "plan:" not in line] == []
    assert "epoch 2" not in done.out


@pytest.mark.parametrize("option", [("--workers", "2"), ("--first-difference",)], ids=" ".join)
def test_there_is_none_where_a_replay_has_no_terminal(tmp_path, option):
    lay(tmp_path, {"train.py": PROGRAM})
    assert florc(tmp_path, "record", "-q", "--overhead", "1", "train.py").code == 0
    lay(tmp_path, {"train.py": STOPPING["in the loop"]})
    done = florc(tmp_path, "replay", *option, "train.py")
    assert (done.code, done.out) == (2, "")
    assert f"{option[0]}: an added line calls a debugger" in done.err


def test_another_debugger_is_asked_as_under_python(tmp_path):
    lay(tmp_path, {"train.py": PROGRAM})
    assert florc(tmp_path, "record", "-q", "--overhead", "1", "train.py").code == 0
    lay(tmp_path, {"train.py": STOPPING["in the loop"]})
    env = environment(PYTHONBREAKPOINT="0")
    done = florc(tmp_path, "replay", "--at", "2", "train.py", env=env)
    assert (done.code, done.out) == (0, "epoch 2 6\n")
