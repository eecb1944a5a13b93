"""What one worker of a spread replay is told, and how a replay is cut into such shares.

A share travels in the environment of the very same command: the iterations to replay, which run and which
sources they are of (a file saved meanwhile, or a newer run, must not slip in between two workers), where the
summary goes, and whose end ends the worker.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from itertools import pairwise

from florc.plans.planning import running
from florc.runtime.lockstep import Edits
from florc.runtime.script import LoopRun, Script
from florc.runtime.window import Part, Window

from .partition import partition

VARIABLE = "FLORC_REPLAY_SHARE"
STEP_SECONDS = 1e-3  # for an iteration whose time the record does not have
_DIGEST_SIZE = 16  # bytes: no two states of a project meet by chance


@dataclass(frozen=True)
class Share:
    """What one worker replays, as it is handed over.

    Attributes:
        selected, part: its window; None and None for all.
        run: the run that is replayed, by its name.
        replay: the name of the replay, under which what added lines note is kept.
        inputs: `fingerprint` of the run and the sources, as the master has read them.
        summary: where the worker writes its summary; a worker that leaves none has died.
        parent: the process whose end ends the worker.
    """

    selected: dict[int, list[int]] | None
    part: Part | None
    run: str = ""
    replay: str = ""
    inputs: str = ""
    summary: str = ""
    parent: int = 0

    @classmethod
    def of(cls, window: Window, run: str, replay: str, inputs: str) -> Share:
        selected = window.selected
        chosen = None if selected is None else {loop: sorted(items) for loop, items in selected.items()}
        return cls(chosen, window.part, run, replay, inputs)

    def window(self, whole: Window) -> Window:
        """The worker's window on what all of them replay."""
        if self.selected is None:
            return replace(whole, part=self.part)
        return replace(
            whole, selected={loop: frozenset(chosen) for loop, chosen in self.selected.items()}
        )

    def words(self, script: Script) -> str:
        """Which iterations of which loop these are."""
        if self.part is not None:
            loop, last = self.part.loop, self.part.stop - 1
            return f"iterations {self.part.start} to {last} of {script.main_loops[loop].block}"
        if not self.selected:
            return "the whole run"
        return "; ".join(
            f"{len(items)} iterations from {items[0]} to {items[-1]} of {script.main_loops[loop].block}"
            for loop, items in self.selected.items()
        )

    def handed(self) -> str:
        return json.dumps(asdict(self))


def own() -> Share | None:
    """The share this process was given, if it is a worker. It stays in the environment."""
    text = os.environ.get(VARIABLE)
    if text is None:
        return None
    told = json.loads(text)
    selected, part = told["selected"], told["part"]
    told["selected"] = None if selected is None else {int(loop): chosen for loop, chosen in selected.items()}
    told["part"] = None if part is None else Part(**part)
    return Share(**told)


def forget() -> None:
    """Take the share out of the environment: the program and its processes are no workers."""
    os.environ.pop(VARIABLE, None)


def fingerprint(run: str, salt: str, sources: Mapping[str, bytes]) -> str:
    """One digest of the run and of the sources it is replayed with. Pure."""
    made = hashlib.blake2b(digest_size=_DIGEST_SIZE)
    parts = [run.encode(), salt.encode()]
    for name in sorted(sources):
        parts += [name.encode(errors="surrogateescape"), sources[name]]
    for part in parts:
        made.update(b"%d " % len(part) + part)
    return made.hexdigest()


def windows(script: Script, edits: Edits, whole: Window, count: int) -> list[Window]:
    """The windows of at most `count` workers; fewer than two where spreading gains nothing. Pure."""
    selected = whole.selected
    if script.others:
        return []  # text of other processes is in no record: it must come once, in its place
    wanted = {
        number: [
            i
            for i, one in enumerate(run.iterations)
            if edits.touch(one.hits) and (selected is None or i in selected.get(number, ()))
        ]
        for number, run in enumerate(script.main_loops)
    }
    number = max(wanted, key=lambda n: sum(_seconds(script.main_loops[n], edits, wanted[n])), default=None)
    if number is None or len(wanted[number]) < 2 or (selected is not None and len(selected) > 1):
        return []
    run, items = script.main_loops[number], wanted[number]
    costs = _seconds(run, edits, items)
    starts = partition(costs, [_start_up(run, item) for item in items], min(count, len(items)))
    if selected is not None:
        return _chosen(number, items, starts, sorted(selected[number]))
    edges = [0, *(items[place] for place in starts[1:]), len(run.iterations)]
    last = len(edges) - 2
    return [
        Window(None, Part(number, a, b, i == 0, i == last))
        for i, (a, b) in enumerate(pairwise(edges))
    ]


def _chosen(number: int, items: list[int], starts: list[int], every: list[int]) -> list[Window]:
    """The windows on iterations that --at has chosen."""
    edges = [every[0], *(items[place] for place in starts[1:]), every[-1] + 1]
    parts = [[i for i in every if a <= i < b] for a, b in pairwise(edges)]
    return [Window({number: frozenset(part)}) for part in parts]


def _seconds(run: LoopRun, edits: Edits, items: list[int]) -> list[float]:
    """What each of these iterations takes: all of it but the blocks that are put back."""
    every = [run.iterations[item] for item in items]
    back = [[block for block in one.blocks if block.ckpt and not edits.touch(block.hits)] for one in every]
    return [running(one, blocks) + STEP_SECONDS for one, blocks in zip(every, back, strict=True)]


def _start_up(run: LoopRun, item: int) -> float:
    """What it takes to come from the nearest checkpoint to this iteration."""
    start = item
    while start > 0 and run.iterations[start].ckpt is None:
        start -= 1
    way = run.iterations[start:item]
    return sum(running(one, [block for block in one.blocks if block.ckpt]) + STEP_SECONDS for one in way)
