"""`florc replay --workers N`: several processes replay a part each, and their text is put together in order.

Every worker is the same command with its share in the environment. The first prints what comes before the
shared main loop, the last what comes after it.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from . import messages
from .answering import new_id
from .errors import EXIT_INEXACT
from .partition import partition
from .runtime.lockstep import Edits
from .runtime.script import LoopRun, Script
from .runtime.window import Part, Window

VARIABLE = "FLORC_REPLAY_SHARE"  # what a worker is told: its window, and where its summary goes
ATTEMPTS = 2  # a worker that dies is started once more
PREFIX = "florc-workers-"
STALE_SECONDS = 24 * 3600  # workers that have written nothing for so long were killed with their master
POLL_S = 0.02  # between looks at what the workers have written
STEP_SECONDS = 1e-3  # for an iteration whose time the record does not have


@dataclass(frozen=True)
class Share:
    """What one worker replays, as it is handed over."""

    selected: dict[int, list[int]] | None
    part: Part | None
    summary: str
    replay: str

    def window(self, whole: Window) -> Window:
        """The worker's window on what all of them replay."""
        if self.selected is None:
            return replace(whole, part=self.part)
        return replace(
            whole, selected={loop: frozenset(chosen) for loop, chosen in self.selected.items()}
        )

    def handed(self) -> str:
        return json.dumps(asdict(self))


def own_share() -> Share | None:
    """The share this process was given, if it is a worker. It is taken out of the environment."""
    text = os.environ.pop(VARIABLE, None)
    if text is None:
        return None
    told = json.loads(text)
    selected = told["selected"]
    return Share(
        None if selected is None else {int(loop): chosen for loop, chosen in selected.items()},
        None if told["part"] is None else Part(**told["part"]),
        told["summary"],
        told["replay"],
    )


def windows(
    script: Script, edits: Edits, whole: Window, count: int
) -> list[Window]:
    """The windows of at most `count` workers; fewer than two where spreading gains nothing. Pure."""
    selected = whole.selected
    if script.others:
        return []  # text of other processes is in no record: it must come once, in its place
    loops = list(enumerate(script.main_loops))
    wanted = {
        number: [
            i
            for i, one in enumerate(run.iterations)
            if edits.touch(one.hits) and (selected is None or i in selected.get(number, ()))
        ]
        for number, run in loops
    }
    number = max(wanted, key=lambda n: sum(_seconds(script.main_loops[n], edits, wanted[n])), default=None)
    if number is None or len(wanted[number]) < 2 or (selected is not None and len(selected) > 1):
        return []
    run, items = script.main_loops[number], wanted[number]
    costs = _seconds(run, edits, items)
    starts = partition(costs, [_start_up(run, item) for item in items], min(count, len(items)))
    bounds = [items[place] for place in starts[1:]]
    if selected is not None:
        shares = [items[a:b] for a, b in zip(starts, [*starts[1:], len(items)], strict=True)]
        every = sorted(selected[number])
        edges = [every[0], *(share[0] for share in shares[1:]), every[-1] + 1]
        chosen = [[i for i in every if a <= i < b] for a, b in pairwise(edges)]
        return [Window({number: frozenset(part)}) for part in chosen]
    edges = [0, *bounds, len(run.iterations)]
    last = len(edges) - 2
    return [
        Window(None, Part(number, a, b, i == 0, i == last))
        for i, (a, b) in enumerate(pairwise(edges))
    ]


def _seconds(run: LoopRun, edits: Edits, items: list[int]) -> list[float]:
    """What each of these iterations takes: the blocks in it that run again."""
    return [
        sum(block.seconds for block in run.iterations[i].blocks if edits.touch(block.hits)) + STEP_SECONDS
        for i in items
    ]


def _start_up(run: LoopRun, item: int) -> float:
    """What it takes to come from the nearest checkpoint to this iteration."""
    start = item
    while start > 0 and run.iterations[start].ckpt is None:
        start -= 1
    blocks = [block for one in run.iterations[start:item] for block in one.blocks]
    return sum(block.seconds for block in blocks if block.ckpt is None) + STEP_SECONDS * (item - start)


class Worker:
    """One process with a share, its text kept in files."""

    def __init__(self, folder: Path, number: int, window: Window, replay: str) -> None:
        self.number = number
        self._stem = folder / f"worker-{number}"
        selected = window.selected
        chosen = None if selected is None else {loop: sorted(items) for loop, items in selected.items()}
        self._share = Share(chosen, window.part, str(self._stem.with_suffix(".json")), replay)
        self._sent = 0
        self._kept = b""  # what was sent of an attempt that died
        self.attempt = 0
        self.start()

    def start(self) -> None:
        self.attempt += 1
        self._out = self._stem.with_suffix(f".out{self.attempt}")
        self.err = self._stem.with_suffix(f".err{self.attempt}")
        with open(self._out, "wb") as out, open(self.err, "wb") as err:
            self.process = subprocess.Popen(
                [sys.executable, *sys.orig_argv[1:]],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env={**os.environ, VARIABLE: self._share.handed()},
            )

    def pump(self) -> None:
        """Send on what it has written since the last time."""
        with open(self._out, "rb") as stream:
            stream.seek(self._sent)
            text = stream.read()
        if text:
            self._sent += len(text)
            sys.stdout.buffer.write(text)
            sys.stdout.buffer.flush()

    def again(self) -> bool:
        """Start once more after a death; False if what was sent on already is not what comes again."""
        self._kept = self._out.read_bytes()[: self._sent]
        self.start()
        self.process.wait()
        return self._out.read_bytes()[: self._sent] == self._kept

    @property
    def died(self) -> bool:
        """True if it ended without a report: killed, out of memory."""
        return self.process.returncode < 0 or not os.path.exists(self._share.summary)

    def summary(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(Path(self._share.summary).read_text())
        return found


def run(parts: list[Window]) -> tuple[int, dict[str, Any]]:
    """Run a worker for each window, print their text in order; (exit code, merged summary)."""
    codes, summaries = each(parts, set())
    code = EXIT_INEXACT if EXIT_INEXACT in codes else codes[-1]
    return code, merge([one for one in summaries if one is not None])


def each(
    parts: list[Window], told: set[str], printing: bool = True
) -> tuple[list[int], list[dict[str, Any] | None]]:
    """Run a worker for each window; their exit codes, their summaries (None where one died twice).

    Args:
        told: florc's own lines that need not be said again; those said are added.
        printing: give out their standard output, in order.
    """
    with tempfile.TemporaryDirectory(prefix=PREFIX) as folder, contextlib.ExitStack() as stack:
        replay = new_id()
        workers = [Worker(Path(folder), number, window, replay) for number, window in enumerate(parts)]
        for worker in workers:
            stack.callback(_end, worker)
        codes = [_follow(worker, told, printing) for worker in workers]
        return codes, [None if worker.died else worker.summary() for worker in workers]


def abandoned() -> list[Path]:
    """This user's folders of workers that were killed."""
    found = []
    for folder in sorted(Path(tempfile.gettempdir()).glob(PREFIX + "*")):
        with contextlib.suppress(OSError):
            touched = max(entry.lstat().st_mtime for entry in (folder, *folder.iterdir()))
            if folder.lstat().st_uid == os.geteuid() and time.time() - touched > STALE_SECONDS:
                found.append(folder)
    return found


def _end(worker: Worker) -> None:
    if worker.process.poll() is None:
        worker.process.terminate()
        worker.process.wait()


def _follow(worker: Worker, told: set[str], printing: bool) -> int:
    """Print a worker's text as it comes; its exit code, 65 if it died twice."""
    while worker.process.poll() is None:
        if printing:
            worker.pump()
        time.sleep(POLL_S)
    if worker.died and worker.attempt < ATTEMPTS:
        messages.say(f"worker {worker.number} died ({_how(worker)}): started once more")
        if not worker.again():
            messages.warning(f"not exact: worker {worker.number} printed otherwise the second time")
            return EXIT_INEXACT
    if printing:
        worker.pump()
    _pass_on(worker.err.read_bytes(), told)
    if worker.died:
        messages.warning(f"not exact: worker {worker.number} died again ({_how(worker)})")
        return EXIT_INEXACT
    return worker.process.returncode


def _how(worker: Worker) -> str:
    code = worker.process.returncode
    return f"signal {-code}" if code < 0 else f"exit code {code}"


def _pass_on(text: bytes, told: set[str]) -> None:
    """Standard error of a worker; what florc says itself comes once for all of them."""
    for line in text.decode("utf-8", "replace").splitlines(keepends=True):
        if line.startswith("florc: "):
            if line in told:
                continue
            told.add(line)
        sys.stderr.write(line)
    sys.stderr.flush()


def merge(summaries: list[dict[str, Any]]) -> dict[str, Any]:
    """One summary of all workers' ones."""
    if not summaries:
        return {}
    whole = json.loads(json.dumps(summaries[0]))
    for other in summaries[1:]:
        whole["exact"] = whole["exact"] and other["exact"]
        for mine, theirs in zip(whole["main_loops"], other["main_loops"], strict=True):
            mine["executed"] = sorted({*mine["executed"], *theirs["executed"]})
            mine["restored"] = sorted({*mine["restored"], *theirs["restored"]} - {*mine["executed"]})
        for mine, theirs in zip(whole["probes"], other["probes"], strict=True):
            mine["fired"] += theirs["fired"]
        for counts, theirs in [(whole[name], other[name]) for name in ("blocks", "bytes")] + [
            (whole["checks"][name], other["checks"][name]) for name in whole["checks"]
        ]:
            for name in counts:
                counts[name] += theirs[name]
        for name in whole["seconds"]:
            whole["seconds"][name] = max(whole["seconds"][name], other["seconds"][name])
        for name in ("problems", "causes", "notes", "refused"):
            whole[name] += [words for words in other[name] if words not in whole[name]]
        whole["started_again"] = whole["started_again"] or other["started_again"]
    return {**whole, "workers": len(summaries)}
