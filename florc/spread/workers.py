"""A replay spread over workers: each replays a share, and their text is put together in program order.

Every worker is the same command with its share in the environment (`shares`), run somewhere (`places`). The
first prints what comes before the shared main loop, the last what comes after it. A worker that dies is
started once more, and must print again what of its text was passed on already; then it is told.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import tempfile
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from florc import messages
from florc.errors import EXIT_INEXACT, EXIT_REFUSED, EXIT_USAGE

from .merging import merge
from .places import NODE_PREFIX, PREFIX, Ended, Files, Place, Running
from .shares import Share

ATTEMPTS = 2  # a worker that dies is started once more
STALE_SECONDS = 24 * 3600  # workers that have written nothing for so long were killed with their master
CHUNK = 1 << 20  # bytes of a worker's text in memory at a time
LAST_LINES = 3  # of a dead worker's standard error, told with its death
MAX_LINE = 300  # characters of each of them


@dataclass(frozen=True)
class Task:
    """A share, and its iterations in words."""

    share: Share
    words: str


class Worker:
    """A share on its way: its attempts, and how much of its text was passed on."""

    def __init__(self, folder: Path, number: int, task: Task, place: Place) -> None:
        self.name = f"worker {number} ({task.words})"  # as it is told
        self._stem = folder / f"worker-{number}"
        self._share, self._place = task.share, place
        self.attempt = 0
        self.sent = 0  # bytes passed on, of all attempts
        self._same = 0  # bytes of this attempt that are known to be what was passed on
        self._before: Path | None = None  # text of the attempt whose text was passed on
        self._running = self._start(None)

    def _start(self, dead: Running | None) -> Running:
        self.attempt += 1
        number = self.attempt
        self.files = Files(*(self._stem.with_suffix(f".{kind}{number}") for kind in ("out", "err", "json")))
        return self._place.start(self._share, self.files, dead)

    def again(self) -> None:
        """Start once more after a death."""
        self._before, self._same = self.files.out, 0
        self._running = self._start(self._running)

    @property
    def ended(self) -> Ended | None:
        return self._running.ended

    @property
    def refused(self) -> bool:
        """True if it has ended by saying why it does not begin."""
        ended = self.ended
        return ended is not None and ended.code in (EXIT_REFUSED, EXIT_USAGE) and not self.has_reported

    @property
    def died(self) -> bool:
        """True if it has ended without a report, or by a signal: killed, out of memory, its machine gone."""
        ended = self.ended
        if ended is None or self.refused:
            return False
        by_signal = ended.code is None or (ended.code < 0 and ended.code != -signal.SIGINT)
        return by_signal or not self.has_reported

    @property
    def has_reported(self) -> bool:
        """True if it came to its end, and left a summary."""
        return self.files.summary.is_file()

    def send(self, out: BinaryIO) -> bool:
        """Pass on what it has written since; False if it writes otherwise than before it died."""
        with open(self.files.out, "rb") as stream:
            if self._same < self.sent and not self._compare(stream):
                return False
            stream.seek(self.sent)
            while self._same == self.sent and (text := stream.read(CHUNK)):
                out.write(text)
                self._same = self.sent = self.sent + len(text)
        out.flush()
        return True

    def _compare(self, stream: BinaryIO) -> bool:
        """Go through what was passed on already; False at a difference."""
        assert self._before is not None
        stream.seek(self._same)
        with open(self._before, "rb") as before:
            before.seek(self._same)
            while self._same < self.sent and (text := stream.read(min(CHUNK, self.sent - self._same))):
                if before.read(len(text)) != text:
                    return False
                self._same += len(text)
        return True

    @property
    def complete(self) -> bool:
        """True if no text that an earlier attempt wrote is missing."""
        return self._same == self.sent

    @property
    def has_a_chance(self) -> bool:
        """True if it has died and may be started once more."""
        return self.attempt < ATTEMPTS and self.died

    def summary(self) -> dict[str, Any] | None:
        """What it left; None if that cannot be read."""
        try:
            found: dict[str, Any] = json.loads(self.files.summary.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return found

    def death(self) -> str:
        """How it died, and the last it said."""
        ended = self.ended
        how = ended.words if ended is not None else "still running"
        with open(self.files.err, encoding="utf-8", errors="replace") as stream:
            last = [line.strip()[:MAX_LINE] for line in deque(stream, LAST_LINES) if line.strip()]
        return how + (f"; the last it said: {' | '.join(last)}" if last else "")


@dataclass(frozen=True)
class Outcome:
    """How workers have ended.

    codes: theirs, in order; fewer than there are workers if one refused to begin: it is the last then.
    summaries: None where a worker left none, or died twice. printed: something of theirs was passed on.
    """

    codes: list[int]
    summaries: list[dict[str, Any] | None]
    refused: bool
    printed: bool

    @property
    def code(self) -> int:
        """That of the last one, as of a process that replays all of it; 65 if any of them is not exact."""
        if EXIT_INEXACT in self.codes or (self.refused and self.printed):
            return EXIT_INEXACT
        return self.codes[-1]

    def merged(self) -> dict[str, Any]:
        """One summary of theirs, {} if there is none."""
        return {} if self.refused else merge([one for one in self.summaries if one is not None])


def each(tasks: list[Task], place: Place, told: set[str], out: BinaryIO | None) -> Outcome:
    """Run a worker for each task.

    Args:
        told: florc's own lines that need not be said again; those said are added.
        out: where their text goes, in order; None for nowhere.
    """
    with tempfile.TemporaryDirectory(prefix=PREFIX) as folder, contextlib.ExitStack() as stack:
        stack.callback(place.close)
        crew = [Worker(Path(folder), number, task, place) for number, task in enumerate(tasks)]
        codes: list[int] = []
        for worker in crew:
            codes.append(_follow(worker, crew, place, out))
            _pass_on(worker.files.err, told)
            if worker.died:
                messages.warning(f"not exact: {worker.name} died again: {worker.death()}")
            if worker.refused:
                break
        summaries = [None if worker.died else worker.summary() for worker in crew]
        return Outcome(codes, summaries, crew[len(codes) - 1].refused, any(one.sent for one in crew))


def _follow(worker: Worker, crew: list[Worker], place: Place, out: BinaryIO | None) -> int:
    """Print a worker's text as it comes; its exit code, 65 if it died twice or is not to be believed."""
    while True:
        _revive(crew)
        over = worker.ended is not None and not worker.has_a_chance  # before the look at what it wrote
        if out is not None and not worker.send(out):
            return _otherwise(worker)
        if over:
            break
        place.wait()
    if worker.died:
        return EXIT_INEXACT
    if not (out is None or worker.complete):
        return _otherwise(worker)
    ended = worker.ended
    assert ended is not None and ended.code is not None, "only the dead have none"
    return ended.code


def _otherwise(worker: Worker) -> int:
    messages.warning(f"not exact: {worker.name} printed otherwise the second time")
    return EXIT_INEXACT


def _revive(crew: list[Worker]) -> None:
    """Start those once more that have died, whether it is their turn or not."""
    for worker in crew:
        if worker.has_a_chance:
            messages.say(f"{worker.name} died: {worker.death()}; it is started once more")
            worker.again()


def abandoned() -> list[Path]:
    """This user's folders of workers that were killed."""
    found = []
    there = Path(tempfile.gettempdir())
    for folder in sorted(folder for prefix in (PREFIX, NODE_PREFIX) for folder in there.glob(prefix + "*")):
        with contextlib.suppress(OSError):
            touched = max(entry.lstat().st_mtime for entry in (folder, *folder.iterdir()))
            if folder.lstat().st_uid == os.geteuid() and time.time() - touched > STALE_SECONDS:
                found.append(folder)
    return found


def _pass_on(file: Path, told: set[str]) -> None:
    """Standard error of a worker; what florc says itself comes once for all of them."""
    with open(file, encoding="utf-8", errors="replace", newline="") as stream:
        for line in stream:
            if line.startswith("florc: "):
                if line in told:
                    continue
                told.add(line)
            sys.stderr.write(line)
    sys.stderr.flush()
