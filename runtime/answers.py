"""What replays of a run have noted by `florc.log` in added lines: a file of its own beside the record.

    ["r", replay, when, exact]     a replay that has rows here; exact: nothing in it differed from the record
    ["a", replay, at, file, line, name, value, note, context]
                                   a value: before event `at` of the journal, by the call at file:line of the
                                   edited program; value, note and context as in the journal's "v"
    =MAC checksum                  the end: keyed and plain hash of all lines before

Of several answers to one name in one place of the run, those of the newest replay stand; but an inexact
replay puts nothing in the place of what an exact one has found.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import xxhash

from . import description, private
from .events import is_answer, is_replay
from .plain import text
from .seal import MAC_CHARS, Seal
from .tally import NotedValue

NAME = "answers.jsonl"


@dataclass(frozen=True)
class Answer(NotedValue):
    """One value, and the replay that noted it."""

    replay: str

    @property
    def key(self) -> tuple[str, str]:
        """What it answers: a name, in one place of the run."""
        return self.name, text(self.context)


@dataclass(frozen=True)
class Replay:
    """One replay: its id, when it was (UTC, ISO 8601), and whether it was exact."""

    id: str
    when: str
    exact: bool


@dataclass(frozen=True)
class Answers:
    """What the file holds. damage: in words, why it is not believed."""

    replays: tuple[Replay, ...] = ()
    rows: tuple[Answer, ...] = ()
    damage: str = ""


def merged(old: Answers, replay: Replay, rows: list[Answer]) -> Answers:
    """The answers with those of one more replay (or of one more worker of a replay)."""
    before = {one.id: one for one in old.replays}
    known = before.get(replay.id)
    replay = Replay(replay.id, replay.when, replay.exact and (known is None or known.exact))
    kept_exact = set() if replay.exact else {row.key for row in old.rows if before[row.replay].exact}
    new = [row for row in rows if row.key not in kept_exact]
    answered = {row.key for row in new}
    kept = [row for row in old.rows if row.replay == replay.id or row.key not in answered]
    found = sorted([*kept, *new], key=lambda row: row.at)  # stable: as they came
    used = {row.replay for row in found}
    replays = {**before, replay.id: replay}
    return Answers(tuple(one for one in replays.values() if one.id in used), tuple(found))


def read(folder: Path, seal: Seal | None) -> Answers:
    """A run's answers; none where there is no file, and none of a damaged one.

    seal: the run's; None: look at the plain checksum alone (of a run that is about to be imported).
    """
    try:
        data = (folder / NAME).read_bytes()
    except FileNotFoundError:
        return Answers()
    place = data.rfind(b"=", 0, len(data)) if data.endswith(b"\n") else -1
    body, end = data[: max(place, 0)], data[max(place, 0) :].rstrip(b"\n")
    mac, check = end[1 : MAC_CHARS + 1], end[MAC_CHARS + 2 :]
    right = mac == seal.answers(body).encode() if seal else check == _check(body).encode()
    if place < 0 or not right:
        return Answers(damage=f"{NAME} is damaged: what replays have noted is lost; replay again")
    return _parsed(body)


def _parsed(body: bytes) -> Answers:
    try:
        events = [json.loads(line) for line in body.decode("utf-8", "surrogatepass").split("\n")[:-1]]
    except (ValueError, RecursionError):
        events = [[]]
    replays = [Replay(*event[1:4]) for event in events if is_replay(event)]
    rows = [_answer(*event[1:9]) for event in events if is_answer(event)]
    known = {one.id for one in replays}
    if len(replays) + len(rows) < len(events) or any(row.replay not in known for row in rows):
        return Answers(damage=f"{NAME} holds what is no answer")
    return Answers(tuple(replays), tuple(rows))


def _answer(replay: str, *noted: Any) -> Answer:
    at, file, line, name, value, note, where = noted
    return Answer(at, file, line, name, value, note, where, replay)


def write(folder: Path, seal: Seal, answers: Answers) -> None:
    """Write the file anew. OSError where that fails; what was there stays then."""
    events = [["r", one.id, one.when, one.exact] for one in answers.replays]
    events += [
        ["a", row.replay, row.at, row.file, row.line, row.name, row.value, row.note, row.context]
        for row in answers.rows
    ]
    lines = [json.dumps(event, separators=(",", ":")) + "\n" for event in events]
    body = "".join(lines).encode("utf-8", "surrogatepass")
    private.write(folder / NAME, body + f"={seal.answers(body)} {_check(body)}\n".encode("ascii"), sync=True)


def keep(folder: Path, seal: Seal, replay: Replay, rows: list[Answer]) -> None:
    """Add a replay's answers to a run's. Others that do so at the same time wait."""
    with _alone(folder):
        write(folder, seal, merged(read(folder, seal), replay, rows))


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    fd = os.open(folder / description.FILE, os.O_RDONLY | os.O_CLOEXEC)
    try:
        with suppress(OSError):  # no locks on this file system
            fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _check(body: bytes) -> str:
    return xxhash.xxh3_64_hexdigest(body)
