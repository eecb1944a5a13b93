"""Which variables the recorded functions took from around them.

A probe in a nested function that looks at a variable of the outer one adds a cell to its closure. The record
had none there, so such a cell is no state of the recorded program.
"""

from __future__ import annotations

import types
import warnings
from collections.abc import Callable, Mapping

Table = dict[tuple[int, str], frozenset[str]]  # (first line, name) -> free variables


class RecordedCells:
    """Tells the free variables that the recorded code of a live function had.

    Args:
        sources: file id -> the recorded source.
        files: code file name -> file id.
        recorded_line: (code file name, line) -> the line it had in the recorded source.
    """

    def __init__(
        self,
        sources: Mapping[str, bytes],
        files: Mapping[str, str],
        recorded_line: Callable[[str, int], int | None],
    ) -> None:
        self._sources = sources
        self._files = files
        self._recorded_line = recorded_line
        self._tables: dict[str, Table] = {}

    def __call__(self, code: types.CodeType) -> frozenset[str] | None:
        """The names; None for code that the record did not have."""
        file = self._files.get(code.co_filename)
        line = self._recorded_line(code.co_filename, code.co_firstlineno)
        if file is None or line is None or file not in self._sources:
            return None
        if file not in self._tables:
            self._tables[file] = _table(self._sources[file])
        return self._tables[file].get((line, code.co_name))


def _table(source: bytes) -> Table:
    found: Table = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they were given when the source was compiled to run
        waiting = [compile(source, "<recorded>", "exec", dont_inherit=True)]
    while waiting:
        code = waiting.pop()
        place = code.co_firstlineno, code.co_name
        found[place] = found.get(place, frozenset()).union(code.co_freevars)  # two lambdas on one line
        waiting += [part for part in code.co_consts if isinstance(part, types.CodeType)]
    return found
