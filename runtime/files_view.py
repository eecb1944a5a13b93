"""Find the file on disk that stands for a path in this replay."""
from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import xxhash

from . import files_disk as disk
from . import scratch
from .errors import StoreError
from .files_alias import recorded_name
from .files_paths import RealPaths, nobodys, read_link
from .files_state import Event, Ledger, Node, Source

# kept contents and stand-ins lie in the overlay under names that no user path has; symbolic links lie in a
# folder of their own: no path in the overlay may lead through one, and so out of it
KEPT_FOLDER = ".kept"
LINK_FOLDER = ".links"
PLACEHOLDER = ".placeholder"


class View:
    """The file system as the recorded run saw it at this point. Nothing here writes outside the overlay.

    Methods take absolute real paths of the user (from place()); those that return a path on disk return
    None where the view has nothing to say and the user's own path serves.

    Args: as FileReplayer's.
    """

    def __init__(self, overlay: Path, events: list[tuple[int, Event]], fetch: Callable[[str], bytes],
                 is_probe: Callable[[], bool], report: Callable[[str], None],
                 ignore: Callable[[str], bool]) -> None:
        self.root = os.path.realpath(overlay)
        self.is_probe = is_probe
        self.report = report
        self._fetch = fetch
        self._ignore = ignore
        self._covers: dict[str, Node | None] = {}
        self._scratch = os.path.realpath(scratch.folder()) + "/"
        self.ledger = Ledger(events, self._move_on_disk)
        self._busy_scratch = self._scratch_in_use()
        self.paths = RealPaths(self._read_link, self.cwd, self.user_path)
        self._damage = ""                        # of a copy that was wanted, in words
        self._detour = False                     # a name has just led through a link that is not on disk
        self.detours: set[str] = set()           # where such names led: the disk may not be asked by name
        self.renamed: dict[str, str] = {}        # names drawn anew -> recorded names
        self.lock = threading.RLock()

    # -- names ----------------------------------------------------------------------------------

    def place(self, name: Any, dir_fd: int | None = None, follow: bool = True) -> str | None:
        """The user's absolute path of a name, None if the view has no say: no path, or nobody's path."""
        if isinstance(name, int):
            return None
        self._detour = False
        if self.ledger.links:
            self.paths.forget()                  # what is remembered would not tell of a detour
        try:
            path = self.paths.resolve(name, dir_fd, follow)
        except (TypeError, ValueError):
            return None                          # Python says what is wrong with it
        if self._detour:
            self.detours.add(path)
        elif path.startswith(self.root) or nobodys(path):
            return None
        return self._by_record(path) if self.renamed else path

    def is_outside(self, name: Any) -> bool:
        """True for a library's file, of which the disk knows all there is; links are not followed.

        Imports ask for thousands, and this is quicker than place().
        """
        if type(name) is not str or name[:1] != "/" or self.ledger.links:
            return False
        return self.paths.lies_inside(name, self._ignore)

    def _by_record(self, path: str) -> str:
        for new, recorded in self.renamed.items():
            if path == new or path.startswith(new + "/"):
                path = recorded + path[len(new):]
        return path

    def creating(self, path: str | None) -> str | None:
        """The name under which the record has a path that the program is about to create, or the path."""
        while path is not None and path not in self.ledger.nodes and not self.writes_real(path):
            found = recorded_name(path, self.ledger)
            if found is None:
                break
            self.renamed[found[0]] = found[1]
            path = self._by_record(path)
        return path

    def user_path(self, path: str) -> str:
        """A path in the overlay as the user's; other paths as they are."""
        inside = path.startswith(self.root + "/") and not path.startswith(self.root + "/.")
        return path[len(self.root):] if inside else path

    def cwd(self) -> str:
        """The current folder as the user knows it."""
        return self.user_path(disk.getcwd())

    def overlay(self, path: str) -> str:
        """Where in the overlay a path lies."""
        return self.root + path

    def _read_link(self, path: str) -> str | None:
        if self.ledger.links:
            node = self.ledger.nodes.get(path)
            if node is not None:
                target = node.target if node.kind == "link" else None
                self._detour = self._detour or target != read_link(path)
                return target
        return read_link(path)

    # -- what is where ----------------------------------------------------------------------------

    def node(self, path: str) -> Node | None:
        """The node of a path, if the run or this replay changes it."""
        return self.ledger.nodes.get(path)

    def cover(self, path: str) -> Node | None:
        """The nearest folder above path that the run makes or removes."""
        folder = path.rpartition("/")[0]
        if folder in self._covers:
            return self._covers[folder]
        node = self.ledger.nodes.get(folder) if folder else None
        found = node if node is not None or not folder else self.cover(folder)
        self._covers[folder] = found
        return found

    def is_touched(self, path: str) -> bool:
        """Whether the view knows more about path than the disk does."""
        if path in self.ledger.nodes or path in self.ledger.children:
            return True
        return self.cover(path) is not None and self.kind(path) == ""

    def kind(self, path: str) -> str:
        """What is at path now: "file", "dir", "link", or "" for nothing."""
        node = self.node(path)
        if node is not None:
            return node.kind
        cover = self.cover(path)
        return "" if cover is not None and cover.kind != "dir" else disk.kind(path)

    def absent(self, path: str) -> OSError:
        """The exception for a path at which nothing is: a folder above it is none, or is not there."""
        folder = above(path)
        while folder != "/" and not self.kind(folder):
            folder = above(folder)
        return error(errno.ENOTDIR, path) if self.kind(folder) == "file" else missing(path)

    def make_node(self, path: str) -> Node:
        """The node of a path that is about to change."""
        node = self.ledger.nodes.get(path)
        if node is None:
            kind = self.kind(path)
            self._covers.clear()
            node = self.ledger.node(path)
            node.kind = kind
        return node

    def writes_real(self, path: str | None) -> bool:
        """Whether a change of this path is to reach the disk: a probe's own file, scratch, nobody's path."""
        if path is not None and (path in self.detours or path in self.ledger.nodes):
            return False
        if path is None or self._ignore(path):
            return True
        return self._is_scratch(path) or self.is_probe()

    def _is_scratch(self, path: str) -> bool:
        if not path.startswith(self._scratch):
            return False
        return path[len(self._scratch):].partition("/")[0] not in self._busy_scratch

    def _scratch_in_use(self) -> set[str]:
        """What in the temporary folder is no scratch: folders where the run, its files and florc live."""
        start = len(self._scratch)
        where = [self.root, disk.getcwd(), *self.ledger.children]
        return {path[start:].partition("/")[0] for path in where if path.startswith(self._scratch)}

    # -- contents -----------------------------------------------------------------------------------

    def for_reading(self, path: str) -> str | None:
        """Where the contents that the recorded run would read now are; moves the cursor, but for a probe."""
        node = self.node(path)
        if node is None or node.kind != "file":
            return self._no_file(path)
        with self.lock:
            read = None if self.is_probe() else self.ledger.consume_read(node)
            if read is not None:
                found = self._as_read(node, read)
                if found is not None:
                    return found
            found = self._now(node)
        if found is None:
            raise self._lost(node, read)
        return found

    def _no_file(self, path: str) -> str | None:
        kind = self.kind(path)
        if kind == "":
            raise self.absent(path)
        return self.folder(path) if kind == "dir" else None

    def _as_read(self, node: Node, read: Event) -> str | None:
        """Recorded reads win: what this "read" event found."""
        if read[3] is None:
            return node.path if disk.stamp(node.path) == tuple(read[5:7]) else None
        found = self._kept(read[3], read[6] if len(read) > 6 else 0)
        if found is not None and not node.is_open():
            self.ledger.kept(node, read)
        return found

    def _now(self, node: Node) -> str | None:
        """Where the present contents of a file are, None if they cannot be had."""
        if node.source is Source.OVERLAY:
            return self.overlay(node.path)
        if node.source is Source.KEPT and not self._goes_on_unseen(node):
            return self._kept(node.key, node.mtime_ns)
        if node.is_open():
            return None
        for _, event in self.ledger.coming(node):      # nothing changes it before it is read next
            if event[0] != "read":
                break
            if event[3] is not None:
                return self._kept(event[3], event[6] if len(event) > 6 else 0)
        left = self.ledger.left.get(node.path)
        if left is not None and disk.stamp(node.path) == left and not self.ledger.changes_come(node):
            return node.path
        return None

    def _goes_on_unseen(self, node: Node) -> bool:
        """Whether the file was left open in a skipped part, and so changed after the read that we know."""
        left = self.ledger.left.get(node.path)
        return node.stamp not in (None, left) and left is not None and not self.ledger.changes_come(node)

    def _lost(self, node: Node, read: Event | None) -> FileNotFoundError:
        why = read[4] if read is not None else node.why
        why = self._damage or why or "it was written in a part that this replay skipped"
        self.report(f"{node.path} cannot be read as the recorded run did: {why}, and no copy is kept.")
        return missing(node.path)

    def _kept(self, key: str, mtime_ns: int) -> str | None:
        """A file with the kept contents, made on first use; None if the record's copy is damaged."""
        path = f"{self.root}/{KEPT_FOLDER}/{key}-{mtime_ns}"
        if disk.kind(path) == "":
            try:
                contents = self._fetch(key)
            except StoreError as error:
                self._damage = error.message
                return None
            disk.write(path, contents)
            disk.utime(path, mtime_ns)
        return path

    def for_writing(self, path: str, flags: int) -> str | None:
        """Where a file opened with these flags is to be written; what stays in it is brought there first.

        Nothing has changed for the view until opened() is called.
        """
        if self.writes_real(path):
            return None
        kind = self.kind(path)
        self._may_open(path, kind, flags)
        target = self.overlay(path)
        disk.mkdirs(target.rpartition("/")[0])
        with self.lock:
            if kind == "":
                disk.discard(target)
            elif not flags & os.O_TRUNC:
                self._bring(path, target, bool(flags & os.O_RDWR))
        return target

    def _may_open(self, path: str, kind: str, flags: int) -> None:
        if kind and flags & os.O_CREAT and flags & os.O_EXCL:
            raise error(errno.EEXIST, path)
        if kind == "dir":
            raise error(errno.EISDIR, path)
        if not kind and (not flags & os.O_CREAT or self.kind(above(path)) != "dir"):
            raise self.absent(path)

    def _bring(self, path: str, target: str, update: bool) -> None:
        """Put the present contents into the overlay, for a file that is appended to or updated."""
        node = self.make_node(path)
        if node.source is Source.OVERLAY or (node.source is Source.PARTIAL and not update):
            return
        known = node.recorded or node.source is not Source.UNKNOWN
        found: str | None = path if not known else None
        if known:
            read = self.ledger.consume_read(node) if update and not self.is_probe() else None
            found = (self._as_read(node, read) if read is not None else None) or self._now(node)
        if found is not None:
            disk.copy(found, target)
            node.source = Source.OVERLAY
        elif update:
            raise self._lost(node, None)
        else:                                            # only its length matters to who appends
            disk.sparse(target, self._length(node))
            node.source = Source.PARTIAL

    def _length(self, node: Node) -> int:
        for _, event in self.ledger.coming(node):
            if event[0] == "write":
                return int(event[3]) if len(event) > 3 else 0
        return 0

    def opened(self, path: str, flags: int, is_open: Callable[[], bool] | None) -> None:
        """Say that the file for_writing() gave was opened; is_open tells whether it still is."""
        with self.lock:
            node = self.make_node(path)
            stays = node.kind == "file" and not flags & os.O_TRUNC
            if not stays or node.source not in (Source.OVERLAY, Source.PARTIAL):
                node.source = Source.OVERLAY
            node.kind = "file"
            if is_open is not None:
                node.handles.append(is_open)
            if not self.is_probe():
                self.ledger.consume(node, ("write", "opaque"))

    # -- the rest -----------------------------------------------------------------------------------

    def for_stat(self, path: str, follow: bool = True) -> str | None:
        """A path on disk whose stat is that of path, as far as it can be known."""
        node = self.node(path)
        if node is None:
            if self.kind(path) == "":
                raise self.absent(path)
            return None
        if node.kind == "":
            raise self.absent(path)
        if node.kind == "dir":
            return self.folder(path)
        if node.kind == "link":
            return self._link_on_disk(node)
        if node.source is Source.PARTIAL:
            return self.overlay(path)
        found = self._now(node)
        if found is None and disk.kind(path) != "file":
            found = f"{self.root}/{PLACEHOLDER}"
            disk.write(found, b"")
        return found

    def size_known(self, path: str) -> bool:
        """Whether the size that for_stat() leads to is the recorded run's."""
        node = self.node(path)
        return node is None or node.kind != "file" or self._now(node) is not None

    def folder(self, path: str) -> str:
        """A folder on disk that stands for this one."""
        if disk.kind(path) == "dir":
            return path
        disk.mkdirs(self.overlay(path))
        return self.overlay(path)

    def _link_on_disk(self, node: Node) -> str:
        if read_link(node.path) == node.target:
            return node.path
        name = xxhash.xxh3_128_hexdigest(os.fsencode(node.path))
        target = f"{self.root}/{LINK_FOLDER}/{name}"
        if read_link(target) != node.target:
            disk.mkdirs(target.rpartition("/")[0])
            disk.discard(target)
            disk.symlink(node.target, target)
        return target

    def names(self, path: str) -> list[str]:
        """What a folder holds now."""
        kind = self.kind(path)
        if kind != "dir":
            raise error(errno.ENOTDIR, path) if kind else self.absent(path)
        prefix = path if path != "/" else ""
        real = disk.listdir(path) if disk.kind(path) == "dir" else []
        nodes = self.ledger.nodes
        kept = [name for name in real if f"{prefix}/{name}" not in nodes]
        return kept + [name for name in self.ledger.children.get(path, ()) if nodes[f"{prefix}/{name}"].kind]

    def _move_on_disk(self, source: str, target: str) -> None:
        """Move what the overlay holds, before a rename; the ledger follows."""
        old, new = self.overlay(source), self.overlay(target)
        if disk.kind(old) == "":
            return
        disk.mkdirs(new.rpartition("/")[0])
        disk.move(old, new)

    def make_dir(self, path: str) -> None:
        """Make a folder, in the overlay."""
        if self.kind(path):
            raise error(errno.EEXIST, path)
        if self.kind(above(path)) != "dir":
            raise self.absent(path)
        with self.lock:
            node = self.make_node(path)
            disk.mkdirs(self.overlay(path))
            node.kind = "dir"
            self._covers.clear()
            self._did(node, "mkdir")

    def remove(self, path: str, folder: bool) -> None:
        """Remove a file or link, or an empty folder."""
        kind = self.kind(path)
        if kind == "":
            raise self.absent(path)
        if (kind == "dir") != folder:
            raise error(errno.ENOTDIR if folder else errno.EISDIR, path)
        if folder and self.names(path):
            raise error(errno.ENOTEMPTY, path)
        with self.lock:
            node = self.make_node(path)
            disk.discard(self.overlay(path))
            node.kind = ""
            self._did(node, "remove")
        self.paths.forget()

    def rename(self, source: str, target: str) -> None:
        """Move source to target, replacing a file that is there."""
        kind = self.kind(source)
        self._may_rename(source, target, kind, self.kind(target))
        if source == target:
            return
        with self.lock:
            if kind == "file" and self.node(source) is None:
                self._take(source)
            node, new = self.make_node(source), self.make_node(target)
            self._move_on_disk(source, target)
            self.ledger.move(source, target)
            self._covers.clear()
            self._did_rename(node, new)
        self.paths.forget()

    def _may_rename(self, source: str, target: str, kind: str, there: str) -> None:
        """Refuse what the system refuses, in its order."""
        for path in (source, target):
            if self.kind(above(path)) != "dir":
                raise self.absent(path)
        if kind == "":
            raise missing(source)
        if target.startswith(source + "/"):
            raise error(errno.EINVAL, source)
        if source.startswith(target + "/"):
            raise error(errno.ENOTEMPTY, source)
        if kind == "dir" and there not in ("", "dir"):
            raise error(errno.ENOTDIR, source)
        if kind != "dir" and there == "dir":
            raise error(errno.EISDIR, source)
        if there == "dir" and source != target and self.names(target):
            raise error(errno.ENOTEMPTY, source)

    def _did_rename(self, source: Node, target: Node) -> None:
        if self.is_probe():
            return
        if self.ledger.consume(source, ("rename",)) is not None:
            target.done = max(target.done, source.done)
            return
        event = self.ledger.consume(target, ("rename",))
        if event is not None:                    # a name drawn anew (a temporary file), moved to a known one
            recorded = self.ledger.node(event[1])
            recorded.kind, recorded.done = "", target.done

    def _take(self, path: str) -> None:
        """Copy a file of the user's that is about to be moved or changed into the overlay."""
        disk.mkdirs(self.overlay(path).rpartition("/")[0])
        disk.copy(path, self.overlay(path))
        self.make_node(path).source = Source.OVERLAY

    def link(self, source: str, target: str) -> None:
        """Make target another name of source (in a replay: a copy)."""
        if self.kind(target):
            raise error(errno.EEXIST, target)
        if self.kind(source) != "file" or self.kind(above(target)) != "dir":
            raise self.absent(source)
        with self.lock:
            old, new = self.node(source), self.make_node(target)
            found = source if old is None else self._now(old)
            if found is not None:
                disk.mkdirs(self.overlay(target).rpartition("/")[0])
                disk.copy(found, self.overlay(target))
            new.kind, new.source = "file", Source.OVERLAY if found is not None else Source.SKIPPED
            self._did(new, "link")

    def symlink(self, text: str, path: str) -> None:
        """Make a symbolic link."""
        if self.kind(path):
            raise error(errno.EEXIST, path)
        if self.kind(above(path)) != "dir":
            raise self.absent(path)
        with self.lock:
            node = self.make_node(path)
            self.ledger.set_link(node, text)
            self._did(node, "symlink")
        self.paths.forget()

    def _did(self, node: Node, kind: str) -> None:
        if not self.is_probe():
            self.ledger.consume(node, (kind,))

    def to_change(self, path: str) -> str | None:
        """The overlay's own copy of a path whose mode or times change; without one None: nothing does."""
        if self.kind(path) == "":
            raise self.absent(path)
        node = self.node(path)
        if node is None or node.kind != "file" or node.source not in (Source.OVERLAY, Source.PARTIAL):
            return None
        return self.overlay(path)


def above(path: str) -> str:
    """The folder that holds path."""
    return path.rpartition("/")[0] or "/"


def error(number: int, path: str) -> OSError:
    """The exception the system would raise."""
    return OSError(number, os.strerror(number), path)


def missing(path: str) -> FileNotFoundError:
    """The exception for a path where nothing is."""
    return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
