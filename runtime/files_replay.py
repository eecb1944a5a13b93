"""Let a replayed program see the files as the recorded run saw them, and touch none of the user's."""
from __future__ import annotations

import builtins
import errno
import io
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

from . import files_audit, files_calls, files_foreign
from . import files_disk as disk
from .files_inputs import Inputs
from .files_state import Event
from .files_view import View
from .patches import Patches

# classes and modules of the standard library that hold on to functions of os and io from their import on
HOLDERS = (("bz2", ""), ("tarfile", ""), ("glob", "_StringGlobber"), ("pathlib", "_NormalAccessor"),
           ("tempfile", "_TemporaryFileCloser"))
# sets of functions by what they can do, where the stand-ins have to stand as well
CREATE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
ABILITIES = ("supports_dir_fd", "supports_fd", "supports_follow_symlinks", "supports_effective_ids")


def nothing_ignored(path: str) -> bool:
    """The default: every path is the user's."""
    return False


class FileReplayer:
    """Serve a replayed program's file operations from the record.

    Calls: install(), patch_torch(...), skip_to(...) as often as the replay jumps, uninstall().

    Args:
        overlay: folder that takes what the program writes; it may hold an earlier replay's files.
        events: (sequence number, event) in the order of the record (see files.py).
        fetch: kept contents by their key.
        is_probe: whether the running code is a probe: it reads without moving on, and what it writes under
            a name the record does not know is a real file.
        report: takes one sentence about what could not be served, before FileNotFoundError is raised.
        changed: takes one sentence about a file that the run read, that is read again, and has changed since.
        ignore: whether an absolute path is florc's own (the store).
    """

    def __init__(self, overlay: Path, events: list[tuple[int, Event]], fetch: Callable[[str], bytes],
                 is_probe: Callable[[], bool], report: Callable[[str], None],
                 ignore: Callable[[str], bool] = nothing_ignored,
                 changed: Callable[[str], None] = lambda words: None) -> None:
        disk.mkdirs(os.path.realpath(overlay))
        self._report = report
        self._view = View(overlay, events, fetch, is_probe, report, ignore)
        self.inputs = Inputs((event for _, event in events), changed)
        self._patches = Patches()
        self._added: list[tuple[set[Any], Any]] = []
        self._defaults: list[tuple[FunctionType, tuple[Any, ...]]] = []
        self._openers: list[tuple[dict[Any, Any], Any]] = []
        self._before: dict[str, tuple[int, int] | None] = {}
        self._handlers = {"open": self._guard_open, "os.remove": self._guard, "os.rmdir": self._guard,
                          "os.truncate": self._guard, "os.rename": self._guard_rename}

    def install(self) -> None:
        """Put the stand-ins in place."""
        nodes = self._view.ledger.nodes
        self._before = {path: disk.stamp(path) for path, node in nodes.items() if node.recorded}
        self._calls = files_calls.Calls(self._view)
        made = files_calls.stand_ins(self._calls, self._view)
        originals = {id(getattr(os, name)): stand_in for name, stand_in in made.items() if hasattr(os, name)}
        originals[id(io.open)] = made["io.open"]
        self._replace_held(originals)
        self._widen_abilities(made)
        self._patches.put(builtins, "open", made["io.open"])
        self._patches.put(io, "open", made["io.open"])
        for name, stand_in in made.items():
            if name in files_calls.OS_NAMES:
                self._patches.put(os, name, stand_in)
        self._patches.put(os.path, "getsize", made["getsize"])
        self._patch_on_use(made)
        files_audit.listen(self._handlers)

    def uninstall(self) -> None:
        """Put everything back, and report files of the user's that something changed nevertheless."""
        files_audit.silence(self._handlers)
        self._patches.undo()
        self._calls.active = False
        for abilities, stand_in in self._added:
            abilities.discard(stand_in)
        self._added.clear()
        for function, defaults in self._defaults:
            function.__defaults__ = defaults
        self._defaults.clear()
        for openers, original in self._openers:
            openers[None] = original
        self._openers.clear()
        for path, stamp in self._before.items():
            if disk.kind(path) != "dir" and disk.stamp(path) != stamp:
                self._report(f"{path} was changed during the replay, by something that florc does not see.")
        self._before = {}

    def skip_to(self, seq: int, jumped: bool = True) -> None:
        """Take the recorded events up to seq as done; those not replayed count as done without contents.

        jumped: whether program text was skipped; False only notes how far an ordinary execution has come.
        """
        with self._view.lock:
            self._view.ledger.skip_to(seq, jumped)
            self._view.paths.forget()

    def renamed(self) -> dict[str, str]:
        """Paths that the replayed program names otherwise than the run (after the time) -> recorded ones."""
        return dict(self._view.renamed)

    def patch_torch(self, torch_module: Any) -> None:
        """Wrap torch's own writers and readers; call once torch is imported."""
        self.patch_module(torch_module)

    def patch_module(self, module: Any) -> None:
        """Wrap the writers and readers of a library that open paths outside Python, if it is one we know."""
        files_foreign.patch(self._patches, module, self._writer, self._reader)

    # -- around functions of libraries ---------------------------------------------------------------

    def _writer(self, original: Callable[..., Any], name: Any, call: Callable[[Any], Any]) -> Any:
        path = self._view.creating(self._view.place(name))
        try:
            target = None if path is None else self._view.for_writing(path, CREATE)
        except FileNotFoundError:
            return call(f"{self._view.root}/.missing{path}")    # it fails with the library's own exception
        if path is None or target is None:
            return call(name)
        self._view.opened(path, CREATE, None)
        return call(target)

    def _reader(self, original: Callable[..., Any], name: Any, call: Callable[[Any], Any]) -> Any:
        path = self._view.place(name)
        if path is None or not self._view.is_touched(path):
            if path is not None:
                self.inputs.opened(path)
            return call(name)
        return call(self._view.for_reading(path) or name)

    # -- what holds on to the originals --------------------------------------------------------------

    def _replace_held(self, originals: dict[int, Any]) -> None:
        for module, name in HOLDERS:
            if module not in sys.modules:        # it will take the stand-ins when it is imported
                continue
            holder: Any = sys.modules[module]
            holder = getattr(holder, name, None) if name else holder
            for key, value in list(vars(holder).items()) if holder is not None else ():
                bare = value.__func__ if isinstance(value, staticmethod) else value
                if id(bare) in originals:
                    stand_in = originals[id(bare)]
                    self._patches.put(holder, key, staticmethod(stand_in) if name else stand_in)
                elif isinstance(bare, FunctionType) and bare.__defaults__:
                    defaults = tuple(originals.get(id(default), default) for default in bare.__defaults__)
                    if defaults != bare.__defaults__:
                        self._defaults.append((bare, bare.__defaults__))
                        bare.__defaults__ = defaults
        self._replace_numpys(originals)

    def _replace_numpys(self, originals: dict[int, Any]) -> None:
        """NumPy's text readers and writers keep a table of openers, once it has been used."""
        table = getattr(sys.modules.get("numpy.lib._datasource"), "_file_openers", None)
        openers = getattr(table, "_file_openers", None)
        if isinstance(openers, dict) and id(openers.get(None)) in originals:
            self._openers.append((openers, openers[None]))
            openers[None] = originals[id(openers[None])]

    def _widen_abilities(self, made: dict[str, Any]) -> None:
        for ability in ABILITIES:
            functions = getattr(os, ability)
            for name in files_calls.OS_NAMES:
                if name in made and getattr(os, name) in functions:
                    functions.add(made[name])
                    self._added.append((functions, made[name]))

    def _patch_on_use(self, made: dict[str, Any]) -> None:
        import shutil
        import sqlite3

        # by descriptors of folders rmtree would reach the real folder behind the view
        self._patches.put(shutil, "_use_fd_functions", False)
        self._patches.put(sqlite3, "connect", made["sqlite3.connect"])

    # -- writes that come around the stand-ins ---------------------------------------------------------

    def _guard_open(self, args: tuple[Any, ...]) -> None:
        name, mode, flags = args
        writing = flags & files_calls.WRITING or (not flags and mode and not set("wax+").isdisjoint(mode))
        if isinstance(name, int):
            return
        if not writing:
            self._guard_read(name)
        elif disk.kind(os.fsdecode(name)) != "dir":
            self._guard((name,))                 # not for folders: tempfile "opens" them

    def _guard_read(self, name: Any) -> None:
        path = self._view.place(name)
        if path is not None and self._view.node(path) is None:
            self.inputs.opened(path)

    def _guard_rename(self, args: tuple[Any, ...]) -> None:
        self._guard(args[:1])
        self._guard(args[1:2])

    def _guard(self, args: tuple[Any, ...]) -> None:
        """Refuse a change of a file that the recorded run wrote: it did not come through a stand-in."""
        path = self._view.place(args[0])
        node = None if path is None else self._view.node(path)
        if node is not None and node.recorded:
            self._report(f"something was about to change {path} itself, not a copy; it was stopped.")
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)
