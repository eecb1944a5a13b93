"""What a replayed program writes lies in a folder that goes with its replay, even with a killed one."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from florc import overlays

from .running import environment

HOLD = "from florc import overlays; print(overlays.make(), flush=True); input()"


@pytest.fixture(autouse=True)
def parent(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def held_by_another(parent: Path) -> tuple[subprocess.Popen[str], Path]:
    process = subprocess.Popen([sys.executable, "-c", HOLD], env=environment(TMPDIR=str(parent)), text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # fmt: skip
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_a_folder_is_there_until_it_is_removed(parent):
    folder = overlays.make()
    assert folder.parent == parent and folder.is_dir()
    (folder / "file").write_text("text")
    overlays.remove(folder)
    assert not list(parent.iterdir())


def test_a_living_replay_keeps_its_folder_and_a_killed_one_does_not(parent):
    process, folder = held_by_another(parent)
    with process:
        overlays.remove(overlays.make())
        assert folder.is_dir()
        process.kill()
    overlays.remove(overlays.make())
    assert not folder.exists()


def test_two_of_one_process_do_not_disturb_each_other(parent):
    first, second = overlays.make(), overlays.make()
    assert first.is_dir() and second.is_dir() and first != second
    overlays.remove(first)
    assert second.is_dir()
    overlays.remove(second)


def test_links_and_files_of_that_name_are_left_alone(parent, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "kept").write_text("text")
    os.symlink(elsewhere, parent / f"{overlays.PREFIX}link")
    (parent / f"{overlays.PREFIX}file").write_text("text")
    overlays.sweep()
    assert (elsewhere / "kept").exists()
    assert {path.name for path in parent.iterdir()} == {f"{overlays.PREFIX}link", f"{overlays.PREFIX}file"}


def test_no_folder_for_temporary_files_is_an_error_of_the_system(monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere/at/all")
    with pytest.raises(OSError, match="No such file"):
        overlays.make()
