"""The folder for temporary files, found without a trace: what `tempfile` notes and draws is the program's."""

from __future__ import annotations

import tempfile


def folder() -> str:
    """What tempfile.gettempdir() gives; a program that asks first still asks first."""
    noted = tempfile.tempdir
    try:
        return tempfile.gettempdir()
    finally:
        tempfile.tempdir = noted
