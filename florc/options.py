"""What the command line asked for, as frozen values."""

from __future__ import annotations

from dataclasses import dataclass, field

from .spread.where import LOCAL, Where

DEFAULT_OVERHEAD = 1 / 15  # the paper's bound on what recording may add to the run time


@dataclass(frozen=True)
class Target:
    """The program to run: a script's path, or a module's name as after python's -m."""

    name: str
    is_module: bool = False


@dataclass(frozen=True)
class RecordOptions:
    """What `florc record` was asked to do."""

    target: Target
    args: tuple[str, ...] = ()
    name: str | None = None
    overhead: float = DEFAULT_OVERHEAD
    store: str | None = None
    include: tuple[str, ...] = ()
    quiet: bool = False
    audit: str = "auto"


@dataclass(frozen=True)
class ReplayOptions:
    """What `florc replay` was asked to do; the program's arguments are the recorded ones.

    workers: None for as many as make it quicker, and the place has room for.
    cpus, gpus: of a worker, on a cluster.
    """

    target: Target
    run: str | None = None
    at: str | None = None
    new: bool = False
    workers: int | None = 1
    plan_only: bool = False
    summary: str | None = None
    store: str | None = None
    sample: str | None = None
    first_difference: bool = False
    plan_json: bool = False
    quiet: bool = False
    rerun: bool = False  # run all of it again, compare, print none of its text
    on: Where = field(default_factory=Where)
    cpus: float = 1.0
    gpus: float = 0.0

    @property
    def spreads(self) -> bool:
        """True if other processes are to replay."""
        return self.on.kind != LOCAL or self.workers != 1
