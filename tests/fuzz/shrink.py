"""Make a failing program small: leave out lines and blocks as long as it fails in the same way."""

from __future__ import annotations

import ast
import time
from collections.abc import Callable
from dataclasses import replace

from .text import EDITED, MARKED, RECORDED, TRUTH, Program


def shrink(program: Program, fails: Callable[[Program], bool], seconds: float = 120) -> Program:
    """The smallest program found within so many seconds that still fails."""
    until = time.monotonic() + seconds

    def still(candidate: Program) -> bool:
        return time.monotonic() < until and _parses(candidate) and fails(candidate)

    for options in program.replays:
        alone = replace(program, replays=(options,))
        if len(program.replays) > 1 and still(alone):
            program = alone
            break
    size = max(len(program.lines) // 2, 1)
    while size:
        smaller = _without_chunks(program, size, still)
        size = size // 2 if len(smaller.lines) == len(program.lines) or size > 8 else size
        program = smaller
    return _without_blocks(program, still)


def _parses(program: Program) -> bool:
    try:
        for version in (RECORDED, EDITED, TRUTH, MARKED):
            for text in program.files(version).values():
                ast.parse(text)
    except SyntaxError:
        return False
    return True


def _without_chunks(program: Program, size: int, still: Callable[[Program], bool]) -> Program:
    start = len(program.lines)
    while start > 0:
        start -= size
        kept = program.lines[: max(start, 0)] + program.lines[start + size :]
        candidate = replace(program, lines=kept)
        if still(candidate):
            program = candidate
    return program


def _without_blocks(program: Program, still: Callable[[Program], bool]) -> Program:
    """Leave out compound statements whole, and put the insides of others in their place."""
    number = 0
    while number < len(program.lines):
        end = _block_end(program.lines, number)
        body = program.lines[number + 1 : end]
        step = _indent(body[0]) - _indent(program.lines[number]) if body else 0
        bare = tuple(line[step:] if line[:step].isspace() else line for line in body)
        for inside in ((), bare):
            candidate = replace(program, lines=program.lines[:number] + inside + program.lines[end:])
            if end > number + 1 and still(candidate):
                program = candidate
                break
        else:
            number += 1
    return program


def _block_end(lines: tuple[str, ...], number: int) -> int:
    """The line after the block that line `number` begins."""
    end = number + 1
    while end < len(lines) and (not lines[end].strip() or _indent(lines[end]) > _indent(lines[number])):
        end += 1
    return end


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
