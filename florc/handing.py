"""Names by which added lines hand something on, from one iteration to the next."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from pathlib import Path

from .matching import FileMatch, live, own_names
from .runtime.script import Script
from .transforms import Added, added_statements, reads_of

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def carried(matches: Mapping[str, FileMatch], folder: str, script: Script) -> list[str]:
    """What added lines read that an earlier iteration may have left, by name; what they call may keep it.

    folder: the project's, which the file ids are relative to.
    """
    inside = {run.block for run in script.at.values() if run.depth}
    return between(matches, folder, {run.block for run in script.main_loops}, inside)


def between(
    matches: Mapping[str, FileMatch], folder: str, loops: Collection[str], inside: Collection[str]
) -> list[str]:
    """The same for loops by their ids: whose iterations are to part, and which run inside of others."""
    modules = _Modules(matches, folder)
    own = {file: own_names(live(one)) for file, one in matches.items()}
    nodes = [node for file in matches for node in ast.walk(modules.tree(file))]
    defined = {node.name for node in nodes if isinstance(node, _DEFINITIONS)}
    found: set[str] = set()
    for file, match in matches.items():
        added, ids = modules.of(file), match.match.ids
        parting, called = ({at for at, block in ids.items() if block in of} for of in (loops, inside))
        reads = reads_of(modules.tree(file), live(match), own[file], parting, called, defined)
        found.update(reads.left, (f"{call}()" for call in reads.by_name))
        for use in reads.uses:
            if added.is_defined(use.name):
                set_from_here = use.is_changed or (use.is_asked and added.is_function(use.name))
                held = set_from_here or added.keeps(use.name)
            else:
                held = not use.is_fresh and use.name not in reads.settled and added.keeps(use.name)
            found.update({use.name} if held else ())
        for other, scopes in own.items():  # methods, and what other modules have
            theirs = modules.of(other)
            asked = reads.attributes.intersection(frozenset().union(*scopes.values()))
            found.update(
                name
                for name in asked
                if (other != file or theirs.is_defined(name)) and theirs.keeps(name, shared=other != file)
            )
    return sorted(found)


def stops(matches: Mapping[str, FileMatch], folder: str) -> bool:
    """Tell whether an added line calls a debugger: `breakpoint()`, `pdb.set_trace()`."""
    modules = _Modules(matches, folder)
    statements = [one for file in matches for one in modules.of(file).statements]
    functions = [node.func for one in statements for node in ast.walk(one) if isinstance(node, ast.Call)]
    return any(
        (isinstance(one, ast.Name) and one.id in ("breakpoint", "set_trace"))
        or (isinstance(one, ast.Attribute) and one.attr == "set_trace")
        for one in functions
    )


class _Modules:
    """The added statements of the project's modules: of recorded ones, and of those that are new."""

    def __init__(self, matches: Mapping[str, FileMatch], folder: str) -> None:
        self._matches, self._folder = matches, Path(folder)
        self._known: dict[str, Added] = {}
        self._trees: dict[str, ast.Module] = {}

    def of(self, file: str) -> Added:
        """What was added to a file; all of it, where the record does not have the file."""
        if file not in self._known:
            self._known[file] = Added([])  # while it is being read: modules may import one another
            match = self._matches.get(file)
            if match is not None:
                statements = added_statements(self.tree(file), live(match))
            else:
                statements = _statements(self._folder / file)
            self._known[file] = Added(statements, lambda name, level: self._find(file, name, level))
        return self._known[file]

    def tree(self, file: str) -> ast.Module:
        """The syntax tree of a recorded file as it is now; one for each file."""
        if file not in self._trees:
            self._trees[file] = ast.parse(self._matches[file].source)
        return self._trees[file]

    def _find(self, importer: str, name: str, level: int) -> Added | None:
        """The module of this name as a file of the project's; None where it is none, or nothing was added."""
        start = self._folder / importer
        starts = [start.parents[level - 1]] if level else [self._folder, start.parent]
        for folder in starts:
            path = folder.joinpath(*name.split(".")) if name else folder
            for place in (path.with_suffix(".py"), path / "__init__.py"):
                if place.is_file() and place.is_relative_to(self._folder):
                    return self.of(place.relative_to(self._folder).as_posix())
        return None


def _statements(path: Path) -> list[ast.stmt]:
    try:
        return ast.parse(path.read_bytes()).body
    except (OSError, SyntaxError, ValueError):
        return []
