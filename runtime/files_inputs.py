"""The files that a run reads and does not write: whether they are still what they were."""
from __future__ import annotations

import os
from collections.abc import Callable, Iterable

import xxhash

from .files_state import Event

# a look at both ends of a file costs little, and most edits of data show there or in the size
END_BYTES = 1 << 16
# data sets of many small files: the first ones are looked into, of the rest size and time must do
MAX_LOOKED_INTO = 1000
# settings of the system and its libraries, which change by themselves
SYSTEM = ("/etc/", "/usr/", "/var/", "/run/", "/opt/")

# taken before anybody replaces them
_open, _pread, _close, _stat = os.open, os.pread, os.close, os.stat


def fingerprint(path: str, size: int) -> str:
    """A hash of the first and last bytes of a file; "" if it cannot be read."""
    try:
        descriptor = _open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    except OSError:
        return ""
    try:
        ends = _pread(descriptor, END_BYTES, 0) + _pread(descriptor, END_BYTES, max(size - END_BYTES, 0))
    except OSError:
        return ""
    finally:
        _close(descriptor)
    return xxhash.xxh3_64_hexdigest(ends)


class Inputs:
    """The recorded inputs, and what has become of them.

    Args:
        events: the record's file events; "input" ones count.
        changed: told once of each file that is read and has changed.
    """

    def __init__(self, events: Iterable[Event], changed: Callable[[str], None]) -> None:
        self._recorded = {event[1]: event for event in events if event[0] == "input"}
        self._changed = changed
        self._seen: set[str] = set()

    def opened(self, path: str) -> None:
        """A file is about to be read."""
        if path in self._recorded and path not in self._seen:
            self._seen.add(path)
            words = self._verdict(path)
            if words:
                self._changed(words)

    def changes(self) -> list[str]:
        """What is no longer as it was, in words, read by this replay or not."""
        return [words for words in map(self._verdict, self._recorded) if words]

    def _verdict(self, path: str) -> str:
        """What has happened to a file, in words; "" if nothing that shows."""
        if path.startswith(SYSTEM):
            return ""
        _, _, size, mtime_ns, *looks = self._recorded[path]
        try:
            now = _stat(path)
        except OSError:
            return f"{path}, which the run read, is gone"
        if now.st_size != size:
            return f"{path}, which the run read, has changed since ({now.st_size} bytes, then {size})"
        if now.st_mtime_ns == mtime_ns:
            return ""
        if looks and looks[0]:
            if fingerprint(path, size) == looks[0]:
                return ""
            return f"{path}, which the run read, has changed since (it still has {size} bytes)"
        return f"{path}, which the run read, was written since"
