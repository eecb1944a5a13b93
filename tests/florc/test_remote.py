"""A store behind a URL: replayed from through a copy that is believed no more than any other store."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.florc.running import environment, florc, lay, python

pytest.importorskip("fsspec")

TRAIN = """\
def work(i):
    return i * i
total = 0
for epoch in range(4):
    for step in range(3):
        total += work(step)
    print("epoch", epoch, total)
"""
LOOK = "        print(epoch, step, total)\n"
PROBED = TRAIN.replace("        total += ", f"{LOOK}        total += ")


@pytest.fixture
def project(tmp_path) -> Path:
    """A program that was recorded, its store moved elsewhere, and its probe; the truth beside it."""
    folder = lay(tmp_path / "project", {"train.py": TRAIN})
    assert florc(folder, "record", "--overhead", "1", "train.py").code == 0
    shutil.move(folder / ".florc", tmp_path / "bucket")
    (folder / "train.py").write_text(PROBED)
    (folder / "truth").write_text(python(folder, "train.py").out)
    return folder


def replay(project: Path, *options: str, **changes: str):
    env = environment(XDG_CACHE_HOME=str(project.parent / "cache"), **changes)
    url = f"file://{project.parent}/bucket"
    return florc(project, "replay", "--store", url, *options, "train.py", env=env)


def only_run(folder: Path) -> Path:
    (run,) = (folder / "runs").iterdir()
    return run


def copy_of(project: Path) -> Path:
    (copy,) = (project.parent / "cache" / "florc" / "stores").iterdir()
    return copy


@pytest.mark.parametrize("options", [(), ("--workers", "2")])
def test_a_run_behind_a_url_is_replayed(project, options):
    done = replay(project, "-q", *options)
    assert (done.code, done.out, done.err) == (0, (project / "truth").read_text(), "")
    assert not (project / ".florc").exists()


def test_what_is_here_already_is_not_fetched_again(project):
    assert replay(project).code == 0
    pack = only_run(copy_of(project)) / "data.pack"
    before = pack.stat().st_ino
    assert replay(project).code == 0
    assert pack.stat().st_ino == before


def test_the_copy_is_private(project):
    replay(project)
    copy = copy_of(project)
    for path in (copy, *copy.rglob("*")):
        assert path.stat().st_mode & 0o077 == 0, path


def test_a_newer_run_and_a_removed_one_are_seen(project):
    bucket = project.parent / "bucket"
    first = only_run(bucket)
    assert replay(project).code == 0
    (project / "train.py").write_text(TRAIN.replace("range(4)", "range(2)"))
    florc(project, "record", "--name", "later", "--overhead", "1", "train.py")
    second = Path(shutil.move(only_run(project / ".florc"), bucket / "runs"))
    shutil.rmtree(project / ".florc")
    (project / "train.py").write_text(PROBED.replace("range(4)", "range(2)"))
    assert replay(project).out.count("epoch") == 2
    shutil.rmtree(second)
    assert replay(project).code == 69, "the older run is of another program"
    assert [run.name for run in (copy_of(project) / "runs").iterdir()] == [first.name]


def test_a_run_that_another_key_has_signed_is_refused(project):
    done = replay(project, FLORC_KEY_FILE=str(project.parent / "another"))
    assert (done.code, done.out) == (69, "")
    assert "was not recorded with your key" in done.err and "florc runs import --trust" in done.err


def test_an_altered_description_is_refused(project):
    file = only_run(project.parent / "bucket") / "run.json"
    data = json.loads(file.read_text())
    file.write_text(json.dumps({**data, "argv": ["--evil"]}))
    done = replay(project)
    assert (done.code, done.out) == (69, "") and "its signature is wrong" in done.err


def test_a_damaged_payload_is_made_good_by_executing(project):
    pack = only_run(project.parent / "bucket") / "data.pack"
    pack.write_bytes(bytes(byte ^ 1 for byte in pack.read_bytes()))
    done = replay(project)
    assert done.out == (project / "truth").read_text() and done.code in (0, 65)


def test_a_run_whose_description_is_missing_may_be_the_newest(project):
    (project.parent / "bucket" / "runs" / "later").mkdir()
    done = replay(project)
    assert (done.code, done.out) == (69, "") and "may be later" in done.err


@pytest.mark.parametrize(
    ("url", "code", "words"),
    [
        ("file:///nowhere/at/all", 69, ["/nowhere/at/all", "FileNotFoundError"]),
        ("nonsense://bucket", 69, ["nonsense"]),
    ],
)
def test_a_url_that_cannot_be_read_is_told(project, url, code, words):
    env = environment(XDG_CACHE_HOME=str(project.parent / "cache"))
    done = florc(project, "replay", "--store", url, "train.py", env=env)
    assert (done.code, done.out) == (code, "")
    assert all(word in done.err for word in words) and "Traceback" not in done.err


@pytest.mark.parametrize("words", [("record", "train.py"), ("runs", "ls"), ("runs", "gc"), ("verify",)])
def test_other_commands_want_a_folder(project, words):
    env = environment(FLORC_DIR="s3://bucket/runs")
    done = florc(project, *words, env=env)
    assert (done.code, done.out) == (2, "") and "can be replayed from, and no more" in done.err
    assert not os.path.exists(project / "s3:")


LARGE = """\
import numpy as np
rng = np.random.default_rng(1)
for fold in range(2):
    frozen = np.random.default_rng(0).standard_normal(500_000)
    head = np.zeros(1000)
    for step in range(20):
        head += frozen[:1000] * rng.standard_normal()
    print("fold", fold, float(head.sum()))
"""


def test_large_payloads_come_along(tmp_path):
    folder = lay(tmp_path / "project", {"train.py": LARGE})
    assert florc(folder, "record", "--overhead", "1", "train.py").code == 0
    shutil.move(folder / ".florc", tmp_path / "bucket")
    (folder / "train.py").write_text(LARGE + 'print("probe", float(frozen.sum()), float(head.max()))\n')
    (folder / "truth").write_text(python(folder, "train.py").out)
    there = only_run(tmp_path / "bucket") / "large"
    assert [*there.iterdir()], "else this shows nothing"
    done = replay(folder)
    assert (done.code, done.out) == (0, (folder / "truth").read_text())
    assert {*os.listdir(only_run(copy_of(folder)) / "large")} == {*os.listdir(there)}


def test_what_added_lines_note_is_not_kept_in_a_copy(project):
    noting = PROBED.replace("print(epoch, step, total)", "florc.log('t', total)")
    (project / "train.py").write_text("import florc\n" + noting)
    done = replay(project)
    assert done.code == 0 and "is not kept" in done.err
