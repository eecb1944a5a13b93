"""Runs of one store hold equal large bytes once, and none of them depends on another."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from florc.runtime import runs
from florc.runtime.large import FOLDER, OBJECTS
from tests.florc.running import ROOT
from tests.warm import NUMPY, Cold, Done, Warm, environment

pytestmark = pytest.mark.program

MODEL_BYTES = 4_000_000
PROGRAM = """\
import sys
import numpy as np
rng = np.random.default_rng(int(sys.argv[1]))
for fold in range(2):
    frozen = np.random.default_rng(0).standard_normal(500_000)  # as a pretrained model that each fold loads
    head = np.zeros(1000)
    for step in range(20):
        head += frozen[:1000] * rng.standard_normal()
    print("fold", fold, float(head.sum()))
print("end", float(head[3]))
"""
PROBED = PROGRAM + 'print("probe", float(frozen.sum()), float(head.max()))\n'


class Desk:
    """A folder with the program, and a store."""

    def __init__(self, home: Path, warm: Warm | Cold) -> None:
        self.home, self._warm = home, warm
        home.mkdir(exist_ok=True)
        self.store = home / ".florc"

    def florc(self, *words: str, **env: str) -> Done:
        return self._warm.run(["-m", "florc", *words], self.home, environment(env))

    def record(self, name: str, seed: int = 1) -> None:
        (self.home / "train.py").write_text(PROGRAM)
        done = self.florc("record", "--overhead", "1", "--name", name, "train.py", str(seed))
        assert (done.code, done.err) == (0, b"")

    def replay(self, name: str, seed: int = 1) -> Done:
        """Replay the program with a line more: exactly, whatever of it has to be executed."""
        (self.home / "train.py").write_text(PROBED)
        truth = self._warm.run(["train.py", str(seed)], self.home).out
        done = self.florc("replay", "--run", name, "--summary", "s.json", "train.py")
        assert (done.code, done.out) == (0, truth), done.err.decode()
        return done

    @property
    def executed(self) -> list[int]:
        """Iterations of the main loop that the last replay executed."""
        summary = json.loads((self.home / "s.json").read_text())
        return list(summary["main_loops"][0]["executed"])

    def verify(self, name: str) -> int | None:
        return self.florc("verify", name).code

    def size(self) -> int:
        """Bytes of the runs, as `du` counts them: a file with several names once."""
        found = {}
        for path in self.store.rglob("*"):
            if path.is_file() and "cache" not in path.parts:
                found[path.stat().st_ino] = path.stat().st_size
        return sum(found.values())

    def objects(self) -> list[Path]:
        return sorted(self.store.joinpath(OBJECTS).iterdir())


@pytest.fixture(scope="module")
def warm() -> Iterator[Warm | Cold]:
    with Warm(NUMPY) as server:
        yield server


@pytest.fixture
def desk(warm: Warm | Cold, tmp_path: Path) -> Desk:
    return Desk(tmp_path / "home", warm)


@pytest.fixture
def two(desk: Desk) -> Desk:
    desk.record("one", 1)
    desk.record("two", 2)
    return desk


def test_a_second_run_adds_little_and_each_stands_alone(desk):
    desk.record("one", 1)
    first = desk.size()
    desk.record("two", 2)
    assert first > MODEL_BYTES and desk.size() - first < MODEL_BYTES / 10
    shown = json.loads(desk.florc("runs", "show", "--json", "two").out)["bytes"]
    assert shown["shared"] == MODEL_BYTES < shown["disk"]
    assert b"shared       4.0 MB of these with other runs" in desk.florc("runs", "show", "two").out
    assert desk.florc("runs", "rm", "one").code == 0
    assert desk.verify("two") == 0
    desk.replay("two", 2)
    assert desk.executed == [] and len(desk.objects()) == 1
    assert json.loads(desk.florc("runs", "show", "--json", "two").out)["bytes"]["shared"] == 0
    assert desk.florc("runs", "rm", "two").code == 0
    assert desk.objects() == []


def test_gc_counts_what_is_shared_once_and_frees_what_nobody_holds(two):
    both = two.florc("runs", "gc", "--older-than", "0s", "--dry-run").out.decode().splitlines()
    sizes = [line.rpartition("(")[2] for line in both[:2]]
    assert "MB" not in sizes[0] and sizes[1].startswith("4.") and "MB" in sizes[1], both
    assert two.florc("runs", "gc").out == b"0 bytes freed\n"
    shutil.rmtree(two.store / "runs" / "one")
    assert two.florc("runs", "gc").out == b"0 bytes freed\n"
    shutil.rmtree(two.store / "runs" / "two")
    told = two.florc("runs", "gc").out
    assert told == b"removed 1 large payloads that no run holds any more (4.0 MB)\n4.0 MB freed\n"
    assert two.objects() == []


def test_a_damaged_shared_file_is_told_in_both_runs_and_made_again_by_executing(two):
    (file,) = two.objects()
    data = bytearray(file.read_bytes())
    data[1000] ^= 1
    file.write_bytes(data)
    for name, seed in [("one", 1), ("two", 2)]:
        done = two.florc("verify", name)
        assert done.code == 65 and f"is damaged ({FOLDER}/{file.name})".encode() in done.out
        assert b"an earlier state is used" in two.replay(name, seed).err
    two.record("three", 3)
    assert two.verify("three") == 0 and two.verify("one") == 65
    two.replay("three", 3)


def test_a_run_whose_folder_of_payloads_lies_elsewhere_is_refused(two):
    folder = two.store / "runs" / "one" / FOLDER
    os.rename(folder, two.home / "elsewhere")
    folder.symlink_to(two.home / "elsewhere")
    done = two.florc("verify", "one")
    assert done.code == 69 and b"is a link or device" in done.err
    assert two.florc("runs", "rm", "one").code == 0
    assert len(list(two.home.joinpath("elsewhere").iterdir())) == 1 and two.verify("two") == 0


def test_a_copy_without_links_is_as_good(two):
    shutil.copytree(two.store, two.home / "copy")
    shutil.rmtree(two.store)
    os.rename(two.home / "copy", two.store)
    assert two.verify("one") == two.verify("two") == 0
    two.replay("two", 2)


def test_exported_runs_bring_their_large_payloads_along(two, warm, tmp_path):
    assert two.florc("runs", "export", "two", "-o", "../two.tar").code == 0
    other = Desk(tmp_path / "other", warm)
    done = other.florc("runs", "import", "../two.tar")
    assert done.code == 0, done.err
    assert other.verify("two") == 0
    other.replay("two", 2)
    assert other.executed == []
    again = other.florc("runs", "import", "--name", "again", "../home/.florc/runs/two")
    assert again.code == 0 and other.verify("again") == 0


def test_an_archive_without_a_large_payload_is_told(two, tmp_path):
    (two.store / "runs" / "two" / FOLDER / two.objects()[0].name).unlink()
    assert two.florc("runs", "export", "two", "-o", "../two.tar").code == 0
    done = two.florc("runs", "import", "--name", "again", "../two.tar")
    assert done.code == 65 and b"1 payloads were damaged and stayed out" in done.err
    assert two.replay("again", 2).err


def test_an_imported_run_leaves_nothing_where_recordings_look(desk, warm, tmp_path):
    """Somebody's payloads, whatever their hashes, are nobody else's."""
    theirs = Desk(tmp_path / "theirs", warm)
    key = str(tmp_path / "their-key")
    (theirs.home / "train.py").write_text(PROGRAM)
    words = ("record", "--overhead", "1", "--name", "theirs", "train.py", "1")
    assert theirs.florc(*words, FLORC_KEY_FILE=key).code == 0
    assert theirs.florc("runs", "export", "theirs", "-o", "../theirs.tar", FLORC_KEY_FILE=key).code == 0
    assert desk.florc("runs", "import", "--trust", "../theirs.tar").code == 0
    assert not (desk.store / OBJECTS).exists()
    desk.record("mine")
    (file,) = desk.objects()
    imported = desk.store / "runs" / "theirs" / FOLDER / file.name
    assert not os.path.samefile(imported, file)
    imported.write_bytes(bytes(MODEL_BYTES))
    assert desk.verify("theirs") == 65 and desk.verify("mine") == 0
    desk.replay("mine")


@pytest.mark.parametrize("act", ["kill-before", "kill-half", "kill-after"])
def test_a_kill_at_any_write_leaves_the_other_run_whole_and_its_own_prefix(desk, act):
    desk.record("one", 1)
    (desk.home / "train.py").write_text(PROGRAM)
    world = f"{ROOT / 'tests' / 'reliability' / 'world'}{os.pathsep}{ROOT}"
    cold = Cold()
    for at in range(2, 14, 3):
        name = f"killed{at}"
        trial = json.dumps({"act": act, "at": at})
        env = environment({"FLORC_TRIAL": trial, "PYTHONPATH": world})
        words = ["-m", "florc", "record", "--overhead", "1", "--name", name, "train.py", "2"]
        done = cold.run(words, desk.home, env)
        if done.code == 0:
            break
        if (desk.store / "runs" / name / "run.json").exists():
            assert runs.load(desk.store, name).state == runs.INTERRUPTED
            assert desk.florc("verify", name).out.endswith(b"all as they were written\n"), at
    assert desk.florc("runs", "gc").code == 0
    assert desk.verify("one") == 0
    desk.replay("one")
