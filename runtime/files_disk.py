"""The few disk operations the view needs, on Python's own functions (taken before anybody replaces them)."""
from __future__ import annotations

import io
import os
import stat

open_ = io.open
getcwd = os.getcwd
listdir = os.listdir
symlink = os.symlink
_lstat, _stat, _mkdir, _unlink, _rmdir = os.lstat, os.stat, os.mkdir, os.unlink, os.rmdir
_replace, _truncate, _utime, _scandir = os.replace, os.truncate, os.utime, os.scandir

# bytes copied at a time
CHUNK = 1 << 20


def kind(path: str) -> str:
    """What is at path: "dir", "link", "file" (anything else), or "" for nothing."""
    try:
        mode = _lstat(path).st_mode
    except OSError:
        return ""
    return "dir" if stat.S_ISDIR(mode) else "link" if stat.S_ISLNK(mode) else "file"


def stamp(path: str) -> tuple[int, int] | None:
    """Size and time of change of a file, None if there is none."""
    try:
        status = _stat(path)
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns


def mkdirs(path: str) -> None:
    """Make a folder and those above it."""
    if path and kind(path) == "":
        mkdirs(path.rpartition("/")[0])
        try:
            _mkdir(path)
        except FileExistsError:
            pass


def write(path: str, contents: bytes) -> None:
    """Write a whole file, with its folders; readers never see half of it."""
    mkdirs(path.rpartition("/")[0])
    aside = f"{path}.{os.getpid()}"
    with open_(aside, "wb") as file:
        file.write(contents)
    _replace(aside, path)


def utime(path: str, mtime_ns: int) -> None:
    """Set the time of change."""
    _utime(path, ns=(mtime_ns, mtime_ns))


def copy(source: str, target: str) -> None:
    """Copy a file's contents."""
    with open_(source, "rb") as old, open_(target, "wb") as new:
        while chunk := old.read(CHUNK):
            new.write(chunk)


def sparse(path: str, size: int) -> None:
    """Make a file of this size without contents."""
    with open_(path, "wb"):
        pass
    _truncate(path, size)


def discard(path: str) -> None:
    """Remove a file, a link, or a folder with all in it; nothing happens if nothing is there."""
    there = kind(path)
    if there == "dir":
        for name in listdir(path):
            discard(path + "/" + name)
        _rmdir(path)
    elif there:
        _unlink(path)


def move(source: str, target: str) -> None:
    """Move a file or folder, in place of what is at target."""
    discard(target)
    _replace(source, target)
