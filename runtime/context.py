"""Where in the run a value was noted: the loops around the call, by what their variables hold.

Which `for` statements stand around a line is read off the source, once a file; what their variables hold, off
the frames of the call. A main loop that has no variable with a plain value is told by its id and iteration.
"""

from __future__ import annotations

import ast
import sys
from bisect import bisect_right
from typing import Any, NamedTuple

from . import shown
from .guards import OpenLoop, is_function, keeps_locals

Context = list[list[Any]]  # [[column, value], ...], the outermost loop first

NUMBERS = (int, float, bool)
MAX_CHARS = 60  # longer strings do not name an iteration


class Around(NamedTuple):
    """The loops around a line, if any: all their variables, the innermost first; the outermost's.

    code: what runs at the line. asks: it asks for its own locals(), and would be given others.
    """

    is_in_loop: bool = False
    names: tuple[str, ...] = ()
    outermost: frozenset[str] = frozenset()
    line: int = 0
    code: Any = None
    asks: bool = False


_NOWHERE = Around()
MAX_PLACES = 4096  # instructions whose loops are remembered: a program calls from a few


class Loops:
    """The loops around each line of a source."""

    def __init__(self, source: bytes) -> None:
        self._spans: list[tuple[int, int, tuple[str, ...]]] = []  # first and last line, variables
        self._starts: list[int] = []
        self._functions: list[tuple[int, int]] = []
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError, RecursionError):
            return
        self._read(tree)

    def _read(self, tree: ast.Module) -> None:
        for node in ast.walk(tree):
            if isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
                last = node.body[-1].end_lineno or node.lineno
                names = _targets(node.target) if not isinstance(node, ast.While) else ()
                self._spans.append((node.lineno, last, names))
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                self._functions.append((node.body[0].lineno, node.end_lineno or node.lineno))
        self._spans.sort()
        self._starts = [first for first, _, _ in self._spans]

    def around(self, line: int) -> Around:
        """The loops around a line, in the same function."""
        start = max((first for first, last in self._functions if first <= line <= last), default=0)
        before = self._spans[: bisect_right(self._starts, line)]
        loops = [names for first, last, names in before if first >= start and last >= line]
        names = [name for loop in loops for name in loop]
        return Around(bool(loops), tuple(names[::-1]), frozenset(*loops[:1]), line)


def _targets(node: ast.expr) -> tuple[str, ...]:
    return tuple(part.id for part in ast.walk(node) if isinstance(part, ast.Name))


class Sources:
    """The loops of each source, which is parsed when first asked for."""

    def __init__(self) -> None:
        self._texts: dict[str, bytes] = {}
        self._loops: dict[str, Loops] = {}
        self._places: dict[tuple[int, int], Around] = {}  # by code and instruction: lines take longer

    def add(self, path: str, source: bytes) -> None:
        """Take in a project module: code file name and source."""
        self._texts[path] = source
        self._loops.pop(path, None)
        self._places.clear()

    def name(self, word: str) -> bool:
        """True if a text has this word somewhere."""
        return any(word.encode() in text for text in self._texts.values())

    def around(self, frame: Any) -> Around:
        """The loops around the line that a frame is at."""
        code = frame.f_code
        place = (id(code), frame.f_lasti)
        known = self._places.get(place)
        if known is None or known.code is not code:
            if len(self._places) >= MAX_PLACES:
                self._places.clear()
            found = self._look(code.co_filename, frame.f_lineno)
            known = self._places[place] = found._replace(code=code, asks=keeps_locals(frame))
        return known

    def _look(self, path: str, line: int) -> Around:
        if path not in self._texts:
            return _NOWHERE
        if path not in self._loops:
            self._loops[path] = Loops(self._texts[path])
        return self._loops[path].around(line)


def context(frame: Any, sources: Sources, main: OpenLoop | None) -> Context:
    """The columns of a value that is noted in `frame`.

    main: the main loop that is open.
    """
    found: Context = []
    last = None if main is None else main.frame
    while frame is not None:
        around = sources.around(frame)
        if around.is_in_loop and not around.asks:
            _read(frame, around.names, found)
        if frame is last:
            assert main is not None
            if not any(pair[0] in around.outermost for pair in found):
                found.append([main.block, main.iteration])
            break
        frame = frame.f_back
    found.reverse()
    return found if len({pair[0] for pair in found}) == len(found) else _apart(found)


def _read(frame: Any, wanted: tuple[str, ...], found: Context) -> None:
    """Add what these names hold in a frame, if it is plain."""
    names = frame.f_locals
    for name in wanted:
        value = names.get(name)
        if type(value) in NUMBERS or (type(value) is str and len(value) <= MAX_CHARS):
            found.append([name, value])
    if sys.version_info < (3, 13) and is_function(frame):
        shown.cleared(names)  # it would keep objects alive


def _apart(found: Context) -> Context:
    """A variable of an inner loop that has the name of an outer one's is told apart."""
    seen: dict[str, int] = {}
    for pair in found:
        seen[pair[0]] = seen.get(pair[0], 0) + 1
        if seen[pair[0]] > 1:
            pair[0] = f"{pair[0]}.{seen[pair[0]]}"
    return found
