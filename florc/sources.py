"""The project files a script can reach by imports, found in its text: nothing is imported, nothing runs."""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterator
from pathlib import Path

# an estimate for people needs no more, and the answer is to come at once
MAX_FILES = 200


def reachable(script: Path) -> dict[str, bytes]:
    """The script and the modules below its folder that it imports, and so on: file id -> text.

    Files that cannot be read are left out; those python cannot parse are there, and lead nowhere.
    """
    home = script.resolve().parent
    found: dict[str, bytes] = {}
    pending = deque([script.resolve()])
    while pending and len(found) < MAX_FILES:
        path = pending.popleft()
        name = path.relative_to(home).as_posix()
        if name in found:
            continue
        try:
            found[name] = path.read_bytes()
            tree = ast.parse(found[name])
        except (OSError, SyntaxError, ValueError):
            continue
        pending.extend(_imported(tree, path, home))
    return found


def _imported(tree: ast.Module, path: Path, home: Path) -> Iterator[Path]:
    """The files below `home` that the module at `path` imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _files(home, alias.name.split("."))
        elif isinstance(node, ast.ImportFrom):
            start = home if not node.level else path.parents[min(node.level, len(path.parents)) - 1]
            parts = node.module.split(".") if node.module else []
            yield from _files(start, parts)
            for alias in node.names:
                yield from _files(start, [*parts, alias.name])


def _files(start: Path, parts: list[str]) -> Iterator[Path]:
    """The files of a dotted name below a folder: its packages on the way, and the module."""
    for length in range(1, len(parts) + 1):
        place = start.joinpath(*parts[:length])
        for candidate in (place.with_suffix(".py"), place / "__init__.py"):
            if candidate.is_file():
                yield candidate
