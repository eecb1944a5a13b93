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
from dataclasses import replace

from .marks import ensure_import, placed
from .positions import is_added
from .probes import Probe

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def isolate(tree: ast.Module, probes: Sequence[Probe], file: str, alias: str) -> None:
    """Wrap the impure runs of probes in ``tree``, whose positions are the edited file's."""
    found = _by_line(probes)
    if all(probe.pure or probe.inert for probe in found.values()):
        return
    for body, in_function, line in list(_bodies(tree, False)):
        # what stands on the line of a probe that holds it, as in `if x: f()`, is a part of that one
        here = {number: probe for number, probe in found.items() if number != line}
        for first, last in reversed(list(_runs(body, here, alias))):
            _wrap(body, first, last, found, file, alias, in_function)
    ensure_import(tree, alias)


def _by_line(probes: Sequence[Probe]) -> dict[int, Probe]:
    """What may be wrapped, by line; probes that share one (``x = 1; f()``) are as one."""
    found: dict[int, Probe] = {}
    for probe in probes:
        # a wrapper has recorded statements inside, which are not to be undone
        if probe.kind not in ("added", "edited") or probe.wraps:
            continue
        other = found.setdefault(probe.line, probe)
        if other is not probe:
            harmless = (probe.pure or probe.inert) and (other.pure or other.inert)
            recorded = other.recorded | probe.recorded
            found[probe.line] = replace(other, recorded=recorded, pure=harmless, inert=False)
    return found


def _bodies(node: ast.AST, in_function: bool) -> Iterator[tuple[list[ast.stmt], bool, int]]:
    """Every statement list below ``node``, whether its names are a function's, and the line it belongs to."""
    if isinstance(node, _FUNCTIONS):
        in_function = True
    elif isinstance(node, ast.ClassDef):
        in_function = False
    for field in ("body", "orelse", "finalbody"):
        body = getattr(node, field, None)
        if isinstance(body, list):
            yield body, in_function, getattr(node, "lineno", 0)
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.stmt, ast.ExceptHandler, ast.match_case)):
            yield from _bodies(child, in_function)


def _runs(body: list[ast.stmt], found: dict[int, Probe], alias: str) -> Iterator[tuple[int, int]]:
    """First and last index of each run of adjacent probes with an impure one in it."""
    start: int | None = None
    for place, node in enumerate([*body, None]):
        probe = None if node is None or is_added(node, alias) else found.get(node.lineno)
        if probe is not None and start is None:
            start = place
        elif probe is None and start is not None:
            lines = [node.lineno for node in body[start:place]]
            if any(not (found[line].pure or found[line].inert) for line in lines):
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
    found: dict[int, Probe],
    file: str,
    alias: str,
    in_function: bool,
) -> None:
    inside = body[first : last + 1]
    names = sorted({name for node in inside for name in found[node.lineno].recorded})
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
