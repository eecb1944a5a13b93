"""A verdict on one added statement: a probe, and of what kind, or a change of the program and why."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from .look import Look, Surroundings
from .own import Scope
from .recorded import names_in
from .statements import DEFINITIONS

INERT = (ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal, *DEFINITIONS)
"""Statements that by themselves show and do nothing."""


@dataclass(frozen=True)
class Verdict:
    """What one added statement is: ``why`` it changes the program, or, if that is empty, what probe."""

    why: str
    own: frozenset[str]
    recorded: frozenset[str]
    pure: bool
    inert: bool


def judge(node: ast.stmt, scope: Scope, around: Surroundings, *, header_only: bool = False) -> Verdict:
    """Judge one added statement; with ``header_only`` the header of a ``with`` around recorded statements."""
    look = Look(scope, around, node)
    parts: list[ast.AST] = [node]
    if header_only:
        assert isinstance(node, ast.With)
        parts = list(node.items)
    for part in parts:
        look.visit(part)
    bound = names_in(parts).bound
    return Verdict(
        why="; ".join(dict.fromkeys(look.whys)),
        own=frozenset(bound - look.recorded),
        recorded=frozenset(look.recorded),
        pure=not look.impure,
        inert=isinstance(node, INERT) and not look.impure,
    )
