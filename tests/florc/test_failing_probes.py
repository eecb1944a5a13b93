"""An added line that raises: told with its traceback, once, whatever of the output was asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.florc.running import TIMEOUT_S, environment, florc, lay

PROGRAM = """\
total = [0]

def train(epoch):
    for step in range(3):
        total[0] += epoch * step
    return total[0]

for epoch in range(4):
    got = train(epoch)
    print("epoch", epoch, got)
"""
OUTER = ("    got = train(epoch)\n", "    got = train(epoch)\n    if epoch == 2:\n        print(missing)\n")
INNER = ("        total[0] +=", "        print(total.nothing)\n        total[0] +=")
WAYS = [(), ("--new",), ("--at", "2"), ("-q",)]
LIMIT = {"--new": "", "--at": ""}  # what is printed before; else all epochs up to there


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = lay(tmp_path_factory.mktemp("failing"), {"train.py": PROGRAM})
    assert florc(folder, "record", "-q", "--overhead", "1", "train.py").code == 0
    return folder


@pytest.mark.parametrize("way", WAYS, ids=" ".join)
def test_the_traceback_of_an_added_line_comes_out_once_and_nothing_starts_again(recorded, way):
    lay(recorded, {"train.py": PROGRAM.replace(*OUTER)})
    done = florc(recorded, "replay", *way, "train.py")
    assert done.code == 65
    assert done.err.count("Traceback (most recent call last)") == 1
    assert "NameError: name 'missing' is not defined\n" in done.err
    assert "not exact: train.py:11, an added line, raised NameError: name 'missing'" in done.err
    assert "starting again" not in done.err and "exits with" not in done.err
    assert done.out == ("" if set(way) & LIMIT.keys() else "epoch 0 0\nepoch 1 3\n")


def test_one_that_raises_in_a_function_is_told_by_its_own_line(recorded):
    lay(recorded, {"train.py": PROGRAM.replace(*INNER)})
    done = florc(recorded, "replay", "--new", "train.py")
    assert (done.code, done.out) == (65, "")
    assert done.err.count("Traceback (most recent call last)") == 1
    assert "train.py:5, an added line, raised AttributeError" in done.err


def test_what_the_program_prints_on_its_way_out_is_no_line_of_the_probes(tmp_path):
    text = "import atexit\natexit.register(print, 'bye')\n" + PROGRAM
    lay(tmp_path, {"train.py": text})
    assert florc(tmp_path, "record", "-q", "--overhead", "1", "train.py").out.endswith("bye\n")
    lay(tmp_path, {"train.py": text.replace(*OUTER)})
    assert florc(tmp_path, "replay", "--new", "train.py").out == ""
    assert florc(tmp_path, "replay", "train.py").out == "epoch 0 0\nepoch 1 3\nbye\n"


def test_inner_iterations_without_an_added_line_are_told(tmp_path):
    text = "def times(a, b):\n    return a * b\n\n" + PROGRAM.replace("epoch * step", "times(epoch, step)")
    lay(tmp_path, {"train.py": text})
    assert florc(tmp_path, "record", "-q", "--overhead", "1", "train.py").code == 0
    call = "    got = train(epoch)\n"
    lay(tmp_path, {"train.py": text.replace(call, call + "    print('added')\n")})
    done = florc(tmp_path, "replay", "-q", "--at", "2, step=1", "train.py")
    assert (done.code, done.out) == (0, "")
    assert "no added line printed in those iterations" in done.err


def test_an_error_that_the_record_had_stays_what_it_was(tmp_path):
    ends = PROGRAM + "raise ValueError(got)\n"
    lay(tmp_path, {"train.py": ends})
    recorded = florc(tmp_path, "record", "-q", "train.py")
    call = "    got = train(epoch)\n"
    lay(tmp_path, {"train.py": ends.replace(call, call + "    print(got)\n")})
    done = florc(tmp_path, "replay", "-q", "train.py")
    assert (done.code, recorded.code) == (1, 1)
    assert done.err.count("ValueError: 18") == 1 and "added line" not in done.err


@pytest.mark.parametrize("way", [(), ("--new",), ("--at", "2:")], ids=" ".join)
def test_a_replay_whose_reader_has_gone_ends_without_a_word(recorded, way):
    loud = "        print('x' * 100_000)\n"  # more than a pipe holds
    lay(recorded, {"train.py": PROGRAM.replace(INNER[0], loud + INNER[0])})
    words = (sys.executable, "-m", "florc", "replay", "-q", *way, "train.py")
    with subprocess.Popen(words, cwd=recorded, env=environment(), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as replay:  # fmt: skip
        assert replay.stdout is not None and replay.stderr is not None
        assert replay.stdout.read(1)
        replay.stdout.close()
        assert (replay.stderr.read(), replay.wait(TIMEOUT_S)) == (b"", 1)


def test_a_run_whose_reader_had_gone_is_replayed_up_to_there(tmp_path):
    text = "for epoch in range(400):\n    total = epoch\n    print('epoch', epoch, 'x' * 9**4, flush=True)\n"
    lay(tmp_path, {"train.py": text})
    words = (sys.executable, "-m", "florc", "record", "-q", "train.py")
    with subprocess.Popen(words, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as record:  # fmt: skip
        assert record.stdout is not None and record.stdout.readline()
        record.stdout.close()
        assert record.wait(TIMEOUT_S) == 1
    lay(tmp_path, {"train.py": text.replace("    print", "    print('look', total)\n    print")})
    done = florc(tmp_path, "replay", "train.py")
    assert done.code == 1
    assert done.out.startswith("look 0\nepoch 0 xxx") and "look 399" not in done.out
    assert "not exact" not in done.err and "the recorded run was interrupted" in done.err
