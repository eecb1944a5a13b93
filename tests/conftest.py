"""Tests sign with a key of their own, and can be interrupted: neither depends on who runs them, and how."""

from __future__ import annotations

import signal
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


@pytest.fixture(scope="session", autouse=True)
def interruptible() -> None:
    """A job in the background ignores Ctrl-C, one under nohup a hangup; so would what it runs."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
