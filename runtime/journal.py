r"""The journal of a run: what happened, in order, one JSON array a line.

    ["L", id, values, t]           a guarded loop is entered; plain values of the parameters around it; of
                                   main loops: seconds since the program began (neither where there is none)
    ["B", base]                    ... with its entry state kept as blob `base`
    ["I", i, values, ckpt, hits, s]
                                   iteration i of a main loop begins; plain values of names; checkpoint (three
                                   hashes or null); hits (see "H") and seconds of the iteration before
    ["C", n, ckpt]                 the checkpoint of event n, an "I" or "X", has been written
    ["X", outcome, s, ckpt, hits]  the innermost open loop is left: "end" or "return"; seconds; as above
    ["Z", id]                      an open loop was left by an exception (noticed at the next guard)
    ["H", n, regions]              hits n: {file: [region, ...]} that ran
    ["F", regions]                 parts of the program that have run in forked children by now
    ["w", fd, file, line, text, n] text written to stdout (1) or stderr (2) by the statement at file:line; n
                                   tells of line numbers in it: 0 none, 1 perhaps (warnings), or the text
                                   parted at them (logging)
    ["v", file, line, name, value, note, context]
                                   a value noted by `florc.log` at file:line; note: what it was, if value is
                                   but its text; context: columns and their values (see context.py)
    ["M", name, file, path, text]  a project module, before it executes; its source, one character a byte
    ["R", which, state]            where a generator stood when the program (or its library) began
    ["c", clock, value, who]       a reading of a clock, and the file or module that took it
    ["f", event]                   a file event (see files.py)
    ["o"]                          text was written here by others: loader workers, threads, subprocesses
    ["stop", why]                  recording stopped here, the program went on
    ["Q", id]                      from here on this loop is not followed: it takes next to nothing
    ["S"]                          from here on no iterations of the innermost open loop are noted
    ["D", n]                       tensors of the checkpoint of event n were backpropagated into
    ["A", keys]                    state was found in these library modules or classes; earlier states lack it
    ["n", words]                   a note: foreign output, what cannot be seen...
    ["E", exit code, interrupted, n, figures, hits, t]
                                   the program ended (interrupted: by Ctrl-C); n payloads were kept; what was
                                   kept and left out (see figures.py); hits since the last "I" or "X" and
                                   before all, null where others ran a part of it; seconds since it began
    =MAC checksum                  the end of a batch: keyed and plain hash of all events up to here
Events are written in batches as they happen, each with one write call, so a killed run keeps all of them.
The MAC (see seal.py) goes on from batch to batch: an event that was changed, left out or moved breaks its
batch and all that follow. What precedes is as it was written.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter  # the real one, whatever stands in `time` later
from typing import Any

import xxhash

from . import events as shapes
from .appending import Appender
from .seal import MAC_CHARS, Seal

NAME = "journal.jsonl"
BATCH_BYTES = 1 << 16  # structural events are gathered up to this size between two outputs
# After so many events of loops, those within so many seconds go to the disk together: each alone would cost
# its 40 us, and twice that where the program's data has pushed all code out of the processor's caches. A kill
# then loses that much of the way the run took.
SOON_AFTER, SOON_SECONDS = 100, 0.1
ITERATION_CHARS = 80  # of an iteration's event, about: it becomes text when it is written, with many others
GRACE_SECONDS = 0.25  # of writing that is not asked about: the first events are the most telling
CHECK_CHARS = 16  # of an xxh3-64: tells damage, where the key is not at hand


_encode = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


class JournalWriter:
    """Appends events. Output and checkpoints are written at once, what loops do soon, the rest with them.

    share: of the run's time that writing may take. On a slow disk, or where a program does hardly anything
    but print, events are held back so that it takes no more; a kill then loses those that are held.
    before: called ahead of each write, to write what the events name.
    """

    def __init__(
        self, folder: Path, seal: Seal, share: float = 1.0, before: Callable[[], None] = lambda: None
    ) -> None:
        self._before = before
        self._share, self._began, self._seconds = share, perf_counter(), 0.0
        self._flushed = 0.0  # when events went to the disk last
        self._soon = 0  # events that were to go there soon
        self._file = Appender(folder / NAME, os.O_EXCL)
        self._mac, self._check = seal.journal(), xxhash.xxh3_64()
        self._end = 0  # up to here all is whole
        self._pending: list[str | list[Any]] = []  # iterations' events as they are, all others as text
        self._size = 0
        self.count = 0

    def add(self, event: list[Any], now: bool = False, soon: bool = False) -> int:
        """Append an event; its sequence number.

        With `now`, it is on its way to the disk; with `soon`, it is unless many others went just before it.
        """
        if event and event[0] == "I":  # nobody changes it any more
            self._pending.append(event)
            self._size += ITERATION_CHARS
        else:
            line = _encode(event)
            self._pending.append(line)
            self._size += len(line)
        self.count += 1
        if now or soon or self._size > BATCH_BYTES:
            started = perf_counter()
            self._soon += soon
            soon = soon and (self._soon <= SOON_AFTER or started > self._flushed + SOON_SECONDS)
            if ((now or soon) and self._is_in_time(started)) or self._size > BATCH_BYTES:
                self.flush()
                self._flushed = perf_counter()
                self._seconds += self._flushed - started
        return self.count - 1

    def _is_in_time(self, moment: float) -> bool:
        return self._seconds < GRACE_SECONDS + self._share * (moment - self._began)

    def flush(self) -> None:
        """Write what is pending as one batch. OSError if that fails; the journal then ends before it."""
        if not self._pending:
            return
        lines = [event if type(event) is str else _encode(event) for event in self._pending]
        data = ("\n".join(lines) + "\n").encode("utf-8", "surrogatepass")
        self._pending.clear()
        self._size = 0
        self._before()
        mac, check = self._mac.copy(), self._check.copy()
        mac.update(data)
        check.update(data)
        self._write(data + f"={mac.hexdigest()} {check.hexdigest()}\n".encode("ascii"))
        self._mac, self._check = mac, check

    def _write(self, batch: bytes) -> None:
        try:
            self._file.write(batch)
        except OSError:
            self._file.truncate(self._end)  # half a batch would hide what comes after it
            raise
        self._end += len(batch)

    def sync(self) -> None:
        self.flush()
        self._file.sync()

    def close(self) -> None:
        self.flush()
        self._file.close()


@dataclass(frozen=True)
class Reading:
    """What a journal holds.

    Attributes:
        events: in order, up to the last batch that is as it was written.
        damage: in words, why there are no more, though there are more bytes; "" if a kill explains it.
        end: the byte behind the last of these batches.
        size: bytes of the file.
    """

    events: list[list[Any]] = field(default_factory=list)
    damage: str = ""
    end: int = 0
    size: int = 0


def read(folder: Path, seal: Seal | None) -> Reading:
    """Read a run's journal as far as it can be believed: no event of a damaged batch, nor any after it.

    seal: the run's; None: look at the plain checksums alone (of a run that is about to be imported).
    """
    try:
        data = (folder / NAME).read_bytes()
    except FileNotFoundError:
        return Reading(damage=f"{NAME} is missing")
    events: list[list[Any]] = []
    good = 0
    for start, end, stop in _batches(data, seal):
        if stop < 0:
            place = f"{NAME} is damaged between byte {good} and byte {end}"
            return Reading(events, place, good, len(data))
        try:
            found = [shapes.loads(line) for line in data[start:end].split(b"\n")[:-1]]
        except ValueError as error:
            why = f"{NAME} holds what is no event after byte {start}: {error}"
            return Reading(events, why, good, len(data))
        events += found
        good = stop
    return Reading(events, "", good, len(data))


def _batches(data: bytes, seal: Seal | None) -> Iterator[tuple[int, int, int]]:
    """(start, end, end of its closing line) of each batch; the last is -1 if its hash is not right."""
    mac = xxhash.xxh3_64() if seal is None else seal.journal()
    start = 0
    while True:
        close = data.find(b"\n=", start)
        end = data.find(b"\n", close + 1) if close >= 0 else -1
        if end < 0:
            return  # no batch, or one that was being written
        mac.update(data[start : close + 1])
        said = data[close + 2 : end]
        hashed = said[MAC_CHARS + 1 :] if seal is None else said[:MAC_CHARS]
        if hashed != mac.hexdigest().encode("ascii"):
            yield start, end, -1
            return
        yield start, close + 1, end + 1
        start = end + 1


def write_again(folder: Path, reading: Reading, seal: Seal) -> None:
    """Write the believed part of a journal anew, under another seal. The folder has none yet."""
    journal = JournalWriter(folder, seal)
    for event in reading.events:
        journal.add(event)
    journal.sync()
    journal.close()
