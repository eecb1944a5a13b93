"""A verdict on one added statement: a probe, and of what kind, or a change of the program and why."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from .look import Look, Surroundings
from .own import Scope
from .recorded import names_in
from .statements import DEFINITIONS
from .wrappers import watching_calls

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


def judge(node: ast.stmt, scope: Scope, around: Surroundings) -> Verdict:
    """Judge one added statement."""
    return _judge(node, [node], scope, around, ())


UNDONE = "what this `with` computes may change the program, and cannot be put back around recorded lines"
"""A probe that changes state is undone at its end; here that would undo the recorded statements inside."""


def judge_wrapper(node: ast.With, scope: Scope, around: Surroundings) -> Verdict:
    """Judge the header of an added ``with`` that only watches the recorded statements inside."""
    verdict = _judge(node, list(node.items), scope, around, watching_calls(node, around.facts))
    return verdict if verdict.pure or verdict.why else replace(verdict, why=UNDONE)


def judge_output(node: ast.stmt, scope: Scope, around: Surroundings) -> Verdict:
    """Judge the new form of an output statement: what it calls to write is not held against it."""
    calls = [part for part in ast.walk(node) if isinstance(part, ast.Expr)]
    return _judge(node, [node], scope, around, [part.value for part in calls])


def _judge(
    node: ast.stmt,
    parts: Sequence[ast.AST],
    scope: Scope,
    around: Surroundings,
    harmless: Collection[ast.AST],
) -> Verdict:
    look = Look(scope, around, node, harmless)
    for part in parts:
        look.visit(part)
    return Verdict(
        why="; ".join(dict.fromkeys(look.whys)),
        own=frozenset(names_in(parts).bound - scope.names.used),
        recorded=frozenset(look.recorded),
        pure=not look.impure,
        inert=isinstance(node, INERT) and not look.impure,
    )
