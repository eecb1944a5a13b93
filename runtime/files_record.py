"""Note what a run does to files, so that a replay can see them as the run did."""
from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from . import files_audit, files_foreign
from .errors import StoreError
from .files_inputs import MAX_LOOKED_INTO, fingerprint
from .files_paths import RealPaths, nobodys
from .patches import Patches
from .signals import calm

Event = tuple[Any, ...]

# flags of os.open that can change a file or make one
WRITING = os.O_WRONLY | os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_TRUNC
CREATE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
# code is kept elsewhere, and an import must not cost more
CODE = (".py", ".pyc", ".so")
# a data set of single images may hold millions of files: after this many, further inputs go unnoted
MAX_INPUTS = 10_000
# entries of a folder from before the run that are kept when the run renames it: results of an earlier run
MAX_MOVED = 1000
# all contents kept of one run, in bytes: a run that rereads a growing file each epoch must not fill the disk
MAX_KEPT = 1 << 30


class FileRecorder:
    """Emit an event for each file operation of the program. Calls: install(), patch_torch(...), uninstall().

    Only the main thread of the process that installed it emits; forked children and other threads are let
    be. An operation that is going to fail (no such folder, exists already) emits nothing.

    Args:
        emit: takes an event (see files.py).
        keep: stores contents, returns their key.
        ignore: whether an absolute path is not the user's (site-packages, the store).
        limit: largest contents kept, in bytes.
        fail: told of what should not happen (no memory): an event is missing then.
    """

    def __init__(self, emit: Callable[[Event], None], keep: Callable[[bytes], str],
                 ignore: Callable[[str], bool], limit: int,
                 fail: Callable[[Exception], None] = lambda error: None) -> None:
        self._emit = emit
        self._keep = keep
        self._ignore = ignore
        self._limit = limit
        self._fail = fail
        self._kept = 0
        self._paths = RealPaths()
        self._ignored: dict[str, bool] = {}
        self._known: set[Any] = set()          # names as given whose reading needs no further look
        self._inputs: set[str] = set()
        self._priors: set[str] = set()
        self._versions: dict[str, int] = {}    # path -> how often the run has opened it for writing
        self._opaque: set[str] = set()
        self._foreign = ""                     # what a writer outside Python is writing just now
        self._busy = False
        self._patches = Patches()
        self._handlers = {event: partial(self._guarded, handler) for event, handler in self._events()}

    def _events(self) -> list[tuple[str, Callable[..., None]]]:
        return [("open", self._open), ("os.mkdir", self._mkdir), ("os.remove", self._remove),
                ("os.rmdir", self._rmdir), ("os.rename", self._rename), ("os.symlink", self._symlink),
                ("os.link", self._link), ("os.truncate", self._truncate), ("sqlite3.connect", self._sqlite),
                ("os.chdir", self._chdir)]

    def install(self) -> None:
        """Begin to listen. The calling thread is the one that is heard."""
        self._process, self._thread = os.getpid(), threading.get_ident()
        files_audit.listen(self._handlers)

    def uninstall(self) -> None:
        """Say what the run left, stop listening, and put every replaced function back."""
        if files_audit.hears(self._handlers) and self._is_mine():
            self._finish()
        files_audit.silence(self._handlers)
        self._patches.undo()

    def patch_torch(self, torch_module: Any) -> None:
        """Wrap torch's own writers; call once torch is imported."""
        self.patch_module(torch_module)

    def patch_module(self, module: Any) -> None:
        """Wrap the writers of a library that do not go through Python's open, if it is one we know."""
        files_foreign.patch(self._patches, module, self._writer, None)

    def _writer(self, original: Callable[..., Any], name: Any, call: Callable[[Any], Any]) -> Any:
        try:
            path = self._paths.resolve(name)
        except (TypeError, ValueError):
            return call(name)
        self._handlers["open"]((name, None, CREATE))
        outer, self._foreign = self._foreign, path
        try:
            return call(name)
        finally:
            self._foreign = outer

    # -- how each operation is noted; args are those of Python's audit events --------------------------

    def _guarded(self, handler: Callable[..., None], args: tuple[Any, ...]) -> None:
        if self._busy or threading.get_ident() != self._thread or os.getpid() != self._process:
            return
        with calm:
            self._busy = True
            try:
                handler(*args)
            except (OSError, TypeError, ValueError, StoreError):
                pass  # whatever is odd about a path, the user's operation goes on
            except Exception as error:
                self._fail(error)
            finally:
                self._busy = False

    def _is_mine(self) -> bool:
        return threading.get_ident() == self._thread and os.getpid() == self._process

    def _open(self, name: Any, mode: str | None, flags: int) -> None:
        if isinstance(name, int):
            return
        if flags & WRITING or (not flags and mode and not set("wax+").isdisjoint(mode)):
            self._write(self._paths.resolve(name), flags or CREATE)
        elif name not in self._known and not (isinstance(name, str) and name.endswith(CODE)):
            self._read(name, self._paths.resolve(name))

    def _write(self, path: str, flags: int) -> None:
        if path == self._foreign or self._is_ignored(path):
            return
        there = _look(path)
        if not _can_write(path, there, flags):
            return
        self._prior(path, there)
        stays = there is not None and not flags & os.O_TRUNC
        if stays and flags & os.O_RDWR:
            self._contents(path)               # an update reads what is there
        self._versions[path] = self._versions.get(path, 0) + 1
        self._emit(("write", path, self._versions[path], there.st_size if there and stays else 0))

    def _read(self, name: Any, path: str) -> None:
        if path in self._versions:
            self._contents(path)
            return
        if path not in self._inputs and not self._is_ignored(path):
            there = _look(path)
            if there is None or not stat.S_ISREG(there.st_mode):
                return
            if len(self._inputs) < MAX_INPUTS:
                self._inputs.add(path)
                look = fingerprint(path, there.st_size) if len(self._inputs) <= MAX_LOOKED_INTO else ""
                self._emit(("input", path, there.st_size, there.st_mtime_ns, look))
        if len(self._known) < MAX_INPUTS:
            self._known.add(name)

    def _contents(self, path: str) -> None:
        """Keep what is at a path that the run is about to read and has written before."""
        there = _look(path)
        if path in self._versions and there is not None and stat.S_ISREG(there.st_mode):
            key, why = self._keep_file(path, there)
            self._emit(("read", path, self._versions[path], key, why, there.st_size, there.st_mtime_ns))

    def _mkdir(self, name: Any, mode: int, dir_fd: int) -> None:
        path = self._paths.resolve(name, dir_fd, follow=False)
        if not self._is_ignored(path) and _look(path, follow=False) is None and _can_change(path):
            self._prior(path, None)
            self._emit(("mkdir", path))

    def _remove(self, name: Any, dir_fd: int) -> None:
        path = self._paths.resolve(name, dir_fd, follow=False)
        there = _look(path, follow=False)
        if there is None or stat.S_ISDIR(there.st_mode) or self._is_ignored(path) or not _can_change(path):
            return
        self._prior(path, there)
        self._emit(("remove", path))
        if stat.S_ISLNK(there.st_mode):
            self._moved()

    def _rmdir(self, name: Any, dir_fd: int) -> None:
        path = self._paths.resolve(name, dir_fd, follow=False)
        there = _look(path, follow=False)
        if there is None or not stat.S_ISDIR(there.st_mode) or self._is_ignored(path) or os.listdir(path):
            return
        self._prior(path, there)
        self._emit(("remove", path))
        self._moved()

    def _rename(self, old: Any, new: Any, old_fd: int, new_fd: int) -> None:
        source = self._paths.resolve(old, old_fd, follow=False)
        target = self._paths.resolve(new, new_fd, follow=False)
        if self._is_ignored(source) or self._is_ignored(target) or not _can_rename(source, target):
            return
        old = _look(source, follow=False)
        self._prior(source, old)
        if old is not None and stat.S_ISDIR(old.st_mode):
            self._priors_below(source)
        self._prior(target, _look(target, follow=False))
        self._emit(("rename", source, target))
        self._versions.setdefault(target, 1)
        for path, version in list(self._versions.items()):
            if path.startswith(source + "/"):
                self._versions[target + path[len(source):]] = version
        self._moved()

    def _symlink(self, text: Any, name: Any, dir_fd: int) -> None:
        path = self._paths.resolve(name, dir_fd, follow=False)
        if not self._is_ignored(path) and _look(path, follow=False) is None and _can_change(path):
            self._prior(path, None)
            self._emit(("symlink", path, os.fsdecode(text)))
            self._moved()

    def _link(self, old: Any, new: Any, old_fd: int, new_fd: int) -> None:
        source = self._paths.resolve(old, old_fd)
        target = self._paths.resolve(new, new_fd, follow=False)
        if self._is_ignored(target) or _look(source) is None or _look(target, follow=False) is not None:
            return
        self._prior(target, None)
        self._versions.setdefault(target, 1)
        self._emit(("link", source, target))

    def _truncate(self, name: Any, length: int) -> None:
        if not isinstance(name, int):
            self._write(self._paths.resolve(name), os.O_RDWR)

    def _sqlite(self, name: Any) -> None:
        text = os.fsdecode(name)
        if text in ("", ":memory:") or text.startswith("file:"):
            return
        path = self._paths.resolve(name)
        if path not in self._opaque and not self._is_ignored(path):
            self._opaque.add(path)
            self._prior(path, _look(path))
            self._emit(("opaque", path))

    def _chdir(self, name: Any) -> None:
        self._known.clear()                    # names are relative to another folder now

    # -- what is kept ------------------------------------------------------------------------------

    def _prior(self, path: str, there: os.stat_result | None) -> None:
        if path in self._priors:
            return
        self._priors.add(path)
        self._known.clear()                    # reading this path is no longer reading an input
        if path in self._versions:             # came here with its folder: not of before the run
            return
        key, why, kind = None, "", ""
        if there is not None:
            kind = _kind(there)
            if kind == "file":
                key, why = self._keep_file(path, there)
            else:
                why = os.readlink(path) if kind == "link" else "the contents of a folder are not kept"
        self._emit(("prior", path, there is not None, kind, key, why, there.st_mtime_ns if there else 0))

    def _priors_below(self, folder: str) -> None:
        """Keep what a folder holds that is about to move: the replay finds it at its new place only."""
        count = 0
        for top, folders, files in os.walk(folder):
            for name in folders + files:
                count += 1
                if count > MAX_MOVED:
                    return
                path = f"{top}/{name}"
                self._prior(path, _look(path, follow=False))

    def _keep_file(self, path: str, there: os.stat_result) -> tuple[str | None, str]:
        if there.st_size > self._limit:
            return None, f"it held {there.st_size} bytes, and more than {self._limit} are not kept"
        if self._kept + there.st_size > MAX_KEPT:
            return None, f"the run had already kept {self._kept} bytes of files"
        try:
            with open(path, "rb") as file:
                contents = file.read(self._limit + 1)
        except OSError as error:
            return None, f"it could not be read ({error.strerror})"
        self._kept += len(contents)
        return self._keep(contents), ""

    def _finish(self) -> None:
        """Say what is now at each path the run wrote."""
        for path in self._versions:
            there = _look(path)
            if there is not None and stat.S_ISREG(there.st_mode):
                self._emit(("left", path, there.st_size, there.st_mtime_ns))

    def _is_ignored(self, path: str) -> bool:
        known = self._ignored.get(path)
        if known is None:
            known = nobodys(path) or self._ignore(path)
            if len(self._ignored) < MAX_INPUTS:
                self._ignored[path] = known
        return known

    def _moved(self) -> None:
        self._paths.forget()
        self._known.clear()


def _look(path: str, follow: bool = True) -> os.stat_result | None:
    try:
        return os.stat(path, follow_symlinks=follow)
    except OSError:
        return None


def _kind(there: os.stat_result) -> str:
    if stat.S_ISDIR(there.st_mode):
        return "dir"
    return "link" if stat.S_ISLNK(there.st_mode) else "file"


def _can_change(path: str) -> bool:
    """Whether entries can be made and removed in the folder of path."""
    return os.access(path.rpartition("/")[0] or "/", os.W_OK | os.X_OK)


def _can_write(path: str, there: os.stat_result | None, flags: int) -> bool:
    """Whether opening with these flags is going to work, on a regular file."""
    if there is None:
        return bool(flags & os.O_CREAT) and _can_change(path)
    if flags & os.O_EXCL and flags & os.O_CREAT:
        return False
    return stat.S_ISREG(there.st_mode) and os.access(path, os.W_OK)


def _can_rename(source: str, target: str) -> bool:
    """Whether a rename is going to work: same disk, folders writable, and nothing in the way."""
    old, new = _look(source, follow=False), _look(target, follow=False)
    folder = _look(target.rpartition("/")[0] or "/")
    if old is None or folder is None or old.st_dev != folder.st_dev:
        return False
    if target.startswith(source + "/"):
        return False
    if new is not None:
        if new.st_ino == old.st_ino:           # a name of the same file: nothing happens
            return False
        if _kind(new) == "dir":
            return _kind(old) == "dir" and not os.listdir(target)
        if _kind(old) == "dir":
            return False
    return _can_change(source) and _can_change(target)
