"""Parse without a word: the warnings about a source are shown once, where it is compiled to run."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


def parse_quietly(source: bytes | str, file: str) -> ast.Module:
    """Parse ``source``, checked as strictly as ``compile`` does. Raises SyntaxError."""
    with _unheard_warnings():
        try:
            compile(source, file, "exec", dont_inherit=True)
            return ast.parse(source, file)
        except ValueError as error:  # null bytes, up to Python 3.11
            raise SyntaxError(str(error)) from None


@contextmanager
def _unheard_warnings() -> Iterator[None]:
    # not catch_warnings: that makes Python forget which warnings the user has seen already
    kept = warnings.filters
    warnings.filters = [("ignore", None, Warning, None, 0)]
    try:
        yield
    finally:
        warnings.filters = kept
