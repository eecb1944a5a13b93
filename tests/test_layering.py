"""What may import what: florc -> transforms, runtime; and nothing heavy is imported before it is needed."""

import ast
import configparser
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("florc", "transforms", "runtime")

# The compiler is pure: nothing that reads a clock, a file, the environment, or draws.
IMPURE = {"datetime", "logging", "multiprocessing", "os", "random", "shutil", "socket", "subprocess",
          "tempfile", "threading", "time"}
STDLIB = set(sys.stdlib_module_names)


@dataclass(frozen=True)
class Import:
    """One imported module, as an absolute name seen from the repository's top: `florc.runtime.store`."""

    file: str
    line: int
    module: str

    @property
    def top(self) -> str:
        return self.module.split(".")[0]

    def __str__(self) -> str:
        return f"{self.file}:{self.line} imports {self.module}"


def files(room: str) -> list[Path]:
    """The room's own files; florc/transforms and florc/runtime are links to the other rooms."""
    return [path for path in sorted((ROOT / room).rglob("*.py"))
            if not (room == "florc" and path.relative_to(ROOT).parts[1] in ROOMS)]


def package(path: Path) -> list[str]:
    """The dotted name of the package a file stands in, as a list."""
    parts = list(path.relative_to(ROOT).parent.parts)
    return parts if parts[0] == "florc" else ["florc", *parts]


def imports(room: str) -> Iterator[Import]:
    """Every import statement of a room, also those inside functions."""
    for path in files(room):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                base = package(path)[: len(package(path)) - node.level + 1] if node.level else []
                modules = [".".join([*base, *([node.module] if node.module else [])])]
                if node.module is None or modules == ["florc"]:  # `from . import store`: names are modules
                    modules = [f"{modules[0]}.{alias.name}" for alias in node.names]
            else:
                continue
            yield from (Import(path.relative_to(ROOT).as_posix(), node.lineno, module) for module in modules)


def inside(module: str, package_name: str) -> bool:
    return module == package_name or module.startswith(package_name + ".")


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_has_files(room: str) -> None:
    assert files(room), "the other tests of this file would show nothing"


def test_bytes_from_a_store_are_loaded_as_code_only_when_their_seal_was_looked_at() -> None:
    """Blobs come by `get` or `get_sealed`; what marshal or pickle loads comes by the second."""
    calls = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for room in ("florc", "runtime")
        for path in files(room)
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith((".loads", ".load", "Unpickler"))
        and any(isinstance(part, ast.Attribute) and part.attr == "get"
                for argument in node.args for part in ast.walk(argument)
                if "environment" not in ast.unparse(argument))
    ]
    assert calls == []


@pytest.mark.parametrize("room", ROOMS)
def test_no_room_is_imported_as_a_top_level_package(room: str) -> None:
    assert not [str(found) for found in imports(room) if found.top in ("transforms", "runtime")]


def test_the_compiler_imports_only_itself_libcst_and_the_pure_part_of_the_standard_library() -> None:
    def allowed(found: Import) -> bool:
        pure = found.top in STDLIB - IMPURE
        return pure or found.top == "libcst" or inside(found.module, "florc.transforms")

    assert not [str(found) for found in imports("transforms") if not allowed(found)]


def test_the_compiler_opens_no_file() -> None:
    calls = [f"{path.relative_to(ROOT)}:{node.lineno}" for path in files("transforms")
             for node in ast.walk(ast.parse(path.read_bytes()))
             if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
             and node.func.id in ("open", "print")]
    assert not calls


def test_the_runtime_imports_neither_the_face_nor_the_compiler_nor_what_they_need() -> None:
    def forbidden(found: Import) -> bool:
        other_room = found.top == "florc" and not inside(found.module, "florc.runtime")
        return other_room or found.top in ("libcst", "click")

    assert not [str(found) for found in imports("runtime") if forbidden(found)]


# What each door may not pull in. The answers of instrument, explain and diff must come in well under a
# second, and recorded scripts must be set up as `__main__` before dill and torch are imported.
DOORS = [
    ("florc", {"torch", "numpy", "dill", "libcst", "click"}),
    ("florc.transforms", {"torch", "numpy", "dill", "click", "multiprocessing"}),
    ("florc.runtime", {"torch", "numpy", "dill", "libcst", "click", "multiprocessing"}),
    ("florc.__main__", {"torch", "numpy", "dill"}),
    ("florc.cli", {"torch", "numpy", "dill"}),
]


@pytest.mark.parametrize(("door", "heavy"), DOORS, ids=[door for door, _ in DOORS])
def test_importing_a_door_pulls_in_nothing_heavy(door: str, heavy: set[str]) -> None:
    code = f"import sys, {door}; print(*sorted({heavy!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []


def test_every_package_is_listed_for_installation() -> None:
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    listed = config["options"]["packages"].split()
    found = {".".join(package(path)) for room in ROOMS for path in files(room)}
    assert sorted(found) == sorted(listed)


@pytest.mark.parametrize("room", ["transforms", "runtime"])
def test_the_links_point_at_the_rooms(room: str) -> None:
    link = ROOT / "florc" / room
    assert link.is_symlink()
    assert link.readlink() == Path("..", room)
