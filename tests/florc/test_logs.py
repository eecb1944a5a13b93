"""`florc.log`: recorded values and those of added lines, as `florc logs` and `florc.logs` show them."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
import types
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import florc
from florc.errors import FlorcError
from florc.runtime import answers
from tests.florc.running import lay, python
from tests.warm import NUMPY, Done, Warm, environment

pytestmark = pytest.mark.program

PROGRAM = """\
import random
import florc

random.seed(7)
weights = [0.0] * 300

def train(epoch):
    for step in range(3):
        for i in range(len(weights)):
            weights[i] += random.random()
    return weights[0]

for epoch in range(4):
    loss = train(epoch)
    florc.log("loss", loss)
    print("epoch", epoch, loss)
print("size", florc.log("size", len(weights)))
"""
LOG = '    florc.log("loss", loss)\n'
STEP = "            weights[i] += random.random()\n"
OUTER = (LOG, f'{LOG}    florc.log("sum", sum(weights))\n')
INNER = (STEP, f'{STEP}        florc.log("first", weights[0])\n')


@dataclass(frozen=True)
class Desk:
    """A user's folder with the recorded program."""

    home: Path
    warm: Warm

    def florc(self, *words: str, code: int = 0, **env: str) -> Done:
        done = self.warm.run(["-m", "florc", *words], self.home, environment(dict(env)))
        assert done.code == code, (words, done.out.decode(), done.err.decode())
        return done

    def edit(self, *edits: tuple[str, str]) -> None:
        text = PROGRAM
        for old, new in edits:
            assert text.count(old) == 1
            text = text.replace(old, new)
        (self.home / "train.py").write_text(text)

    def plain(self) -> bytes:
        """What plain Python prints."""
        return self.warm.run(["train.py"], self.home).out

    def rows(self, *words: str, code: int = 0) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.florc("logs", "--json", *words, code=code).out.splitlines()]

    def values(self, name: str) -> list[tuple[Any, ...]]:
        """Context and value of each row of a name."""
        return [(*row["context"].values(), row["value"]) for row in self.rows() if row["name"] == name]

    @property
    def run(self) -> Path:
        return self.home / ".florc" / "runs" / "one"


@pytest.fixture(scope="module")
def warm() -> Iterator[Warm]:
    with Warm(NUMPY) as server:
        yield server


@pytest.fixture(scope="module")
def recorded(warm: Warm, tmp_path_factory: pytest.TempPathFactory) -> Desk:
    desk = Desk(lay(tmp_path_factory.mktemp("recorded") / "home", {"train.py": PROGRAM}), warm)
    plain = desk.plain()
    done = desk.florc("record", "--overhead", "1", "--name", "one", "train.py")
    assert (done.out, done.err) == (plain, b"")
    return desk


@pytest.fixture
def desk(recorded: Desk, tmp_path: Path) -> Desk:
    shutil.copytree(recorded.home, tmp_path / "home")
    return Desk(tmp_path / "home", recorded.warm)


def truth(desk: Desk) -> dict[str, list[Any]]:
    """What the edited program hands to florc.log under plain Python, in order."""
    spy = desk.home.parent / "spy.py"
    text = (
        (desk.home / "train.py")
        .read_text()
        .replace(
            "import florc\n",
            "class florc:\n    def log(name, value):\n        print(repr((name, value)))\n"
            "        return value\n",
        )
    )
    spy.write_text(text)
    found: dict[str, list[Any]] = {}
    for line in python(desk.home, str(spy)).out.splitlines():
        if line.startswith("("):
            name, value = eval(line)
            found.setdefault(name, []).append(value)
    return found


SUM = 'florc.log("sum", sum(weights))'


def test_what_a_run_notes_is_shown_with_the_loops_around(desk):
    noted = truth(desk)
    assert desk.values("loss") == list(enumerate(noted["loss"]))
    assert desk.values("size") == [(300,)]
    at = {"run": "one", "source": "record", "file": "train.py", "line": 15, "replay": "", "exact": True}
    value = {"context": {"epoch": 0}, "name": "loss", "value": noted["loss"][0], "note": ""}
    assert desk.rows()[0] == at | value
    shown = desk.florc("logs").out.decode().splitlines()
    assert shown[0].split() == ["run", "source", "epoch", "name", "value"]
    assert shown[1].split() == ["one", "record", "0", "loss", repr(noted["loss"][0])]
    assert desk.florc("logs", "--csv", "--wide").out.decode().splitlines()[0] == "run,source,epoch,loss,size"


def test_an_added_call_outside_the_block_is_answered_without_training(desk):
    desk.edit(OUTER)
    plain, noted = desk.plain(), truth(desk)
    done = desk.florc("replay", "--summary", "s.json", "train.py")
    assert done.out == plain
    assert b"florc logs one" in done.err
    summary = json.loads((desk.home / "s.json").read_text())
    assert summary["exact"] and summary["blocks"]["executed"] == 0
    assert summary["probes"] == [{"file": "train.py", "line": 16, "text": SUM, "fired": 4}]
    assert desk.values("sum") == list(enumerate(noted["sum"]))
    assert desk.values("loss") == list(enumerate(noted["loss"]))
    assert [row["source"] for row in desk.rows()] == ["record", "replay"] * 4 + ["record"]
    assert [row["name"] for row in desk.rows("--source", "replay")] == ["sum"] * 4


def test_an_added_call_in_the_block_has_the_columns_of_both_loops(desk):
    desk.edit(INNER)
    noted = truth(desk)
    assert desk.florc("replay", "--new", "train.py").out == b""
    wanted = [(epoch, step) for epoch in range(4) for step in range(3)]
    assert desk.values("first") == [(*at, value) for at, value in zip(wanted, noted["first"], strict=True)]
    wide = desk.florc("logs", "--csv", "--pivot", "first,loss").out.decode().splitlines()
    assert wide[0] == "run,source,epoch,step,first@replay,loss"
    assert wide[1] == f"one,replay,0,0,{noted['first'][0]!r},"
    assert f"one,record,0,,,{noted['loss'][0]!r}" in wide


def test_a_part_of_the_iterations_and_then_all_of_them_doubles_nothing(desk):
    desk.edit(OUTER, INNER)
    noted = truth(desk)
    desk.florc("replay", "--at", "2", "train.py")
    assert desk.values("sum") == [(2, noted["sum"][2])]
    assert [row[:2] for row in desk.values("first")] == [(2, 0), (2, 1), (2, 2)]
    for words in ([], ["--workers", "2"], ["--at", "1:3"]):
        desk.florc("replay", *words, "train.py")
        assert desk.values("sum") == list(enumerate(noted["sum"]))
        assert [row[-1] for row in desk.values("first")] == noted["first"]
    assert len({row["replay"] for row in desk.rows()}) == 3  # the record's none, the workers', the last one's


WRAPPED = [
    ("    loss = train(epoch)\n", '    loss = florc.log("again", train(epoch))\n'),
    ("    return weights[0]\n", '    return florc.log("again", weights[0])\n'),
    ('print("epoch", epoch, loss)', 'print("epoch", epoch, florc.log("again", loss))'),
    (STEP, '            weights[i] += florc.log(f"again", random.random())\n'),
    ("    loss = train(epoch)\n", '    loss = train(florc.log(name="again", value=epoch))\n'),
    (LOG, '    florc.log("loss", florc.log("again", loss))\n'),
    ("len(weights)))", 'florc.log("again", len(weights))))'),
    ('florc.log("size", len(weights))', 'florc.log("again", len(weights))'),
    ("import florc\n", 'import florc\nagain = florc.log("again", 1)\nprint(again)\n'),
    (
        'print("epoch", epoch, loss)',
        'print("epoch", epoch, loss)\n    seen = florc.log("again", loss)\n    print(seen)',
    ),
]


@pytest.mark.parametrize(("old", "new"), WRAPPED)
def test_a_value_may_pass_through_on_its_way(desk, old, new):
    desk.edit((old, new))
    plain, noted = desk.plain(), truth(desk)
    assert desk.florc("replay", "train.py").out == plain
    found = [row["value"] for row in desk.rows("--source", "replay") if row["name"] == "again"]
    assert found == noted["again"]
    assert [row["name"] for row in desk.rows("--source", "record")] == ["loss"] * 4 + ["size"]


@pytest.mark.parametrize("new", [
    '    loss = florc.log(random.random(), train(epoch))\n',
    '    loss = florc.log("x", train(epoch + 1))\n',
    '    loss = florc.log(*("x", train(epoch)))\n',
    '    loss = florc.log(value=train(epoch), name="x")\n',
])  # fmt: skip
def test_what_is_not_the_same_statement_is_refused(desk, new):
    desk.edit(("    loss = train(epoch)\n", new))
    done = desk.florc("replay", "train.py", code=69)
    assert done.out == b"" and b"train.py:14" in done.err


def test_a_recorded_call_may_go_or_be_edited_and_its_values_stay(desk):
    before = desk.rows()
    for edit in [
        (LOG, ""),
        (LOG, LOG.replace("loss)", "epoch)")),
        ('florc.log("size", len(weights))', "len(weights)"),
    ]:
        desk.edit(edit)
        assert desk.florc("replay", "train.py").out == desk.plain()
        assert desk.rows("--source", "record") == before


def test_what_runs_again_is_compared_with_what_was_noted(desk):
    file = desk.run / "journal.jsonl"
    assert b'"v"' in file.read_bytes()
    desk.edit((LOG, LOG + '    if epoch == 2:\n        globals()["loss"]\n'))
    assert desk.florc("verify", "--rerun", "one").code == 0
    from florc.runtime import journal, runs

    run = runs.load(desk.home / ".florc", "one")
    read = journal.read(run.folder, run.seal)
    next(event for event in read.events if event[0] == "v")[4] = 0.125
    file.unlink()
    journal.write_again(run.folder, read, run.seal)
    done = desk.florc("replay", "train.py", code=65)
    assert b"now notes 'loss'" in done.err and b"0.125" in done.err


def test_an_inexact_replay_says_so_where_its_values_are_shown(desk):
    desk.edit(OUTER)
    desk.florc("replay", "--at", "0", "train.py")
    data = (desk.run / "journal.jsonl").read_bytes()
    (desk.run / "journal.jsonl").write_bytes(data[: data.rindex(b'["E"')])
    desk.florc("replay", "train.py", code=65)
    done = desk.florc("logs", "--source", "replay", "--csv", code=65)
    assert b"was not exact: what it noted may differ" in done.err
    assert done.out.count(b"\n") == 5


def test_noted_values_travel_with_a_run_and_go_with_it(desk, tmp_path):
    desk.edit(OUTER)
    desk.florc("replay", "train.py")
    before = desk.rows()
    desk.florc("runs", "export", "one", "-o", "../one.tar")
    for words, env in [((), {}), (("--trust",), {"FLORC_KEY_FILE": str(tmp_path / "other-key")})]:
        desk.florc("runs", "rm", "one", **env)
        assert not desk.run.exists()
        desk.florc("runs", "import", *words, "../one.tar", **env)
        rows = desk.florc("logs", "--json", **env).out.splitlines()
        assert [json.loads(row) for row in rows] == before
        desk.florc("verify", **env)
    folder = shutil.copytree(desk.run, tmp_path / "folder")
    desk.florc("runs", "import", "--trust", "--name", "two", str(folder))
    assert [{**row, "run": "one"} for row in desk.rows("two")] == before


def test_an_altered_file_of_values_is_told_and_replaced_by_the_next_replay(desk):
    desk.edit(OUTER)
    desk.florc("replay", "train.py")
    file = desk.run / answers.NAME
    sound = file.read_bytes()
    file.write_bytes(sound.replace(b'"sum",', b'"sun",', 1))
    done = desk.florc("logs", code=65)
    assert b"answers.jsonl is damaged" in done.err and b"sun" not in done.out and b"loss" in done.out
    assert b"answers.jsonl is damaged" in desk.florc("verify", "one", code=65).out
    (desk.run / "answers.jsonl.99999").write_bytes(b"")
    assert b"answers.jsonl.99999" in desk.florc("runs", "gc").out
    desk.florc("replay", "train.py")
    assert desk.florc("logs").err == b"" and len(desk.rows("--source", "replay")) == 4


def test_the_run_that_was_noted_in_last_is_meant(desk):
    (desk.home / "other.py").write_text("print(1)\n")
    desk.florc("record", "--name", "two", "other.py")
    assert b"no values in the log of two" in desk.florc("logs").err
    now = time.time()
    for name in ("one", "two"):
        os.utime(desk.run.with_name(name) / "journal.jsonl", (now - 50, now - 50))
    desk.edit(OUTER)
    desk.florc("replay", "train.py")
    assert {row["run"] for row in desk.rows()} == {"one"}


def test_usage(desk, tmp_path):
    assert (
        b"nothing is noted as 'x' in one; names that are: loss, size"
        in desk.florc("logs", "--pivot", "x", code=2).err
    )
    assert b"no run named 'no'" in desk.florc("logs", "no", code=69).err
    assert b"no runs in" in desk.florc("logs", "--store", str(tmp_path / "no"), code=69).err
    told = desk.florc("logs", "--source", "replay").err
    assert b"no values in the log of one: none of a replay, " in told and b" others" in told


def test_under_plain_python_it_gives_its_value_back_and_loads_nothing(tmp_path):
    code = (
        "import sys, florc; x = []; print(florc.log('a', x) is x, "
        "'florc.runtime' in sys.modules, 'torch' in sys.modules)"
    )
    assert python(tmp_path, "-c", code).out == "True False False\n"
    name: Any = 3
    with pytest.raises(TypeError, match="the name of a value is text"):
        florc.log(name, 4)


class Frame:
    """Stands in for pandas' DataFrame."""

    def __init__(self, rows: list[Any], columns: list[str] | None = None) -> None:
        self.rows, self.columns = rows, columns


def test_logs_and_runs_are_data_frames_where_pandas_is(desk, monkeypatch):
    monkeypatch.chdir(desk.home)
    monkeypatch.setitem(sys.modules, "pandas", types.SimpleNamespace(DataFrame=Frame))
    found = florc.logs("one")
    assert found.columns == ["run", "source", "epoch", "loss", "size"]
    assert found.rows[1][2:] == [1, truth(desk)["loss"][1], None]
    assert florc.logs(long=True, source="record").columns == ["run", "source", "epoch", "name", "value"]
    assert [facts["run"] for facts in florc.runs().rows] == ["one"]


def test_without_pandas_the_reason_and_the_way_out_are_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    for ask in (florc.logs, florc.runs):
        with pytest.raises(FlorcError, match=r"pip install 'florc\[pandas\]'"):
            ask()


ELSEWHERE = """\
import os, threading
import florc
def note(): florc.log("x", 1)
for epoch in range(2):
    thread = threading.Thread(target=note)
    thread.start()
    thread.join()
    print(epoch)
"""


def test_values_of_other_threads_are_not_kept_and_it_is_told(warm, tmp_path):
    desk = Desk(lay(tmp_path / "home", {"train.py": ELSEWHERE}), warm)
    done = desk.florc("record", "train.py")
    assert done.err.count(b"florc.log was called in another thread") == 1
    (desk.home / "train.py").write_text(ELSEWHERE.replace('"x", 1', '"y", 2'))
    done = desk.florc("replay", "train.py", code=65)
    assert b"florc.log was called in another thread" in done.err
    assert desk.rows() == []
