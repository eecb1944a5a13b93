"""Which files are the project's, and what they are called."""

from __future__ import annotations

import os
import sys
import sysconfig

import pytest

import florc
from florc.project import Project, git_root, store_above

HOME = "/home/me/repo"
PROJECT = Project(folder=f"{HOME}/scripts", root=HOME, include=frozenset({"friend"}))
INSTALLED = f"{HOME}/.venv/lib/python3.11/site-packages"


@pytest.mark.parametrize(
    ("path", "module", "owned"),
    [
        (f"{HOME}/scripts/train.py", "train", True),
        (f"{HOME}/lib/model.py", "lib.model", True),
        (f"{HOME}-other/model.py", "model", False),
        ("/home/me/model.py", "model", False),
        (f"{INSTALLED}/pkg/__init__.py", "pkg", False),
        (f"{INSTALLED}/friend/__init__.py", "friend", True),
        (f"{INSTALLED}/friend/deep/part.py", "friend.deep.part", True),
        (os.__file__, "os", False),
        (os.path.join(sysconfig.get_paths()["purelib"], "x.py"), "x", False),
        (florc.__file__, "florc", False),
    ],
)
def test_project_files_are_those_below_the_folder_or_the_git_root(path, module, owned):
    assert PROJECT.owns(path, module) is owned


def test_a_project_that_pythons_prefix_holds_is_still_a_project(monkeypatch):
    monkeypatch.setattr("florc.project._python_folders", lambda: (("/usr/lib/python3.11",), ("/usr",)))
    project = Project(folder="/usr/src/app", root="/usr/src/app")
    assert project.owns("/usr/src/app/model.py")
    assert not project.owns("/usr/lib/python3.11/os.py")


def test_an_environment_in_the_project_is_not_the_projects(monkeypatch):
    monkeypatch.setattr("florc.project._python_folders", lambda: ((), (f"{HOME}/env",)))
    assert not PROJECT.owns(f"{HOME}/env/src/tool.py")


@pytest.mark.parametrize(
    ("path", "name"),
    [
        (f"{HOME}/scripts/train.py", "train.py"),
        (f"{HOME}/scripts/pkg/part.py", "pkg/part.py"),
        (f"{HOME}/lib/model.py", "../lib/model.py"),
    ],
)
def test_a_file_is_named_as_seen_from_the_programs_folder(path, name):
    assert PROJECT.file_id(path) == name


def test_the_git_root_is_found_upwards(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / ".git").write_text("gitdir: elsewhere\n")
    assert git_root(str(tmp_path / "a" / "b")) == str(tmp_path / "a")
    assert sys.prefix not in Project.of(str(tmp_path / "a" / "b")).root


def test_the_store_of_a_folder_above_is_found_where_there_is_none(tmp_path):
    (tmp_path / ".florc").mkdir()
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    assert store_above(below / ".florc") == tmp_path / ".florc"
    assert store_above(tmp_path / ".florc") is None
    assert store_above(below / "elsewhere") is None
