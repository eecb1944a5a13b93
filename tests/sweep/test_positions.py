"""Where statements can be added, and that they can be added at all places at once."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.sweep.positions import insert, positions
from tests.sweep.programs import CASES, SAMPLES

HERE = "here"

# source -> the same with `here` at every position
EVERYWHERE = {
    "statements": ("a\nb\n", "here\na\nhere\nb\nhere\n"),
    "a docstring and a future import stay first": (
        '"""Say."""\nfrom __future__ import annotations\na\n',
        '"""Say."""\nfrom __future__ import annotations\nhere\na\nhere\n',
    ),
    "bodies": (
        "for x in y:\n    a\nelse:\n    b\n",
        "here\nfor x in y:\n    here\n    a\n    here\nelse:\n    here\n    b\n    here\nhere\n",
    ),
    "no end where control leaves": (
        "while a:\n    b\n    continue\n",
        "here\nwhile a:\n    here\n    b\n    here\n    continue\nhere\n",
    ),
    "an elif is no place": (
        "if a:\n    b\nelif c:\n    d\n",
        "here\nif a:\n    here\n    b\n    here\nelif c:\n    here\n    d\n    here\nhere\n",
    ),
    "an if in an else is": (
        "if a:\n    b\nelse:\n    if c:\n        d\n",
        "here\nif a:\n    here\n    b\n    here\nelse:\n    here\n    if c:\n        here\n        d\n"
        "        here\n    here\nhere\n",
    ),
    "handlers and cases": (
        "try:\n    a\nexcept E:\n    b\nfinally:\n    c\n",
        "here\ntry:\n    here\n    a\n    here\nexcept E:\n    here\n    b\n    here\nfinally:\n    here\n"
        "    c\n    here\nhere\n",
    ),
    "decorated": (
        "@wrap\ndef f():\n    return 1\n",
        "here\n@wrap\ndef f():\n    here\n    return 1\nhere\n",
    ),
    "one line": ("if a: b; c  # d\n", "here\nif a: here; b; here; c; here  # d\nhere\n"),
    "wide characters": ("s = 'é'; a\n", "here\ns = 'é'; here; a\nhere\n"),
    "a call over lines": ("f(\n    a)\n", "here\nf(\n    a)\nhere\n"),
    "Windows line ends": ("a\r\nb\r\n", "here\r\na\r\nhere\r\nb\r\nhere\r\n"),
}


@pytest.mark.parametrize(("source", "probed"), EVERYWHERE.values(), ids=EVERYWHERE)
def test_a_statement_fits_at_every_position(source: str, probed: str) -> None:
    assert insert(source, [(place, HERE) for place in positions(source)]) == probed


@pytest.mark.parametrize("file", sorted([*SAMPLES.rglob("*.py"), *CASES.rglob("*.py")]), ids=lambda p: p.name)
def test_a_program_with_a_statement_everywhere_is_the_program_without_them(file: Path) -> None:
    source = file.read_bytes().decode()
    places = positions(source)
    assert len(places) > source.count("\n") / 3
    tree = ast.parse(insert(source, [(place, HERE) for place in places]))
    assert sum(isinstance(node, ast.Name) and node.id == HERE for node in ast.walk(tree)) == len(places)
    assert ast.dump(_Without().visit(tree)) == ast.dump(ast.parse(source))


class _Without(ast.NodeTransformer):
    """Takes the added statements out again."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        return None if isinstance(node.value, ast.Name) and node.value.id == HERE else node
