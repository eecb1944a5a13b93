"""Folders as the replay sees them: what os.scandir gives, with the overlay's files in it."""
from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from .files_view import View, missing

_lstat, _stat, _fspath = os.lstat, os.stat, os.fspath


class Entry:
    """An os.DirEntry of a path that the view knows more about than the disk.

    Args:
        name, path: as scandir gives them (bytes for a bytes folder).
        real: the user's absolute path.
    """

    def __init__(self, view: View, name: Any, path: Any, real: str) -> None:
        self.name = name
        self.path = path
        self._view = view
        self._real = real

    def __fspath__(self) -> Any:
        return self.path

    def __repr__(self) -> str:
        return f"<DirEntry {self.name!r}>"

    def _target(self, follow: bool) -> str:
        if not follow or not self.is_symlink():
            return self._real
        return self._view.place(self._real) or self._real

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        """Whether it is a folder."""
        return self._view.kind(self._target(follow_symlinks)) == "dir"

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        """Whether it is a file."""
        return self._view.kind(self._target(follow_symlinks)) == "file"

    def is_symlink(self) -> bool:
        """Whether it is a symbolic link."""
        return self._view.kind(self._real) == "link"

    def is_junction(self) -> bool:
        """Whether it is a junction: never, outside Windows."""
        return False

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        """Its status."""
        path = self._target(follow_symlinks)
        if self._view.kind(path) == "":
            raise missing(path)
        return (_stat if follow_symlinks else _lstat)(self._view.for_stat(path) or path)

    def inode(self) -> int:
        """Its inode."""
        return self.stat(follow_symlinks=False).st_ino


class Scan:
    """What os.scandir returns: an iterator that can be closed and used in a with statement."""

    def __init__(self, entries: list[Any]) -> None:
        self._entries: Iterator[Any] = iter(entries)

    def __iter__(self) -> Scan:
        return self

    def __next__(self) -> Any:
        return next(self._entries)

    def close(self) -> None:
        """End the iteration."""
        self._entries = iter(())

    def __enter__(self) -> Scan:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def scan(view: View, given: Any, path: str, real_entries: list[Any]) -> Scan:
    """The entries of the folder at path.

    Args:
        given: the folder as the program named it.
        real_entries: those the disk has; the ones the view says nothing about are passed on.
    """
    base = given if isinstance(given, int) else _fspath(given)
    prefix = path if path != "/" else ""
    by_name = {os.fsdecode(entry.name): entry for entry in real_entries}
    entries = []
    for name in view.names(path):
        real = f"{prefix}/{name}"
        if name in by_name and view.node(real) is None:
            entries.append(by_name[name])
            continue
        shown = os.fsencode(name) if isinstance(base, bytes) else name
        shown_path = shown if isinstance(base, int) else os.path.join(base, shown)
        entries.append(Entry(view, shown, shown_path, real))
    return Scan(entries)
