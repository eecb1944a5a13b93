"""What holds for every program: real files, and programs drawn by hypothesis."""

from __future__ import annotations

import ast
import random
import sys
import sysconfig
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import CodeType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from florc.transforms import instrument, to_code

from .stub import Record, Replay, run

SEED = 20260131
STDLIB_FILES = 12
TORCH_FILES = 12
LARGEST = 30_000  # bytes: the long tail of both adds minutes, not kinds of code


def _sample() -> list[Path]:
    draw = random.Random(SEED)
    stdlib = Path(sysconfig.get_paths()["stdlib"])
    files = draw.sample(_sources(stdlib, "*.py"), STDLIB_FILES)
    files += draw.sample(_sources(stdlib, "[a-z]*/*.py"), STDLIB_FILES)
    torch = find_spec("torch")
    if torch is not None and torch.origin is not None:
        files += draw.sample(_sources(Path(torch.origin).parent, "**/*.py"), TORCH_FILES)
    return files


def _sources(folder: Path, pattern: str) -> list[Path]:
    found = (path for path in folder.glob(pattern) if "site-packages" not in path.relative_to(folder).parts)
    return sorted(path for path in found if 200 < path.stat().st_size < LARGEST)


FILES = _sample()


@pytest.mark.parametrize("path", FILES, ids=[f"{path.parent.name}/{path.name}" for path in FILES])
def test_a_real_file(path):
    source = path.read_bytes()
    try:
        plain = compile(source, str(path), "exec", dont_inherit=True)
    except SyntaxError:
        with pytest.raises(SyntaxError):
            instrument(source, "file.py")
        return
    result = instrument(source, "file.py")
    assert instrument(source, "file.py") == result
    compile(result.text, "file.py", "exec", dont_inherit=True)
    if not result.plan.refused:
        _untouched_lines_are_kept(result)
    _positions_are_kept(plain, to_code(result, str(path), marks=False), ast.parse(source))
    _names_are_kept(plain, to_code(result, str(path), marks=True))


def _untouched_lines_are_kept(result) -> None:
    lines = iter(enumerate(result.original.split(b"\n"), 1))
    touched = set(_touched_lines(result))
    for line in result.text.split(b"\n"):
        if b"_florc" in line:
            continue
        for number, original in lines:
            if original in (line, _one_parenthesis_less(line)):
                break
            assert number in touched or original.endswith(line.lstrip()), (number, original, line)


def _one_parenthesis_less(line: bytes) -> bytes:
    """Undo what closes a guard's call at the end of a header, or of a return, of several lines."""
    head, _, tail = line.rpartition(b")")
    return head + tail


def _touched_lines(result) -> Iterator[int]:
    """Yield the lines of headers of guarded loops, and of returns in them."""
    guarded = {(loop.line, loop.col): loop for loop in result.plan.loops if loop.guarded}
    for node in ast.walk(ast.parse(result.original)):
        if isinstance(node, (ast.For, ast.While)) and (node.lineno, node.col_offset) in guarded:
            yield from range(node.lineno, node.body[0].lineno + 1)
            yield from (inner.lineno for inner in ast.walk(node) if isinstance(inner, ast.Return))


def _starts(tree: ast.Module) -> set[tuple[int, int]]:
    """Return where anything starts: code of guards stands nowhere else."""
    nodes = (node for node in ast.walk(tree) if isinstance(node, (ast.stmt, ast.expr)))
    return {(node.lineno, node.col_offset) for node in nodes}


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _places(code: CodeType) -> set[tuple[int | None, ...]]:
    if sys.version_info < (3, 11) or sys.version_info >= (3, 13):
        # 3.13 loads two locals in one instruction where their numbers are small: a guard's moves them
        return {(line,) for _, _, line in code.co_lines()}
    return {(line, col, end, end_col) for line, end, col, end_col in code.co_positions()}


def _positions_are_kept(plain: CodeType, ours: CodeType, tree: ast.Module) -> None:
    guards = _starts(tree)
    before, after = list(_codes(plain)), list(_codes(ours))
    assert [code.co_name for code in before] == [code.co_name for code in after]
    for old, new in zip(before, after, strict=True):
        assert (old.co_firstlineno, old.co_filename) == (new.co_firstlineno, new.co_filename)
        assert _places(old) <= _places(new), (old.co_name, _places(old) - _places(new))
        added = {place[:2] for place in _places(new) - _places(old) if place[0] is not None}
        if added and len(next(iter(added))) == 2:
            assert added <= guards, (old.co_name, added - guards)


def _names_are_kept(plain: CodeType, ours: CodeType) -> None:
    for old, new in zip(_codes(plain), _codes(ours), strict=True):
        names = [{*code.co_varnames, *code.co_names, *code.co_cellvars} for code in (old, new)]
        assert names[0] <= names[1]
        assert old.co_freevars == new.co_freevars
        assert old.co_flags == new.co_flags
        assert old.co_varnames[: old.co_argcount] == new.co_varnames[: new.co_argcount]


# Programs over a few names, whose loops end and whose every step is small.
NAMES = ("a", "b", "c")
EXPRESSIONS = (
    "work(a)",
    "work(b) + 1",
    "len((a, b))",
    "(c := work(2))",
    "a and work(c)",
    "[b for b in work((1, 2))]",
)
SIMPLE = (
    "a = {e}",
    "b += 1",
    "c: int = {e}",
    "del a",
    "{e}",
    "a, b = b, a",
    "bump()",
    "if {e}: del b",
    "import math as c",
    "def b(): return a",
)


def _block(level: int, in_loop: bool) -> st.SearchStrategy[list[str]]:
    return st.lists(_statement(level, in_loop), min_size=1, max_size=4).map(
        lambda parts: [line for part in parts for line in part]
    )


def _statement(level: int, in_loop: bool) -> st.SearchStrategy[list[str]]:
    expression = st.sampled_from(EXPRESSIONS)
    simple = st.builds(lambda text, e: [text.replace("{e}", e)], st.sampled_from(SIMPLE), expression)
    jumps = ["return {e}", "return"] + (["break", "continue"] if in_loop else [])
    jump = st.builds(
        lambda text, e, test: [f"if {test}: {text.replace('{e}', e)}"],
        st.sampled_from(jumps),
        expression,
        expression,
    )
    if level == 0:
        return simple | jump

    def indented(lines: list[str]) -> list[str]:
        return [f"    {line}" for line in lines]

    inner, looped = _block(level - 1, in_loop), _block(level - 1, True)
    ifs = st.builds(
        lambda e, one, two: [f"if {e}:", *indented(one), "else:", *indented(two)], expression, inner, inner
    )
    tries = st.builds(
        lambda one, two: ["try:", *indented(one), "except NameError as c:", *indented(two)], inner, inner
    )
    finals = st.builds(
        lambda one, two: ["try:", *indented(one), "finally:", *indented(two)], inner, _block(0, False)
    )
    loops = st.builds(
        lambda name, count, body, other: [
            f"for {name} in range(work({count})):",
            *indented(body),
            *(["else:", *indented(other)] if other else []),
        ],
        st.sampled_from(NAMES),
        st.integers(0, 3),
        looped,
        st.just([]) | inner,
    )
    whiles = st.builds(
        lambda e, body: ["while fuel(4) and " + e + ":", *indented(body)], expression, looped
    )
    return simple | jump | ifs | tries | finals | loops | whiles


PROGRAM = """
def work(x): return x
def program(a):
    tank = 60
    def fuel(n):
        nonlocal tank
        tank -= n
        return tank > 0
    def bump():
        nonlocal c
        c = tank
    c = 0
{body}
    return "end", sorted((k, repr(v)[:20]) for k, v in locals().items() if k in "abc")
def run(a):
    try:
        return program(a)
    except Exception as error:
        return type(error).__name__
out = [run(0), run(3)]
"""


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(_block(3, False))
def test_a_drawn_program_does_the_same(body):
    source = PROGRAM.replace("{body}", "\n".join(f"    {line}" for line in body)).encode()
    plain = run(compile(source, "p.py", "exec", dont_inherit=True), None)["out"]
    result = instrument(source, "p.py")
    assert result.plan.refused == ""
    code = to_code(result, "p.py", marks=True)
    record = Record()
    assert run(code, record)["out"] == plain
    if not any(isinstance(outcome, str) for outcome in plain) and not _has_swallowed(source):
        assert run(code, Replay(record))["out"] == plain


def _has_swallowed(source: bytes) -> bool:
    """Tell whether an exception may have left a loop and been caught: such a loop is not skipped."""
    return b"except NameError as c" in source or b"finally" in source
