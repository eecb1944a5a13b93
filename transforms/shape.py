"""The text of a guard, line by line. What people read in a diff is decided here and nowhere else."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from .blocks import Block

RUNTIME_MODULE = "florc.runtime"
_ALIAS = "_florc"


def alias_for(source: bytes) -> str:
    """Return the name the runtime is imported under: one that no word of ``source`` starts with."""
    alias = _ALIAS
    if re.search(rb"(?<!\w)_florc", source):
        alias += "_"
        while re.search(rb"(?<!\w)" + alias.encode(), source):
            alias += "_"
    return alias


def import_line(alias: str) -> str:
    """Return the line at the top of an instrumented module."""
    return f"import {RUNTIME_MODULE} as {alias}"


@dataclass(frozen=True)
class Guard:
    """The lines to put around and into one loop."""

    name: str
    """The guard's variable."""
    before: tuple[str, ...]
    top: tuple[str, ...]
    """First lines of the loop's body."""
    after: tuple[str, ...]
    skippable: bool
    """Whether the loop's header says how to skip it."""


def guard_for(block: Block, alias: str, around: Sequence[str]) -> Guard:
    """Write the guard of ``block``; ``around`` names the guards of its function it stands in, outer first."""
    name = f"{alias}_{block.number}"
    return Guard(
        name=name,
        before=(_opening(block, alias, name), *_skipped(block, name)),
        top=_boundary(block, name),
        after=_leaving(block, name, around),
        skippable=not block.plan.has_else,
    )


def returning(expression: str, guards: Sequence[str]) -> str:
    """Wrap what a ``return`` gives in the guards it leaves, the innermost told first."""
    for name in reversed(guards):
        expression = f"{name}.returning({expression})"
    return expression


def _opening(block: Block, alias: str, name: str) -> str:
    arguments = [_quoted(block.plan.id), *map(_quoted, block.names)]
    if block.plan.has_else:
        arguments.append("skippable=False")
    return f"{name} = {alias}.loop({', '.join(arguments)})"


def _skipped(block: Block, name: str) -> tuple[str, ...]:
    if block.plan.has_else or not block.names:
        return ()
    return (f"if {name}.skipped:", *_indented(_values(block.names, block.doubtful_after, name)))


def _boundary(block: Block, name: str) -> tuple[str, ...]:
    test = f"if {name}.live and {name}.boundary()"
    if not block.names:
        if block.plan.has_else:
            return (f"if {name}.live: {name}.boundary()",)
        return (f"{test} and {name}.done: break",)
    lines = _values(block.names, block.doubtful_inside, name)
    if not block.plan.has_else:
        lines.append(f"if {name}.done: break")
    return (f"{test}:", *_indented(lines))


def _values(names: Sequence[str], doubtful: Sequence[str], guard: str) -> list[str]:
    target = f"({names[0]},)" if len(names) == 1 else ", ".join(names)
    gone = [f"if {guard}.lacks({_quoted(name)}): del {name}" for name in doubtful]
    return [f"{target} = {guard}.values", *gone]


def _leaving(block: Block, name: str, around: Sequence[str]) -> tuple[str, ...]:
    if block.plan.has_return:
        return (f"if {name}.leave(): return {returning(f'{name}.returned', around)}",)
    if block.scope == "class":
        return (f"{name}.leave()", f"del {name}")  # or it would stay as an attribute of the class
    return (f"{name}.leave()",)


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"\t{line}" for line in lines]  # one level; the writer puts the module's own indentation


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
