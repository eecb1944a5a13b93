"""Folders and files that nobody but the user may read, whatever the umask says.

A store holds what a training saw and computed, and code that a replay runs: others have no business in it.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

FOLDER_MODE, FILE_MODE = 0o700, 0o600


def make_folder(path: Path, exist_ok: bool = True) -> None:
    """Make a private folder, and those above it as usual; one that is there is left as it is."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.mkdir(path, FOLDER_MODE)
    except FileExistsError:
        if not (exist_ok and path.is_dir()):
            raise
        return
    os.chmod(path, FOLDER_MODE)  # an odd umask may have taken more than others' rights


def open_file(path: Path, flags: int) -> int:
    """A descriptor of a private file, made if it is not there. A link in its place is not followed."""
    fd = os.open(path, flags | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, FILE_MODE)
    if stat.S_IMODE(os.fstat(fd).st_mode) != FILE_MODE:
        os.fchmod(fd, FILE_MODE)
    return fd


def write(path: Path, data: bytes, sync: bool = False) -> None:
    """Write a private file aside and rename it: readers meet all of it or nothing."""
    aside = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        _fill(aside, data, sync)
        os.replace(aside, path)
    except OSError:
        with suppress(OSError):
            os.unlink(aside)  # half a file on a full disk is in everybody's way
        raise


def _fill(path: Path, data: bytes, sync: bool) -> None:
    fd = open_file(path, os.O_WRONLY | os.O_TRUNC)
    try:
        left = memoryview(data)
        while len(left):
            left = left[os.write(fd, left) :]
        if sync:
            os.fsync(fd)
    finally:
        os.close(fd)


def writers(path: Path) -> str:
    """Who else may change a folder: "" for nobody, "its group", "everybody".

    In a folder with the sticky bit others may add, but neither remove nor rename: that counts as a group's.
    """
    mode = os.stat(path).st_mode
    if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
        return "everybody"
    return "its group" if mode & (stat.S_IWGRP | stat.S_IWOTH) else ""
