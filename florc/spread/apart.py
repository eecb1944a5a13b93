"""Standard output for the program's text alone, while a library that prints there is at work."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import BinaryIO


@contextmanager
def own_output() -> Iterator[BinaryIO]:
    """The real standard output; whatever else is written to it meanwhile goes to standard error."""
    sys.stdout.flush()
    real = os.dup(1)
    os.dup2(2, 1)
    try:
        with os.fdopen(os.dup(real), "wb") as stream, redirect_stdout(sys.stderr):
            yield stream
    finally:
        os.dup2(real, 1)
        os.close(real)
