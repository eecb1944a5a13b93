"""Names by which added lines hand something on, from one iteration to the next."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from pathlib import Path

from .matching import FileMatch, live, own_names
from .transforms import Added, added_statements, reads_of


def carried(matches: Mapping[str, FileMatch], folder: str, loops: Collection[str]) -> list[str]:
    """What added lines read that an earlier iteration may have left, by name; what they call may keep it.

    folder: the project's, which the file ids are relative to.
    loops: ids of those whose iterations are to part.
    """
    modules = _Modules(matches, folder)
    own = {file: own_names(live(one)) for file, one in matches.items()}
    found: set[str] = set()
    for file, match in matches.items():
        added = modules.of(file)
        places = {place for place, block in match.match.ids.items() if block in loops}
        reads = reads_of(match.source, live(match), own[file], places)
        found.update(f"{call}()" for call in reads.by_name)
        for use in reads.uses:
            if added.is_defined(use.name):
                changed = use.is_changed and added.is_function(use.name)
                held = changed or added.keeps(use.name)
            else:
                held = not use.is_fresh and added.keeps(use.name)
            found.update({use.name} if held else ())
        for other in matches.keys() - {file}:
            theirs = reads.attributes & own[other].get(0, frozenset())
            found.update(name for name in theirs if modules.of(other).keeps(name))
    return sorted(found)


class _Modules:
    """The added statements of the project's modules: of recorded ones, and of those that are new."""

    def __init__(self, matches: Mapping[str, FileMatch], folder: str) -> None:
        self._matches, self._folder = matches, Path(folder)
        self._known: dict[str, Added] = {}

    def of(self, file: str) -> Added:
        """What was added to a file; all of it, where the record does not have the file."""
        if file not in self._known:
            self._known[file] = Added([])  # while it is being read: modules may import one another
            match = self._matches.get(file)
            if match is not None:
                statements = added_statements(match.source, live(match))
            else:
                statements = _statements(self._folder / file)
            self._known[file] = Added(statements, lambda name, level: self._find(file, name, level))
        return self._known[file]

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
