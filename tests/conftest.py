"""Tests sign with a key of their own: they neither make nor use that of whoever runs them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session", autouse=True)
def key_file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where the key of this test process lies (made by the first recording)."""
    file = tmp_path_factory.mktemp("key") / "florc" / "key"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FLORC_KEY_FILE", str(file))
        yield file
