"""`florc verify`, words of the state check, the way back to earlier checkpoints, changed inputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.florc.running import florc, lay, python

TRAIN = """\
import numpy as np
def scaled(value):
    return np.multiply(value, 0.5)
data = np.loadtxt("data.csv")
w = np.zeros(400)
log = []
for epoch in range(5):
    for step in range(30):
        w += scaled(data[step % 3])
    log.append(float(w[0]))
    print("epoch", epoch, w[0])
test = np.loadtxt("test.csv")
print("end", len(log))
"""
FILES = {"train.py": TRAIN, "data.csv": "1\n2\n3\n", "test.csv": "4\n5\n6\n"}


def recorded(folder: Path, files: dict[str, str]) -> Path:
    pytest.importorskip("numpy")
    lay(folder, files)
    done = florc(folder, "record", "--overhead", "1", "--name", "one", "train.py")
    assert (done.code, done.err) == (0, "")
    return folder


def summary(folder: Path) -> Any:
    return json.loads((folder / "s.json").read_text())


def damage(folder: Path, position: float) -> None:
    """Turn one bit of the payloads."""
    pack = folder / ".florc" / "runs" / "one" / "data.pack"
    data = bytearray(pack.read_bytes())
    data[int(len(data) * position)] ^= 1
    pack.write_bytes(data)


def test_a_run_that_repeats(tmp_path):
    recorded(tmp_path, FILES)
    done = florc(tmp_path, "verify", "--rerun")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("one of train.py repeats: ")
    states, writes = (words.split(" of ") for words in done.out.split(": ")[1].split(" and "))
    assert states[0] == states[1].split()[0] != "0"
    assert writes[0] == writes[1].split()[0] != "0"


def test_verify_reads_every_payload_and_names_what_is_damaged(tmp_path):
    recorded(tmp_path, FILES)
    whole = florc(tmp_path, "verify")
    assert whole.code == 0
    assert whole.out.startswith("one: ") and whole.out.endswith("all as they were written\n")
    damage(tmp_path, 0.5)
    done = florc(tmp_path, "verify", "one")
    assert done.code == 65
    assert "is damaged (data.pack at byte " in done.out
    assert done.out.endswith(" 1 damaged\n")


def test_verify_tells_a_damaged_journal_from_damaged_payloads(tmp_path):
    recorded(tmp_path, FILES)
    journal = tmp_path / ".florc" / "runs" / "one" / "journal.jsonl"
    data = journal.read_bytes()
    journal.write_bytes(data[:-300] + bytes([data[-300] ^ 1]) + data[-299:])
    done = florc(tmp_path, "verify", "one")
    assert done.code == 65
    assert "journal.jsonl is damaged between byte" in done.out
    assert done.out.endswith("all as they were written; but the record itself is not whole\n")
    index = journal.with_name("data.idx")
    index.write_bytes(b"".join(index.read_bytes().splitlines(keepends=True)[:-2]))
    journal.write_bytes(data)
    assert florc(tmp_path, "verify", "one").out.endswith("bytes, 2 missing\n")


def test_the_summary_parts_the_seconds_at_the_first_main_loop(tmp_path):
    slow = TRAIN.replace("log = []", "import time; time.sleep(0.4)\nlog = []")
    recorded(tmp_path, {**FILES, "train.py": slow})
    assert florc(tmp_path, "replay", "--summary", "s.json", "train.py").code == 0
    seconds = summary(tmp_path)["seconds"]
    assert 0.4 <= seconds["setup"] < seconds["total"]
    parts = seconds["setup"] + seconds["restore"] + seconds["execute"]
    assert parts == pytest.approx(seconds["total"], abs=0.001)
    lay(tmp_path, {"flat.py": "print(1)\n"})
    florc(tmp_path, "record", "flat.py")
    florc(tmp_path, "replay", "--summary", "s.json", "flat.py")
    assert summary(tmp_path)["seconds"]["setup"] == 0


def test_verify_of_nothing_is_refused(tmp_path):
    done = florc(tmp_path, "verify")
    assert (done.code, done.out) == (69, "")
    assert "record one with" in done.err


def test_what_does_not_repeat_is_told_with_its_first_element(tmp_path):
    files = {**FILES, "train.py": TRAIN.replace("0.5", "float(open('rate').read())"), "rate": "0.5"}
    recorded(tmp_path, files)
    (tmp_path / "rate").write_text("0.75")
    done = florc(tmp_path, "verify", "--rerun")
    assert done.code == 65
    assert "does not repeat" in done.out
    assert "w[0] is 45.0 (recorded 30.0; 400 of 400 elements differ, by at most 15)" in done.err
    assert f"a likely cause: {tmp_path / 'rate'}, which the run read, has changed since" in done.err


def test_a_damaged_checkpoint_is_told_and_the_one_before_it_used(tmp_path):
    recorded(tmp_path, FILES)
    probed = TRAIN.replace("        w +=", "        print(step, w[1])\n        w +=")
    (tmp_path / "train.py").write_text(probed)
    wanted = "".join(python(tmp_path, "train.py").out.splitlines(keepends=True)[-32:-1])
    events = (tmp_path / ".florc" / "runs" / "one" / "journal.jsonl").read_text().splitlines()
    parsed = [json.loads(line) for line in events if line.startswith("[")]
    key = next(event for event in parsed if event[:2] == ["I", 4])[3][0]
    for line in (tmp_path / ".florc" / "runs" / "one" / "data.idx").read_text().splitlines():
        if line.startswith(key):
            pack = tmp_path / ".florc" / "runs" / "one" / "data.pack"
            data = bytearray(pack.read_bytes())
            data[int(line.split()[1]) + 3] ^= 1
            pack.write_bytes(data)
    done = florc(tmp_path, "replay", "--at", "4", "--summary", "s.json", "train.py")
    assert (done.code, done.out) == (0, wanted)
    assert "damaged" in done.err and "starting again" not in done.err
    assert summary(tmp_path)["main_loops"][0]["executed"] == [4]


def test_a_state_that_does_not_come_back_costs_its_own_block_only(tmp_path):
    program = (
        "class A: pass\nclass B: pass\nodd, total = A(), 0\ndef work(i):\n    return float(i)\n"
        "for epoch in range(4):\n"
        "    for i in range(20):\n        odd.__class__ = B if work(epoch) % 2 else A\n"
        "    for i in range(20):\n        total += work(i)\n"
        "    print(epoch, total)\n"
    )
    recorded(tmp_path, {"train.py": program})
    (tmp_path / "train.py").write_text(program + "print(type(odd).__name__)\n")
    wanted = python(tmp_path, "train.py").out
    done = florc(tmp_path, "replay", "--summary", "s.json", "train.py")
    assert (done.code, done.out) == (0, wanted)
    assert "starting again without the states of" in done.err
    assert summary(tmp_path)["blocks"]["skipped"] > 0


@pytest.mark.parametrize("file", ["data.csv", "test.csv"])
def test_an_input_that_changed_is_never_read_in_silence(tmp_path, file):
    recorded(tmp_path, FILES)
    (tmp_path / file).write_text("7\n8\n9\n")
    (tmp_path / "train.py").write_text(TRAIN + "print(test.sum())\n")
    done = florc(tmp_path, "replay", "train.py")
    assert done.code == 65
    assert f"{tmp_path / file}, which the run read, has changed since (it still has 6 bytes)" in done.err


def test_an_input_that_was_only_touched_is_no_matter(tmp_path):
    recorded(tmp_path, FILES)
    (tmp_path / "data.csv").write_text(FILES["data.csv"])
    assert florc(tmp_path, "replay", "train.py").code == 0


def test_entropy_and_dates_come_again_in_what_is_executed(tmp_path):
    program = (
        "import random, uuid, os, time\nfrom datetime import datetime\n"
        "start = datetime.now()\n"
        "for epoch in range(3):\n"
        "    for step in range(20):\n        x = random.Random().random() + random.SystemRandom().random()\n"
        "    print(uuid.uuid4(), os.urandom(3), datetime.now(), time.strftime('%H%M%S'), x)\n"
        "    time.sleep(0.01)\n"
        "print((datetime.now() - start).total_seconds(), time.ctime())\n"
    )
    lay(tmp_path, {"train.py": program})
    first = florc(tmp_path, "record", "--overhead", "1", "train.py")
    (tmp_path / "train.py").write_text(program.replace("        x =", "        print('-')\n        x ="))
    done = florc(tmp_path, "replay", "--summary", "s.json", "train.py")
    assert done.code == 0
    assert done.out.replace("-\n", "") == first.out
    assert done.out.count("-\n") == 60
    assert summary(tmp_path)["main_loops"][0]["executed"] == [0, 1, 2]
