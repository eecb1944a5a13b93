"""Every way to a project module's code leads through florc, and no other module's does."""

from __future__ import annotations

import importlib
import importlib.util
import runpy
import sys

import pytest

from florc import hook
from florc.hook import Hooks, plain
from florc.project import Project
from tests.florc.running import lay


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A project with a module, a package and, outside of it, an installed module and a script."""
    lay(
        tmp_path,
        {
            "project/mod.py": "X = 1\n",
            "project/broken.py": "x = (\n",
            "project/odd.py": "X = 1\n",
            "project/pkg/__init__.py": "",
            "project/pkg/__main__.py": "X = 2\n",
            "site-packages/installed.py": "X = 3\n",
            "elsewhere/script.py": "import near\nX = near.X\n",
            "elsewhere/near.py": "X = 4\n",
        },
    )
    for name in ("project", "site-packages", "elsewhere"):
        monkeypatch.syspath_prepend(tmp_path / name)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.fixture
def seen(home):
    """What was loaded and announced: (module name, file, whether its namespace was known)."""
    found = []

    def load(name, file, path, source):
        if file == "odd.py":
            raise RuntimeError("a fault of florc's")
        return plain(name, file, path, source)

    def announce(source, namespace):
        found.append((source.name, source.file, namespace is not None))

    folder = str(home / "project")
    hook.install(Project(folder, folder), Hooks(load, lambda main: True, announce, lambda code, error: code))
    yield found
    hook.uninstall()


def test_imports_of_the_project_are_met_and_others_are_not(seen):
    importlib.import_module("mod")
    importlib.import_module("pkg")
    importlib.import_module("installed")
    assert seen == [("mod", "mod.py", True), ("pkg", "pkg/__init__.py", True)]


def test_a_module_loaded_by_its_location_is_met_with_its_namespace(seen, home):
    spec = importlib.util.spec_from_file_location("config", home / "project" / "mod.py")
    assert spec is not None
    assert spec.loader is not None
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
    assert seen == [("config", "mod.py", True)]


def test_a_reload_is_met(seen):
    importlib.reload(importlib.import_module("mod"))
    assert seen == [("mod", "mod.py", True)] * 2


def test_what_runpy_runs_is_met_with_its_namespace(seen, home):
    assert runpy.run_module("pkg")["X"] == 2
    assert seen[-1] == ("pkg.__main__", "pkg/__main__.py", True)
    assert runpy.run_path(str(home / "project" / "mod.py"))["X"] == 1
    assert seen[-1] == ("<run mod.py>", "mod.py", True)


def test_a_script_run_by_its_path_brings_its_neighbours_along(seen, home):
    assert runpy.run_path(str(home / "elsewhere" / "script.py"))["X"] == 4
    assert [file for _, file, known in seen if known] == ["../elsewhere/script.py", "../elsewhere/near.py"]


def test_a_syntax_error_is_pythons_own(seen):
    with pytest.raises(SyntaxError) as caught:
        importlib.import_module("broken")
    assert (caught.value.lineno, caught.value.text, seen) == (1, "x = (\n", [])


def test_a_fault_of_florcs_leaves_the_module_plain(seen, capfd):
    assert importlib.import_module("odd").X == 1
    assert "odd.py: runs uninstrumented: RuntimeError: a fault of florc's" in capfd.readouterr().err
    assert seen == []
