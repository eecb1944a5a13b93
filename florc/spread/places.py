"""Where the workers of a spread replay run: what every such place offers.

`local` are processes of this machine (`local.py`), `ray` those of a Ray cluster (`on_ray.py`). A place starts
workers and brings what they write into files of the master; who is whose turn, what is printed and who is
started once more is decided in `workers`, the same for all places.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from .shares import Share

PREFIX = "florc-workers-"  # of the folder that holds workers' text
NODE_PREFIX = "florc-node-"  # of one on a node of a cluster


@dataclass(frozen=True)
class Files:
    """The master's files that one attempt of a worker fills."""

    out: Path
    err: Path
    summary: Path


@dataclass(frozen=True)
class Ended:
    """How a worker has ended.

    code: what its process exited with, negative for a signal; None where it is gone with its machine.
    words: the same for people.
    """

    code: int | None
    words: str

    @classmethod
    def with_code(cls, code: int, where: str = "") -> Ended:
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return cls(code, how + where)


class Running(Protocol):
    """One attempt of a worker."""

    @property
    def ended(self) -> Ended | None:
        """None while it runs; once it has ended, all that it wrote is in its files."""


class Place(Protocol):
    """Somewhere to run workers."""

    def slots(self) -> int:
        """How many workers can run at the same time."""

    def start(self, share: Share, files: Files, apart_from: Running | None) -> Running:
        """Begin a worker; `apart_from` has died, and it should run elsewhere if there is such a place."""

    def wait(self) -> None:
        """Wait a moment, and bring in what the workers have written since."""

    def close(self) -> None:
        """Let go of everything; workers that still run are ended."""
