"""Run folders: made, found, changed, removed; damaged and foreign ones told."""

from __future__ import annotations

import json
import os
from datetime import datetime, timezone

import pytest

from florc.runtime import runs
from florc.runtime.description import FORMAT
from florc.runtime.errors import StoreError


def test_a_run_is_read_as_it_was_made(tmp_path):
    made = runs.create(tmp_path, "one", "train.py", argv=("--lr", "1"), env={"A": "b"}, include=("pkg",))
    assert runs.load(tmp_path, "one") == made
    assert (made.status, made.state, made.pid) == ("running", "running", os.getpid())


def test_a_run_without_a_name_gets_a_free_one(tmp_path):
    names = {runs.create(tmp_path, None, "train.py", rank=3).run for _ in range(3)}
    assert len(names) == 3
    assert all("-rank3" in name for name in names)


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../x", "a/b", "/abs", ".hidden", "-x", "a b", "a\n", "ä", "x" * 101, "a\0"]
)
def test_a_name_cannot_lead_out_of_the_store(tmp_path, name):
    with pytest.raises(StoreError, match="cannot be the name"):
        runs.create(tmp_path, name, "train.py")
    with pytest.raises(StoreError, match="cannot be the name"):
        runs.load(tmp_path, name)


def test_the_newest_run_of_a_program_is_found(tmp_path):
    for name, script in [("a", "train.py"), ("b", "train.py"), ("c", "other.py")]:
        runs.create(tmp_path, name, script)
    runs.create(tmp_path, "d", "train.py", module=True)
    runs.create(tmp_path, "e", "train.py", rank=0)
    assert runs.newest(tmp_path, "train.py").run == "b"
    assert runs.newest(tmp_path, "train.py", module=True).run == "d"
    assert runs.newest(tmp_path, "train.py", rank=0).run == "e"
    with pytest.raises(StoreError, match=r"no run of never\.py"):
        runs.newest(tmp_path, "never.py")


def test_the_newest_run_is_the_last_that_was_made_though_the_clock_went_back(tmp_path, monkeypatch):
    moments = [datetime(2030, 1, 1, second=second, tzinfo=timezone.utc) for second in (30, 20, 10, 40)]

    class Clock(datetime):
        @classmethod
        def now(cls, tz=None):
            return moments.pop(0)

    monkeypatch.setattr(runs, "datetime", Clock)
    for name in ("a", "b", "c", "d"):
        runs.create(tmp_path, name, "train.py")
        assert runs.newest(tmp_path, "train.py").run == name
    assert [run.run for run in runs.all_runs(tmp_path)] == ["a", "b", "c", "d"]
    assert [run.started[17:19] for run in runs.all_runs(tmp_path)] == ["30", "20", "10", "40"]


def test_a_run_that_cannot_be_read_or_says_it_is_of_the_end_of_time_hinders_no_new_one(tmp_path):
    (tmp_path / "runs" / "odd").mkdir(parents=True)
    for order in ("", "no date", "9999-12-31T23:59:59.999999+00:00", 3, "2030-01-01T00:00:00"):
        text = json.dumps({"format": FORMAT, "script": "train.py", "order": order})
        (tmp_path / "runs" / "odd" / "run.json").write_text(text)
        runs.create(tmp_path, None, "train.py")


def test_a_change_is_written_and_unknown_fields_stay(tmp_path):
    run = runs.update(runs.create(tmp_path, "one", "train.py"), status=runs.DONE, exit_code=0, loops=3)
    again = runs.update(runs.load(tmp_path, "one"), torch="2")
    assert (again.status, again.exit_code, again.torch, again.more) == ("done", 0, "2", {"loops": 3})
    assert run.more == {"loops": 3}
    assert os.listdir(run.folder) == ["run.json"]


def test_a_run_whose_process_is_gone_counts_as_interrupted(tmp_path):
    child = os.spawnlp(os.P_NOWAIT, "true", "true")
    os.waitpid(child, 0)
    assert runs.create(tmp_path, "one", "train.py", pid=child).state == "interrupted"
    assert runs.create(tmp_path, "two", "train.py", pid=child, host="elsewhere").state == "running"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f'{{"format": {FORMAT + 1}, "script": "x"}}', "newer florc"),
        ('{"format": 1, "script": "x"}', "older florc"),
        (f'{{"format": {FORMAT}, "script": "x"}}', "no key could be kept"),
        (f'{{"format": {FORMAT}, "script": "x", "key": "0123456789abcdef"}}', "not recorded with your key"),
        ('{"format": 1, "scr', "damaged"),
        ("[]", "no description"),
        ("", "damaged"),
    ],
)
def test_a_run_that_cannot_be_read_is_told_and_can_be_removed(tmp_path, text, reason):
    good = runs.create(tmp_path, "good", "train.py")
    (tmp_path / "runs" / "bad").mkdir()
    (tmp_path / "runs" / "bad" / "run.json").write_text(text)
    with pytest.raises(StoreError, match=reason):
        runs.load(tmp_path, "bad")
    assert runs.all_runs(tmp_path) == [good]
    assert [name for name, _ in runs.unreadable(tmp_path)] == ["bad"]
    runs.remove(runs.existing(tmp_path, "bad"))
    assert runs.unreadable(tmp_path) == []


def test_paths_that_are_no_text_survive(tmp_path):
    odd = os.fsdecode(b"/data/\xff")
    runs.create(tmp_path, "one", "train.py", cwd=odd)
    assert runs.load(tmp_path, "one").cwd == odd
    assert json.loads((tmp_path / "runs" / "one" / "run.json").read_bytes())["format"] == FORMAT


def test_a_store_that_is_not_there_has_no_runs(tmp_path):
    assert runs.all_runs(tmp_path / "nowhere") == []
