"""A print put anywhere into real modules is found there; a statement taken out anywhere is missed."""

import ast
import calendar
import heapq
import random
import textwrap
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

import florc.transforms.plan as plan_module
from florc.transforms.match import match
from florc.transforms.plan import Plan, Region

SOURCES = [Path(module.__file__ or "") for module in (calendar, heapq, textwrap, plan_module)]
SPOTS = 12
"""Places tried in each module: enough to meet most kinds of bodies, few enough for a second in all."""


def bodies(tree: ast.Module, lines: list[str]) -> Iterator[tuple[ast.AST, list[ast.stmt]]]:
    """Yield the statement lists that begin on a line of their own."""
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            body = getattr(node, field, None)
            if isinstance(body, list) and body:
                first = body[0]
                if not lines[first.lineno - 1][: first.col_offset].strip() and not is_elif(first, lines):
                    yield node, body


def is_elif(node: ast.stmt, lines: list[str]) -> bool:
    """Tell whether a statement is written as the `elif` of another."""
    return lines[node.lineno - 1][node.col_offset :].startswith("elif")


def first_line(node: ast.stmt) -> int:
    """Return the line a statement starts on, decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(each.lineno for each in decorators)])


def is_noop(node: ast.stmt) -> bool:
    """Tell whether a statement may go unnoticed."""
    return isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


def every_body_a_region(tree: ast.Module) -> Plan:
    """Return a plan in which every body is a region."""
    regions = [Region(0, 1, 0, 1, "module")]
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            body = getattr(node, field, None)
            if isinstance(body, list) and body and not isinstance(node, ast.Module):
                regions.append(Region(len(regions), body[0].lineno, body[0].col_offset, 0, field))
    return Plan("f.py", (), tuple(regions), "")


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_a_print_put_anywhere_is_the_only_probe_and_stands_there(path):
    source = path.read_text("utf-8")
    tree, lines = ast.parse(source), source.split("\n")
    plan = every_body_a_region(tree)
    regions = {(region.line, region.col): region.index for region in plan.regions if region.index}
    spots = [
        (node, body, statement)
        for node, body in bodies(tree, lines)
        for statement in body
        if not is_noop(statement) and not isinstance(statement, ast.ImportFrom)
    ]
    for node, body, statement in random.Random(7).sample(spots, SPOTS):
        line = first_line(statement)
        new = [*lines[: line - 1], " " * statement.col_offset + "print('x')", *lines[line - 1 :]]
        found = match(source.encode(), "\n".join(new).encode(), plan)
        assert not found.changes
        (probe,) = found.probes
        assert (probe.line, probe.kind, probe.pure) == (line, "added", True)
        at = (body[0].lineno, body[0].col_offset)
        assert probe.region == (0 if isinstance(node, ast.Module) else regions[at])
        assert all(lines[a - 1].strip() == new[b - 1].strip() for a, b in found.lines.items())


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_a_statement_taken_out_anywhere_is_a_change_or_a_removed_print(path):
    source = path.read_text("utf-8")
    tree, lines = ast.parse(source), source.split("\n")
    plan = every_body_a_region(tree)
    spots = [statement for _, body in bodies(tree, lines) for statement in body if not is_noop(statement)]
    for statement in random.Random(11).sample(spots, SPOTS):
        start, stop = first_line(statement), statement.end_lineno
        new = [*lines[: start - 1], " " * statement.col_offset + "pass", *lines[stop:]]
        found = match(source.encode(), "\n".join(new).encode(), plan)
        assert [change.old_line for change in found.changes] == [start] or (
            [probe.old for probe in found.probes] == [(start, stop)] and not found.changes
        )


def test_a_module_matches_itself_line_for_line():
    for path in SOURCES:
        source = path.read_bytes()
        found = match(source, source, every_body_a_region(ast.parse(source)))
        assert not found.changes and not found.probes
        assert all(old == new for old, new in found.lines.items())


def test_unrelated_modules_are_told_apart():
    for old, new in pairwise(SOURCES):
        before = old.read_bytes()
        assert match(before, new.read_bytes(), every_body_a_region(ast.parse(before))).changes
