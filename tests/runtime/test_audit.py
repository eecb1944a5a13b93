"""The audit sees state that programs keep in libraries' modules and classes, and nothing else."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from florc.runtime import audit as module_of_audit
from florc.runtime import inventory as module
from florc.runtime.audit import AUTO, FULL, OFF, Audit
from florc.runtime.errors import CannotRestore
from florc.runtime.watched import WatchedNames, watch

LIBRARY = """\
count = 0
options = {"a": 1}
names = ["x"]
seen = {1}
ratio = float("nan")
_private = 0
def function(): pass
class Metric:
    total = 0
    history = []
    def update(self): pass
"""
PROJECT = "def replacement(): pass\nclass Other: pass\n"


@pytest.fixture
def library() -> Iterator[Any]:
    made = types.ModuleType("somelib")
    sys.modules["somelib"] = made
    exec(compile(LIBRARY, "/lib/somelib.py", "exec"), vars(made))
    try:
        yield made
    finally:
        del sys.modules["somelib"]


@pytest.fixture
def project() -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "train"}
    exec(compile(PROJECT, "/p/train.py", "exec"), names)
    return names


def auditor(mode: str = FULL, overhead: float = 1.0) -> Audit:
    def is_own(obj: Any) -> bool:
        return getattr(getattr(obj, "__code__", None), "co_filename", "") == "/p/train.py"

    return Audit(mode, overhead, lambda name: name in ("train", "__main__"), is_own)


def seen(change: Callable[[Any], None], library: Any) -> dict[str, list[str]]:
    found = auditor()
    found.look()
    change(library)
    changed = {key: sorted(names) for key, names in found.look().items() if "somelib" in key}
    assert not any("somelib" in key for key in found.look())  # told once
    return changed


CHANGES: dict[str, tuple[Callable[[Any], None], dict[str, list[str]]]] = {
    "a plain value": (lambda lib: setattr(lib, "count", 1), {"~somelib": ["count"]}),
    "a new name": (lambda lib: setattr(lib, "added", 1), {"~somelib": ["added"]}),
    "a name that goes": (lambda lib: delattr(lib, "count"), {"~somelib": ["count"]}),
    "a dict, inside": (lambda lib: lib.options.update(a=2), {"~somelib": ["options"]}),
    "a list, inside": (lambda lib: lib.names.append("y"), {"~somelib": ["names"]}),
    "a set, inside": (lambda lib: lib.seen.add(2), {"~somelib": ["seen"]}),
    "a class attribute": (lambda lib: setattr(lib.Metric, "total", 5), {"~somelib:Metric": ["total"]}),
    "a list in a class": (lambda lib: lib.Metric.history.append(5), {"~somelib:Metric": ["history"]}),
}
NOTHING: dict[str, Callable[[Any], None]] = {
    "nothing": lambda lib: None,
    "an equal value": lambda lib: setattr(lib, "count", 0),
    "an attribute of an instance": lambda lib: setattr(lib.Metric(), "mine", 1),
    "a private name": lambda lib: setattr(lib, "_private", 1),
    "a module imported late": lambda lib: setattr(lib, "submodule", types.ModuleType("submodule")),
    "a function the library wraps": lambda lib: setattr(lib, "function", lambda: None),
    "a function imported late": lambda lib: setattr(lib, "late", len),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_seen_with_its_name(library, name):
    change, wanted = CHANGES[name]
    assert seen(change, library) == wanted


@pytest.mark.parametrize("name", NOTHING)
def test_what_libraries_do_by_themselves_is_no_change(library, name):
    assert seen(NOTHING[name], library) == {}


def test_a_function_of_the_projects_put_into_a_library_is_a_change(library, project):
    assert seen(lambda lib: setattr(lib, "function", project["replacement"]), library) == {
        "~somelib": ["function"]
    }


def test_all_of_it_holds_where_python_tells_no_versions_of_dicts(library, monkeypatch):
    monkeypatch.setattr(module, "HAS_VERSIONS", False)
    for change, wanted in CHANGES.values():
        assert seen(change, library) == wanted
        vars(library).clear()
        vars(library)["__name__"] = "somelib"
        exec(compile(LIBRARY, "/lib/somelib.py", "exec"), vars(library))
    for unchanged in NOTHING.values():
        assert seen(unchanged, library) == {}


def test_a_module_that_comes_later_is_looked_at_from_then_on(library):
    found = auditor()
    del sys.modules["somelib"]
    found.look()
    sys.modules["somelib"] = library
    library.count = 7  # it came with this
    assert found.look() == {}
    library.count = 8
    assert found.look()["~somelib"] == ["count"]


def test_the_projects_own_modules_are_the_walks_business(library, monkeypatch):
    monkeypatch.setitem(sys.modules, "train", types.ModuleType("train"))
    found = auditor()
    found.look()
    sys.modules["train"].value = 1  # type: ignore[attr-defined]
    assert "~train" not in found.look()


def test_each_loop_is_looked_at_first_and_then_ever_more_rarely():
    found = auditor(AUTO)
    due = [execution for execution in range(100) if found.due("loop", execution, 1e9)]
    assert due == [0, 1, 4, 10, 22, 46, 94]
    assert found.due("another", 0, 1e9)


def test_the_overhead_bounds_the_looks():
    found = auditor(AUTO, overhead=0.01)
    found.look()
    found.spent = 0.25 * (1.0 + 0.01 * 50) + 0.001
    assert not found.due("loop", 0, elapsed=50)
    assert found.due("loop", 0, elapsed=500)


@pytest.mark.parametrize(("mode", "due"), [(FULL, True), (OFF, False)])
def test_full_looks_always_and_off_never(mode, due):
    found = auditor(mode)
    found.spent = 1e9
    assert all(found.due("loop", execution, 0.0) is due for execution in range(50))


def test_watched_names_write_through(library):
    names = watch("~somelib:Metric", {"total"}).names
    assert isinstance(names, WatchedNames)
    assert dict(names) == {"total": 0}
    names["total"] = 3
    names["added"] = 4
    assert (library.Metric.total, library.Metric.added) == (3, 4)
    del names["added"]
    assert not hasattr(library.Metric, "added")
    assert "history" in names and list(names) == ["total"]


@pytest.mark.parametrize("key", ["~no_such_library", "~somelib:Gone"])
def test_what_is_not_there_cannot_be_watched(library, key):
    with pytest.raises(CannotRestore):
        watch(key, set())


def test_a_look_across_an_import_finds_nothing_and_is_repeated(library, monkeypatch):
    found = auditor(AUTO)
    found.look()
    assert found.due("loop", 0, 1e9)
    library.names.append("registered")
    monkeypatch.setitem(sys.modules, "newlib", types.ModuleType("newlib"))
    assert found.look() == {}
    assert found.due("loop", 0, 1e9)
    library.names.append("more")
    assert found.look()["~somelib"] == ["names"]


def test_what_torch_brings_along_is_looked_at_once_the_project_names_it(monkeypatch):
    library = types.ModuleType("sympy")
    library.count = 0  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sympy", library)
    text = "import torch"
    found, full = (
        Audit(mode, 1.0, lambda name: False, lambda obj: False, (), lambda word: word in text)
        for mode in (AUTO, FULL)
    )
    found.look(), full.look()
    library.count = 1  # type: ignore[attr-defined]
    assert "~sympy" not in found.look()
    assert full.look()["~sympy"] == ["count"]
    text = "import sympy"
    monkeypatch.setitem(sys.modules, "another", types.ModuleType("another"))
    found.look()  # something was imported: the project's text may be longer
    library.count = 2  # type: ignore[attr-defined]
    assert found.look()["~sympy"] == ["count"]


def test_classes_that_cannot_change_are_left_out():
    immutable = module_of_audit.IMMUTABLE
    assert int.__flags__ & immutable and not type("Own", (), {}).__flags__ & immutable
    with pytest.raises(TypeError):
        int.mine = 1  # type: ignore[attr-defined]
