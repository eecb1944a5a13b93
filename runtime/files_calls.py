"""Stand-ins for Python's file functions in a replay: each asks the view, then calls the original.

A stand-in has the signature of what it stands for, and exceptions carry the name the program gave.
"""
from __future__ import annotations

import errno
import functools
import io
import os
import sqlite3
import weakref
from collections.abc import Callable
from typing import Any

from . import files_disk as disk
from .files_listing import Scan, scan
from .files_paths import folder_of_descriptor
from .files_view import View, error
from .signals import calm

# letters of a mode -> flags of os.open, for the one of them that a mode must have
FLAGS = {"w": os.O_CREAT | os.O_TRUNC, "x": os.O_CREAT | os.O_EXCL, "a": os.O_CREAT | os.O_APPEND, "r": 0}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_TRUNC


class Calls:
    """All stand-ins, over one view. Methods named as what they stand for."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._raw: dict[str, Any] = {name: getattr(os, name) for name in OS_NAMES if hasattr(os, name)}
        self._raw.update(io_open=io.open, sqlite=sqlite3_connect(), getsize=os.path.getsize)
        self._away = False                    # the current folder is in the overlay
        self.active = True                    # False: whoever still holds a stand-in gets the original

    # -- help for all --------------------------------------------------------------------------------

    def _place(self, name: Any, dir_fd: int | None = None, follow: bool = True) -> str | None:
        """The path, if the view has anything to say about it or the name means another one to Python."""
        if isinstance(name, int):
            return None
        path = self._view.place(name, dir_fd, follow)
        known = path is not None and (self._away or path in self._view.detours or self._view.is_touched(path))
        return path if known else None

    def _real(self, name: Any, path: str | None) -> Any:
        """A name for the original function: as given, unless it means something else on disk than here."""
        return path if path is not None and (self._away or path in self._view.detours) else name

    def _call(self, function: Callable[..., Any], name: Any, target: Any, *args: Any, **kwargs: Any) -> Any:
        """Call an original on target; its exceptions speak of name."""
        try:
            return function(target, *args, **kwargs)
        except OSError as failure:
            if failure.filename is not None:
                failure.filename = name if isinstance(name, int) else os.fspath(name)
            raise

    def _ask(self, name: Any, question: Callable[..., Any], *args: Any) -> Any:
        """Ask the view; its exceptions speak of name too."""
        return self._call(lambda _: question(*args), name, None)

    # -- opening -------------------------------------------------------------------------------------

    def open(self, file: Any, mode: str = "r", buffering: int = -1, encoding: str | None = None,
             errors: str | None = None, newline: str | None = None, closefd: bool = True,
             opener: Any = None) -> Any:
        """Stand for builtins.open."""
        rest = (mode, buffering, encoding, errors, newline, closefd, opener)
        flags = mode_flags(mode)
        if flags is None or opener is not None or isinstance(file, int):
            return self._raw["io_open"](file, *rest)
        path = self._view.creating(self._view.place(file)) if flags & WRITING else self._place(file)
        if path is None:
            return self._raw["io_open"](file, *rest)
        if not flags & WRITING:
            target = self._ask(file, self._view.for_reading, path)
        else:
            target = self._ask(file, self._view.for_writing, path, flags)
        if target is None:
            return self._raw["io_open"](self._real(file, path), *rest)
        opened = self._call(self._raw["io_open"], file, target, *rest)
        give_name(opened, os.fspath(file))
        if flags & WRITING:
            reference = weakref.ref(opened)
            self._view.opened(path, flags, lambda: is_open(reference()))
        return opened

    def os_open(self, path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        """Stand for os.open."""
        real = self._raw["open"]
        writing = flags & WRITING
        place = self._view.creating(self._view.place(path, dir_fd)) if writing else self._place(path, dir_fd)
        if place is None or isinstance(path, int):
            return int(real(path, flags, mode, dir_fd=dir_fd))
        if not flags & WRITING:
            target = self._ask(path, self._view.for_reading, place)
        else:
            target = self._ask(path, self._view.for_writing, place, flags)
        if target is None:
            return int(real(self._real(path, place), flags, mode, dir_fd=dir_fd))
        descriptor = int(self._call(real, path, target, flags, mode))
        if flags & WRITING:
            inode = os.fstat(descriptor).st_ino
            self._view.opened(place, flags, lambda: has_inode(descriptor, inode))
        return descriptor

    def sqlite_connect(self, database: Any, *args: Any, **kwargs: Any) -> Any:
        """Stand for sqlite3.connect: a database of the program's lies in the overlay."""
        real = self._raw["sqlite"]
        named = isinstance(database, str | bytes | os.PathLike)
        if not named or os.fsdecode(database).startswith((":memory:", "file:")):
            return real(database, *args, **kwargs)
        path = self._view.place(database)
        target = None if path is None else self._view.for_writing(path, os.O_WRONLY | os.O_CREAT)
        if path is None or target is None:
            return real(self._real(database, path), *args, **kwargs)
        if path in self._view.ledger.opaque:
            self._view.report(f"{path} is a database: what skipped parts wrote to it is missing.")
        connection = real(target, *args, **kwargs)
        self._view.opened(path, os.O_WRONLY | os.O_CREAT, None)
        return connection

    # -- asking --------------------------------------------------------------------------------------

    def stat(self, path: Any, *, dir_fd: int | None = None, follow_symlinks: bool = True) -> os.stat_result:
        """Stand for os.stat."""
        place = self._place(path, dir_fd, follow_symlinks)
        target = None if place is None else self._ask(path, self._view.for_stat, place)
        if target is None:
            return self._raw["stat"](self._real(path, place), dir_fd=dir_fd,  # type: ignore[no-any-return]
                                     follow_symlinks=follow_symlinks)
        return self._call(self._raw["stat"], path, target,  # type: ignore[no-any-return]
                          follow_symlinks=follow_symlinks)

    def lstat(self, path: Any, *, dir_fd: int | None = None) -> os.stat_result:
        """Stand for os.lstat."""
        if dir_fd is None and not self._away and self._view.is_outside(path):
            return self._raw["lstat"](path)  # type: ignore[no-any-return]
        place = self._place(path, dir_fd, False)
        target = None if place is None else self._ask(path, self._view.for_stat, place)
        if target is None:
            return self._raw["lstat"](self._real(path, place), dir_fd=dir_fd)  # type: ignore[no-any-return]
        return self._call(self._raw["lstat"], path, target)  # type: ignore[no-any-return]

    def access(self, path: Any, mode: int, *, dir_fd: int | None = None, effective_ids: bool = False,
               follow_symlinks: bool = True) -> bool:
        """Stand for os.access."""
        rest = {"effective_ids": effective_ids, "follow_symlinks": follow_symlinks}
        place = self._place(path, dir_fd, follow_symlinks)
        try:
            target = None if place is None else self._view.for_stat(place)
        except OSError:
            return False
        if target is None:
            return bool(self._raw["access"](self._real(path, place), mode, dir_fd=dir_fd, **rest))
        return bool(self._raw["access"](target, mode, **rest))

    def getsize(self, filename: Any) -> int:
        """Stand for os.path.getsize, to say so when the recorded size cannot be known."""
        place = self._place(filename)
        if place is not None and not self._view.size_known(place):
            self._view.report(f"the size of {place} is not known: it was written in a part that was skipped.")
        return self.stat(filename).st_size

    def readlink(self, path: Any, *, dir_fd: int | None = None) -> Any:
        """Stand for os.readlink."""
        place = self._place(path, dir_fd, False)
        node = None if place is None else self._view.node(place)
        if place is not None and node is not None and node.kind == "link":
            return os.fsencode(node.target) if isinstance(path, bytes) else node.target
        if place is not None and node is not None:
            self._ask(path, self._view.for_stat, place)      # says what is wrong, if nothing is there
            raise error(errno.EINVAL, os.fspath(path))
        return self._raw["readlink"](self._real(path, place), dir_fd=dir_fd)

    def _folder(self, given: Any) -> tuple[str | None, Any]:
        if isinstance(given, int):
            below = folder_of_descriptor(given)
            return (None if below is None else self._place(self._view.user_path(below))), given
        given = "." if given is None else given
        return self._place(given), given

    def listdir(self, path: Any = None) -> list[Any]:
        """Stand for os.listdir."""
        place, given = self._folder(path)
        if place is None:
            return self._raw["listdir"](self._outside(path))  # type: ignore[no-any-return]
        names: list[str] = self._ask(given, self._view.names, place)
        return [os.fsencode(name) for name in names] if isinstance(path, bytes) else names

    def scandir(self, path: Any = None) -> Any:
        """Stand for os.scandir."""
        place, given = self._folder(path)
        if place is None:
            return self._raw["scandir"](self._outside(path))
        self._ask(given, self._view.names, place)
        entries: list[Any] = []
        if disk.kind(place) == "dir":
            with self._raw["scandir"](given if isinstance(given, int) else self._real(given, place)) as real:
                entries = list(real)
        return self._listed(given, place, entries)

    def _listed(self, given: Any, place: str, entries: list[Any]) -> Scan:
        return scan(self._view, given, place, entries)

    def _outside(self, path: Any) -> Any:
        if isinstance(path, int):
            return path
        return self._real(path, self._view.place("." if path is None else path))

    def chdir(self, path: Any) -> None:
        """Stand for os.chdir."""
        place = None if isinstance(path, int) else self._view.place(path)
        if place is None or not (self._view.is_touched(place) or self._away):
            self._raw["chdir"](path)
            self._away = disk.getcwd() != self._view.cwd()
            return
        if self._view.kind(place) != "dir":
            self._ask(path, self._view.names, place)
        self._raw["chdir"](self._view.folder(place))
        self._away = disk.getcwd() != self._view.cwd()

    def getcwd(self) -> str:
        """Stand for os.getcwd."""
        return self._view.cwd()

    def getcwdb(self) -> bytes:
        """Stand for os.getcwdb."""
        return os.fsencode(self._view.cwd())

    def getxattr(self, path: Any, *args: Any, **kwargs: Any) -> Any:
        """Stand for os.getxattr."""
        return self._asking("getxattr", path, *args, **kwargs)

    def listxattr(self, path: Any = None, **kwargs: Any) -> Any:
        """Stand for os.listxattr."""
        return self._asking("listxattr", "." if path is None else path, **kwargs)

    def _asking(self, function: str, path: Any, *args: Any, **kwargs: Any) -> Any:
        place = self._place(path, None, kwargs.get("follow_symlinks", True))
        target = None if place is None else self._ask(path, self._view.for_stat, place)
        return self._call(self._raw[function], path, self._real(path, place) if target is None else target,
                          *args, **kwargs)

    # -- changing ------------------------------------------------------------------------------------

    def mkdir(self, path: Any, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        """Stand for os.mkdir."""
        place = self._view.creating(self._view.place(path, dir_fd, False))
        if self._view.writes_real(place):
            self._raw["mkdir"](self._real(path, place), mode, dir_fd=dir_fd)
        else:
            self._ask(path, self._view.make_dir, place)

    def remove(self, path: Any, *, dir_fd: int | None = None) -> None:
        """Stand for os.remove."""
        self._removing("remove", path, dir_fd, folder=False)

    def unlink(self, path: Any, *, dir_fd: int | None = None) -> None:
        """Stand for os.unlink."""
        self._removing("unlink", path, dir_fd, folder=False)

    def rmdir(self, path: Any, *, dir_fd: int | None = None) -> None:
        """Stand for os.rmdir."""
        self._removing("rmdir", path, dir_fd, folder=True)

    def _removing(self, function: str, path: Any, dir_fd: int | None, folder: bool) -> None:
        place = self._view.place(path, dir_fd, False)
        if self._view.writes_real(place):
            self._raw[function](self._real(path, place), dir_fd=dir_fd)
        else:
            self._ask(path, self._view.remove, place, folder)

    def rename(self, src: Any, dst: Any, *, src_dir_fd: int | None = None,
               dst_dir_fd: int | None = None) -> None:
        """Stand for os.rename."""
        self._renaming("rename", src, dst, src_dir_fd, dst_dir_fd)

    def replace(self, src: Any, dst: Any, *, src_dir_fd: int | None = None,
                dst_dir_fd: int | None = None) -> None:
        """Stand for os.replace."""
        self._renaming("replace", src, dst, src_dir_fd, dst_dir_fd)

    def _renaming(self, function: str, src: Any, dst: Any, src_fd: int | None, dst_fd: int | None) -> None:
        source = self._view.place(src, src_fd, False)
        target = self._view.creating(self._view.place(dst, dst_fd, False))
        from_real, to_real = self._view.writes_real(source), self._view.writes_real(target)
        if from_real and to_real:
            self._raw[function](self._real(src, source), self._real(dst, target),
                                src_dir_fd=src_fd, dst_dir_fd=dst_fd)
        elif source is None or target is None:
            raise error(errno.EXDEV, os.fspath(src))    # florc's store and user files: as two disks
        else:
            self._ask(src, self._view.rename, source, target)
            if from_real:                         # the view has taken a copy
                self._raw["unlink"](source)

    def symlink(self, src: Any, dst: Any, target_is_directory: bool = False, *,
                dir_fd: int | None = None) -> None:
        """Stand for os.symlink."""
        place = self._view.creating(self._view.place(dst, dir_fd, False))
        if self._view.writes_real(place):
            self._raw["symlink"](src, self._real(dst, place), target_is_directory, dir_fd=dir_fd)
        else:
            self._ask(dst, self._view.symlink, os.fsdecode(src), place)

    def link(self, src: Any, dst: Any, *, src_dir_fd: int | None = None,
             dst_dir_fd: int | None = None, follow_symlinks: bool = True) -> None:
        """Stand for os.link."""
        source, target = self._view.place(src, src_dir_fd), self._view.place(dst, dst_dir_fd, False)
        if source is None or self._view.writes_real(target):
            self._raw["link"](src, self._real(dst, target), src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd,
                              follow_symlinks=follow_symlinks)
        else:
            self._ask(src, self._view.link, source, target)

    def truncate(self, path: Any, length: int) -> None:
        """Stand for os.truncate."""
        place = self._view.place(path)
        target = None if place is None else self._ask(path, self._view.for_writing, place, os.O_RDWR)
        if place is None or target is None:
            self._raw["truncate"](self._real(path, place), length)
            return
        self._call(self._raw["truncate"], path, target, length)
        self._view.opened(place, os.O_RDWR, None)


# change mode, owner or times: nothing a replay needs, unless the file is its own
ATTRIBUTES = ("chmod", "lchmod", "chown", "lchown", "utime", "setxattr", "removexattr")
OS_NAMES = (*ATTRIBUTES, "open", "stat", "lstat", "access", "readlink", "listdir", "scandir", "chdir",
            "getcwd", "getcwdb", "getxattr", "listxattr", "mkdir", "remove", "unlink", "rmdir", "rename",
            "replace", "symlink", "link", "truncate")


def attribute_call(calls: Calls, view: View, name: str, original: Any) -> Any:
    """A stand-in for one of ATTRIBUTES."""

    def call(path: Any, *args: Any, **kwargs: Any) -> Any:
        follow = kwargs.get("follow_symlinks", True) and name not in ("lchmod", "lchown")
        place = view.place(path, kwargs.get("dir_fd"), follow)
        if view.writes_real(place):
            return original(calls._real(path, place), *args, **kwargs)
        assert place is not None
        target = calls._ask(path, view.to_change, place)
        if target is not None:
            kwargs.pop("dir_fd", None)
            calls._call(original, path, target, *args, **kwargs)
        return None

    return call


def stand_ins(calls: Calls, view: View) -> dict[str, Callable[..., Any]]:
    """Each name of the os module with its stand-in, plus "io.open", "sqlite3.connect" and "getsize"."""
    made: dict[str, Callable[..., Any]] = {}
    for name, original in calls._raw.items():
        if name in ATTRIBUTES:
            made[name] = disguised(calls, attribute_call(calls, view, name, original), original, "os")
        elif name == "io_open":
            made["io.open"] = disguised(calls, calls.open, original, "io")
        elif name == "sqlite":
            made["sqlite3.connect"] = disguised(calls, calls.sqlite_connect, original, "sqlite3")
        elif name == "getsize":
            made["getsize"] = disguised(calls, calls.getsize, original, original.__module__)
        else:
            stand_in = getattr(calls, "os_open" if name == "open" else name)
            made[name] = disguised(calls, stand_in, original, "os")
    return made


def disguised(calls: Calls, stand_in: Any, original: Any, module: str) -> Any:
    """A plain function that looks like the original and pickles by its public name."""

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not calls.active:
            return original(*args, **kwargs)
        with calm:
            return stand_in(*args, **kwargs)

    call.__module__ = module
    return call


def sqlite3_connect() -> Any:
    """Python's sqlite3.connect."""
    return sqlite3.connect


def mode_flags(mode: Any) -> int | None:
    """The flags of os.open that a mode means; None for a mode that open() refuses."""
    if not isinstance(mode, str) or set(mode) - set("rwxabt+") or len(set(mode)) != len(mode):
        return None
    kinds = set(mode) & set("rwxa")
    if len(kinds) != 1 or {"b", "t"} <= set(mode):
        return None
    kind = kinds.pop()
    writing = os.O_RDWR if "+" in mode else 0 if kind == "r" else os.O_WRONLY
    return FLAGS[kind] | writing


def give_name(opened: Any, name: Any) -> None:
    """Make an open file's name what the program called it."""
    raw = getattr(opened, "buffer", opened)
    raw = getattr(raw, "raw", raw)
    try:
        raw.name = name
    except AttributeError:
        pass


def is_open(opened: Any) -> bool:
    """Whether a file object (None: gone) is still open."""
    return opened is not None and not opened.closed


def has_inode(descriptor: int, inode: int) -> bool:
    """Whether a descriptor still means the file it was opened for."""
    try:
        return os.fstat(descriptor).st_ino == inode
    except OSError:
        return False
