"""Probes that may disturb what they observe: wrapped, on replay, so that what they change is put back.

A run of adjacent added statements of which any is impure becomes

    _florc_probe = _florc.probe("train.py:90-92", "x", "y")    # where, and the recorded names it may rebind
    ...the added statements...
    _florc_probe.leave()
    x, y = _florc_probe.values                                # in functions only: the runtime itself
    if _florc_probe.lacks("x"): del x                         # puts a module's names back
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from .marks import ensure_import, placed
from .positions import is_added
from .probes import Probe

Found = dict[tuple[int, int], Probe]  # by the line and the column where they begin

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def isolate(tree: ast.Module, probes: Sequence[Probe], file: str, alias: str) -> None:
    """Wrap the impure runs of probes in ``tree``, whose positions are the edited file's."""
    # a wrapper has recorded statements inside, which are not to be undone
    found = {
        (probe.line, probe.columns[0]): probe
        for probe in probes
        if probe.kind in ("added", "edited") and not probe.wraps
    }
    if all(probe.pure or probe.inert for probe in found.values()):
        return
    for body, in_function in list(_bodies(tree, False)):
        for first, last in reversed(list(_runs(body, found, alias))):
            _wrap(body, first, last, found, file, alias, in_function)
    ensure_import(tree, alias)


def _place(node: ast.stmt) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _bodies(node: ast.AST, in_function: bool) -> Iterator[tuple[list[ast.stmt], bool]]:
    """Every statement list below ``node``, and whether its names are a function's."""
    if isinstance(node, _FUNCTIONS):
        in_function = True
    elif isinstance(node, ast.ClassDef):
        in_function = False
    for field in ("body", "orelse", "finalbody"):
        body = getattr(node, field, None)
        if isinstance(body, list):
            yield body, in_function
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.stmt, ast.ExceptHandler, ast.match_case)):
            yield from _bodies(child, in_function)


def _runs(body: list[ast.stmt], found: Found, alias: str) -> Iterator[tuple[int, int]]:
    """First and last index of each run of adjacent probes with an impure one in it."""
    start: int | None = None
    for place, node in enumerate([*body, None]):
        probe = None if node is None or is_added(node, alias) else found.get(_place(node))
        if probe is not None and start is None:
            start = place
        elif probe is None and start is not None:
            run = [found[_place(node)] for node in body[start:place]]
            if any(not (probe.pure or probe.inert) for probe in run):
                yield start, place - 1
            start = None


def _lines(run: list[ast.stmt]) -> str:
    """As users write them: 7, or 7-9."""
    first, last = run[0].lineno, run[-1].end_lineno or run[-1].lineno
    return str(first) if first == last else f"{first}-{last}"


def _wrap(
    body: list[ast.stmt],
    first: int,
    last: int,
    found: Found,
    file: str,
    alias: str,
    in_function: bool,
) -> None:
    inside = body[first : last + 1]
    names = sorted({name for node in inside for name in found[_place(node)].recorded})
    guard = f"{alias}_probe"
    arguments = "".join(f", {name!r}" for name in names)
    after = [f"{guard}.leave()"]
    if names and in_function:
        targets = ", ".join(names) + ("," if len(names) == 1 else "")
        after += [
            f"{targets} = {guard}.values",
            *(f"if {guard}.lacks({name!r}): del {name}" for name in names),
        ]
    before = f"{guard} = {alias}.probe({f'{file}:{_lines(inside)}'!r}{arguments})"
    body[last + 1 : last + 1] = [placed(line, inside[-1]) for line in after]
    body.insert(first, placed(before, inside[0]))
