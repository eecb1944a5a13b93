r"""The journal of a run: what happened, in order, one JSON array a line.

    ["L", id]                      a guarded loop is entered
    ["B", base]                    ... with its entry state kept as blob `base`
    ["I", i, values, ckpt, hits]   iteration i of a main loop begins; plain values of names; checkpoint (three
                                   hashes or null); hits of the iteration before (see "H")
    ["X", outcome, s, ckpt, hits]  the innermost open loop is left: "end" or "return"; seconds; as above
    ["Z", id]                      an open loop was left by an exception (noticed at the next guard)
    ["H", n, regions]              hits n: {file: [region, ...]} that ran
    ["w", fd, file, line, text, n] text written to stdout (1) or stderr (2) by the statement at file:line; n
                                   tells of line numbers in it: 0 none, 1 perhaps (warnings), or the text
                                   parted at them (logging)
    ["M", name, file, path, text]  a project module, before it executes; its source, one character a byte
    ["R", which, state]            where a generator stood when the program (or its library) began
    ["c", clock, value, who]       a reading of a clock, and the file or module that took it
    ["f", event]                   a file event (see files.py)
    ["o"]                          text was written here by others: loader workers, threads, subprocesses
    ["stop", why]                  recording stopped here, the program went on
    ["Q", id]                      from here on this loop is not followed: it takes next to nothing
    ["S"]                          from here on no iterations of the innermost open loop are noted
    ["D", id, where]               tensors at this loop's "exit" or "iteration" were backpropagated into
    ["n", words]                   a note: foreign output, what cannot be seen...
    ["E", exit code, interrupted]  the program ended (interrupted: by Ctrl-C)
Lines are written as they happen, each with one write call, so a killed run keeps all of them.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

NAME = "journal.jsonl"
BATCH_BYTES = 1 << 16  # structural events are gathered up to this size between two outputs


class JournalWriter:
    """Appends events. Output and checkpoints are written at once, the rest with them."""

    def __init__(self, folder: Path) -> None:
        self._fd = os.open(folder / NAME, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._pending: list[str] = []
        self._size = 0
        self.count = 0

    def add(self, event: list[Any], now: bool = False) -> int:
        """Append an event; its sequence number. With `now`, it is on its way to the disk."""
        line = json.dumps(event, separators=(",", ":"), check_circular=False)
        self._pending.append(line)
        self._size += len(line)
        self.count += 1
        if now or self._size > BATCH_BYTES:
            self.flush()
        return self.count - 1

    def flush(self) -> None:
        if self._pending:
            data = memoryview(("\n".join(self._pending) + "\n").encode("utf-8", "surrogatepass"))
            self._pending.clear()
            self._size = 0
            while len(data):
                data = data[os.write(self._fd, data) :]

    def sync(self) -> None:
        self.flush()
        os.fsync(self._fd)

    def close(self) -> None:
        self.flush()
        os.close(self._fd)


def read(folder: Path) -> list[list[Any]]:
    """Every complete event of a run, in order; a torn last line is left out."""
    try:
        lines = (folder / NAME).read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    events = []
    for line in lines[:-1]:
        try:
            events.append(json.loads(line.decode("utf-8", "surrogatepass")))
        except ValueError:
            break  # what follows a damaged line cannot be placed
    return events
