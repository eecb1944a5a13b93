"""What is Python's own, and what is somebody's project beside it."""

from __future__ import annotations

import os
import sys
import sysconfig

import pytest

from florc.runtime.files_left import ignorer

STORE = "/home/me/project/.florc"


@pytest.mark.parametrize("path", [
    STORE,
    f"{STORE}/runs/1/pack",
    os.__file__,
    os.path.join(sysconfig.get_paths()["purelib"], "torch", "version.py"),
    "/tmp/pymp-abcd1234/listener-x",
])  # fmt: skip
def test_python_the_store_and_sockets_are_left_out(path):
    assert ignorer(STORE)(os.path.realpath(path))


@pytest.mark.parametrize("path", ["/home/me/data.csv", "/home/me/project/.florc2/x", "/tmp/pymp-notes"])
def test_other_files_are_the_programs(path):
    assert not ignorer(STORE)(path)


def test_a_project_below_the_prefix_of_a_systems_python_is_a_project(monkeypatch):
    for name in ("prefix", "base_prefix", "exec_prefix", "base_exec_prefix"):
        monkeypatch.setattr(sys, name, "/usr")
    ignore = ignorer("/usr/src/app/.florc")
    assert not ignore("/usr/src/app/out/model.pt") and not ignore("/usr/games/scores")
    assert ignore(os.path.realpath("/usr/lib") + "/python3/x.py")
