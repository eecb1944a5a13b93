"""Names by which added lines hand something on, from one iteration to the next."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Mapping
from pathlib import Path

from .matching import FileMatch
from .transforms import Added, Probe, added_statements, functions_in


def carried(matches: Mapping[str, FileMatch], folder: str, loops: Collection[str]) -> list[str]:
    """Bound by an added line, used by one that stands elsewhere; or what added lines call keeps something.

    A function's own variables begin anew with each call: they count where one of the loops stands in it.

    folder: the project's, which the file ids are relative to.
    loops: ids of those whose iterations are to part.
    """
    modules = _Modules(matches, folder)
    words = {file: _words(one) for file, one in matches.items()}
    found: set[str] = set()
    for file, probes in words.items():
        added, lasting = modules.of(file), {0} | _around(matches[file], loops)
        for maker, _ in probes:
            lasts = [name for name in maker.own if name in maker.to_globals or maker.scope in lasting]
            own = maker.own if maker.inert else frozenset(lasts)
            users = [
                used
                for other in (words if maker.inert else [file])  # what is defined, other modules may call
                for user, used in words[other]
                if not (maker.inert and user.inert) and (other != file or _parts(maker, user, probes))
            ]
            named = {name for name in own for used in users if name in used}
            found.update(name for name in named if added.keeps(name))
    return sorted(found)


def _parts(maker: Probe, user: Probe, probes: list[tuple[Probe, set[str]]]) -> bool:
    """True if what one binds the other may have from an earlier iteration."""
    if maker.region != user.region:
        return True
    before = [probe for probe, _ in probes if probe.region == user.region and probe.line <= user.line]
    return user.line < maker.line and not any(maker.own & probe.own for probe in before)


def _around(match: FileMatch, loops: Collection[str]) -> set[int]:
    """First lines of the functions in whose text one of the loops stands."""
    lines = [line for (line, _), block in match.match.ids.items() if block in loops]
    return {
        first
        for first, last in functions_in(match.source)
        if any(first <= line <= last for line in lines)
    }


def _words(one: FileMatch) -> list[tuple[Probe, set[str]]]:
    """Each added statement with the words in it."""
    lines = one.source.decode("utf-8", "replace").splitlines()
    return [
        (probe, set(re.findall(r"\w+", "\n".join(lines[probe.line - 1 : probe.end_line]))))
        for probe in one.match.probes
        if probe.kind != "removed"
    ]


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
                probes = [probe for probe in match.match.probes if probe.kind != "removed"]
                statements = added_statements(match.source, probes)
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
