"""Turn the names a program uses into absolute real paths."""
from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

# a chain of links longer than this is a loop (Linux gives up at 40 as well)
MAX_LINKS = 40
# kernel and device trees: no user files there
SYSTEM = ("/dev/", "/proc/", "/sys/")
# florc's store under its default name, and Python's bytecode, which any run may rewrite
HOUSE = ("/.florc/", "/__pycache__/")

# taken before anybody replaces them
_readlink = os.readlink
_getcwd = os.getcwd


def nobodys(path: str) -> bool:
    """Whether florc never looks at this absolute path, whatever the run does."""
    if path.startswith(SYSTEM):
        return True
    return HOUSE[0] in path or HOUSE[1] in path or path.endswith("/.florc")


def read_link(path: str) -> str | None:
    """The text of a symbolic link, None for anything else."""
    try:
        return _readlink(path)
    except (OSError, ValueError):
        return None


def folder_of_descriptor(descriptor: int) -> str | None:
    """The path of an open folder, where the system can tell."""
    return read_link(f"/proc/self/fd/{descriptor}")


class RealPaths:
    """Resolve names, remembering folders (so that a name costs one look for a link).

    Args:
        link: reads a symbolic link, None for anything else; a replay gives its own.
        cwd: the current folder.
        base: what the user knows the folder of a descriptor as.
    """

    def __init__(self, link: Callable[[str], str | None] = read_link, cwd: Callable[[], str] = _getcwd,
                 base: Callable[[str], str] = str) -> None:
        self._link = link
        self._cwd = cwd
        self._base = base
        self._folders: dict[str, str] = {}
        self._inside: dict[str, bool] = {}

    def forget(self) -> None:
        """Drop what is remembered: call when a link or a folder was made, moved or removed."""
        self._folders.clear()
        self._inside.clear()

    def lies_inside(self, path: str, which: Callable[[str], bool]) -> bool:
        """Whether the folder that an absolute path names its last part in is one of those. Remembered.

        Args:
            which: about a real path of a folder, with a slash at its end; always the same function.
        """
        head, _, tail = path.rpartition("/")
        found = self._inside.get(head)
        if found is None:
            found = self._inside[head] = bool(head) and which(self._walk(head, MAX_LINKS) + "/")
        return found and tail not in ("", ".", "..")

    def resolve(self, name: Any, dir_fd: int | None = None, follow: bool = True) -> str:
        """The absolute real path of name; its last part is followed if it is a link, when follow is set.

        Raises TypeError or ValueError for what is no path, as os.fspath does.
        """
        text = os.fsdecode(name)
        if "\0" in text or not text:
            raise ValueError("not a path")
        if text[0] != "/":
            base = folder_of_descriptor(dir_fd) if dir_fd is not None and dir_fd >= 0 else None
            text = (self._base(base) if base else self._cwd()) + "/" + text
        head, _, tail = text.rpartition("/")
        if tail in ("", ".", ".."):
            return self._walk(text, MAX_LINKS)
        folder = self._folders.get(head)
        if folder is None:
            folder = self._folders[head] = self._walk(head, MAX_LINKS)
        path = folder + "/" + tail if folder != "/" else "/" + tail
        target = self._link(path) if follow else None
        return path if target is None else self._walk(path, MAX_LINKS)

    def _walk(self, path: str, links: int) -> str:
        real = ""
        for part in path.split("/"):
            if part in ("", "."):
                continue
            if part == "..":
                real = real.rpartition("/")[0]
                continue
            real += "/" + part
            target = self._link(real) if links else None
            if target is not None:
                base = "" if target[0] == "/" else real.rpartition("/")[0] + "/"
                real = self._walk(base + target, links - 1)
                real = "" if real == "/" else real
        return real or "/"
