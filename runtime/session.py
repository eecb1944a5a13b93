"""The one session of a process: what stands between the program and the world while it runs.

`start_record` or `start_replay` puts the stand-ins in place (output, clocks, files, import
watchers), `add_module` tells of each project module before it executes, `finish` takes everything
away and says what the process's exit code is.
"""

from __future__ import annotations

import gc
import os
import random
import shutil
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from . import files_audit, iterators, large, objects, shown
from .audit import AUTO
from .behind import looks_behind
from .cells import RecordedCells
from .children import SPAWNING, VALUES_LOST
from .clocks import Clocks, reader
from .debugging import Debugging
from .emitter import Emitter, restart
from .entropy import Entropy
from .errors import NeedsExecution, NoReader, ReplayDone
from .files import FileRecorder, FileReplayer
from .files_left import ignorer
from .guards import INERT, Guard
from .handlers import Handlers
from .imports import Watcher
from .isolation import NoProbe
from .live import let_bars_be
from .lockstep import Edits
from .output import Tap, streams
from .owed import ledger
from .recording import Recorder
from .replaying import Replayer
from .script import Script
from .seal import Seal
from .signals import Signals, calm
from .store import BlobReader
from .tally import Restart, Tally, Wish

FILE_LIMIT = 64 << 20  # bytes of one file kept: a prior content, or one that the run reads back
EXIT_INEXACT = 65
# audit events of processes that may write to the standard streams
STARTERS = ("subprocess.Popen", "os.system", "os.posix_spawn", "os.spawn")
# what ends a program from outside: where, no replay can tell by running it
FROM_OUTSIDE = (KeyboardInterrupt, BrokenPipeError)
ENDS: tuple[type[BaseException], ...] = (ReplayDone, Restart, NeedsExecution)


@dataclass(frozen=True)
class RecordConfig:
    """What a recording needs to know.

    Attributes:
        warn: tells the user something; failed: that recording has stopped (told once, whoever notices).
    """

    run_dir: Path
    seal: Seal
    store: Path
    script: str
    overhead: float
    warn: Callable[[str], None] = lambda text: None
    audit: str = AUTO
    failed: Callable[[str], None] | None = None


@dataclass(frozen=True)
class ReplayConfig:
    """What a replay needs to know.

    Attributes:
        script: the recorded run, parsed.
        seal: the run's: no payload is loaded that it does not fit.
        flaws: why the record is not whole, in words: each makes the replay inexact.
        overlay: folder for what the program writes.
        report: called at the end with the tally and the words of a restart before, if there was one.
        elsewhere: whether versions, threads or the like are others than the record's; asked in mid-run.
        on_iteration: called when an iteration of a main loop begins. before_text: before text is given out.
    """

    run_dir: Path
    seal: Seal
    store: Path
    script: Script
    edits: Edits
    wish: Wish
    overlay: Path
    report: Callable[[Tally, str], None]
    told: Callable[[str], None] = lambda text: None
    elsewhere: Callable[[], bool] = lambda: False
    flaws: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=lambda: dict(os.environ))
    folder: str = field(default_factory=os.getcwd)
    on_iteration: Callable[[int, int], None] = lambda loop, iteration: None
    before_text: Callable[[int, str], None] = lambda fd, text: None


class _Session:
    """What recording and replaying have in common."""

    def __init__(self, run: Recorder | Replayer, files: Any) -> None:
        self.run = run
        self.files = files
        self.thread = threading.get_ident()
        self.pid = os.getpid()
        self.taps: list[tuple[int, Tap]] = []
        self.clocks: Clocks | None = None
        self.entropy: Entropy | None = None
        self.handlers: Handlers | None = None
        self.watcher: Watcher | None = None

    def is_mine(self) -> bool:
        return threading.get_ident() == self.thread and os.getpid() == self.pid

    def start(
        self, read_clock: Callable[[str, Any, Any], Any], seeds: dict[str, Callable[[Any], None]]
    ) -> None:
        self.wrap_exit()
        self.files.install()
        self.clocks = Clocks(read_clock)
        self.clocks.install()
        self.entropy = Entropy(read_clock)
        self.entropy.install()
        self.handlers = Handlers(self.run.project.files)
        self.handlers.install()
        self._seed_torch = seeds["torch"]
        self.watcher = Watcher(
            {"numpy.random": seeds["numpy"], "torch": self._on_torch, **self.watching()}
        )
        for number, stream in streams():
            self._tap(number, stream)

    def watching(self) -> dict[str, Callable[[Any], None]]:
        """Other modules whose import is waited for."""
        return {}

    def _on_torch(self, torch: Any) -> None:
        self._seed_torch(torch)
        gc.freeze()  # what torch is made of never goes, and a look through it takes a tenth of a second
        self.files.patch_torch(torch)
        if self.entropy is not None:
            self.entropy.on_torch(torch)

    def _tap(self, number: int, stream: Any) -> None:
        def write(text: str) -> Any:
            return self.write(tap, number, text)

        tap = Tap(stream, write)
        self.taps.append((number, tap))

    def write(self, tap: Tap, number: int, text: str) -> Any:
        raise NotImplementedError

    def wrap_exit(self) -> None:
        """os._exit ends the process at once: what is due is done before."""
        real = self._exit = os._exit

        def leave(status: int) -> NoReturn:
            code = finish(status) if self.is_mine() else status
            for stream in (sys.stdout, sys.stderr):
                if isinstance(self, _Replaying) and stream is not None:
                    stream.flush()
            real(code)

        leave.__wrapped__ = real  # type: ignore[attr-defined]
        os._exit = leave

    def stop(self) -> None:
        os._exit = self._exit
        for _, tap in self.taps:
            tap.remove()
        if self.watcher is not None:
            self.watcher.remove()
        self.remove_readers()
        if self.handlers is not None:
            self.handlers.remove()
        self.files.uninstall()

    def remove_readers(self) -> None:
        """The program reads the real clock and the real entropy again."""
        for reading in (self.clocks, self.entropy):
            if reading is not None:
                reading.remove()


class _Recording(_Session):
    run: Recorder

    def __init__(self, run: Recorder, files: Any) -> None:
        super().__init__(run, files)
        self.signals = Signals()
        self._started: dict[str, Callable[[tuple[Any, ...]], None]] = {}
        self._write = os.write

    def write(self, tap: Tap, number: int, text: str) -> Any:
        if self.is_mine():
            return self._write_mine(tap, number, text)
        written = tap.original(text)
        if os.getpid() != self.pid:
            self.run.foreign.value = 1
        else:
            self.run.wrote_elsewhere()
        return written

    def _write_mine(self, tap: Tap, number: int, text: str) -> Any:
        """Write, then note."""
        with calm:
            try:
                written = calm.let_in(tap.original, text)
            except (TypeError, ValueError):
                raise  # nothing was written
            except BaseException:
                self.run.wrote(number, text)  # the stream has it, and will write it later
                raise
            self.run.wrote(number, text)
            return written

    def start(
        self, read_clock: Callable[[str, Any, Any], Any], seeds: dict[str, Callable[[Any], None]]
    ) -> None:
        super().start(read_clock, seeds)
        self.signals.install()
        self._started = {**dict.fromkeys(STARTERS, self._other_writer), "os.exec": self._on_exec}
        files_audit.also(self._started)
        real = self._write

        def write(fd: int, data: Any, /) -> int:
            if fd in (1, 2):
                self._other_writer(())
            return real(fd, data)

        write.__wrapped__ = real  # type: ignore[attr-defined]
        os.write = write

    def stop(self) -> None:
        os.write = self._write
        files_audit.silence(self._started)
        super().stop()
        self.signals.uninstall()
        self.run.spawned.remove()

    def watching(self) -> dict[str, Callable[[Any], None]]:
        return dict.fromkeys(SPAWNING, self.run.spawned.watch)

    def _on_exec(self, _: tuple[Any, ...]) -> None:
        if self.is_mine():
            self.run.replaced()

    def _other_writer(self, _: tuple[Any, ...]) -> None:
        """A child process may write to our descriptors: what comes between two guards is not skipped."""
        if self.is_mine():
            self.run.wrote_elsewhere()

    def read_clock(self, name: str, value: Any, frame: Any) -> Any:
        who = reader(frame, self.run.project.files)
        if who:
            self.run.event(["c", name, value, who])
        return value


class _Replaying(_Session):
    run: Replayer

    def __init__(self, run: Replayer, files: Any) -> None:
        super().__init__(run, files)
        self.signals = Signals(at_once=(signal.default_int_handler,))
        self.debugging = Debugging(lambda: run.showing, run.unread)  # before the streams are tapped

    def write(self, tap: Tap, number: int, text: str) -> Any:
        if getattr(tap.stream, "closed", False):
            return tap.original(text)  # it raises, as it did in the record
        if os.getpid() != self.pid:
            return tap.original(text) if self.run.wrote_in_child(number) else len(text)
        with calm:
            (self.run.wrote if self.is_mine() else self.run.wrote_beside)(number, text)
        return len(text)

    def start(
        self, read_clock: Callable[[str, Any, Any], Any], seeds: dict[str, Callable[[Any], None]]
    ) -> None:
        super().start(read_clock, seeds)
        self.signals.install()
        self.debugging.install()
        self._ends = {"os.exec": self._on_exec}
        files_audit.also(self._ends)

    def stop(self) -> None:
        files_audit.silence(self._ends)
        super().stop()
        self.signals.uninstall()
        self.debugging.uninstall()
        let_bars_be()

    def _on_exec(self, _: tuple[Any, ...]) -> None:
        """What another program does in the place of this one is neither recorded nor held off from files."""
        if self.is_mine():
            raise self.run.replaced()


_active: _Session | None = None
_parent: _Session | None = None  # in a forked child of a replay: the session it was forked from
_config: ReplayConfig | None = None
_emitter: Emitter | None = None


def _forget() -> None:
    """In a forked child nothing is recorded or replayed; its output is its own."""
    global _active, _parent
    if _active is not None:
        _active.remove_readers()
    if not isinstance(_active, _Recording):
        _active, _parent = None, _active or _parent
    else:
        _active.run.broken = True
        _active.run.forked.enter()


def _prepare_fork() -> None:
    """A forked child tells what of the project it runs."""
    if isinstance(_active, _Recording):
        _active.run.forked.prepare()
        _active.run.children.forked = True


os.register_at_fork(before=_prepare_fork, after_in_child=_forget)


def start_record(config: RecordConfig) -> None:
    """Begin to record the program that is about to run."""
    global _active
    store = os.path.realpath(config.store)
    shared = Path(store, large.OBJECTS)
    recorder = Recorder(
        config.run_dir, config.seal, config.overhead, config.warn, config.audit, config.failed, shared
    )

    files = FileRecorder(
        lambda event: recorder.event(["f", list(event)]),
        recorder.keep,
        ignorer(store),
        FILE_LIMIT,
        recorder.fail,
    )
    session = _Recording(recorder, files)
    version, internal, gauss = random.getstate()
    recorder.event(["R", "random", [version, list(internal), gauss]])

    def numpy_seed(module: Any) -> None:
        name, keys, place, has_gauss, gauss = module.get_state(legacy=True)
        recorder.event(["R", "numpy", [name, keys.tolist(), place, has_gauss, gauss]])

    def torch_seed(module: Any) -> None:
        recorder.event(["R", "torch", module.initial_seed()])  # drawn in C++ when it was loaded

    try:
        session.start(session.read_clock, {"numpy": numpy_seed, "torch": torch_seed})
    except BaseException:
        with suppress(Exception):
            session.stop()
        raise
    _active = session


def start_replay(config: ReplayConfig) -> None:
    """Begin to replay."""
    global _active, _config, _emitter
    _config = config
    _emitter = Emitter(os.environ)
    replayer = Replayer(
        BlobReader(config.run_dir, config.seal),
        config.script,
        config.edits,
        replace(
            config.wish,
            scratch=config.wish.scratch or _emitter.scratch,
            banned=frozenset(_emitter.banned),
        ),
        _emitter,
    )
    events = [
        (position, _tuple(event[1])) for position, event in enumerate(config.script.events) if event[0] == "f"
    ]
    files = FileReplayer(
        config.overlay,
        events,
        replayer.blobs.get_sealed,
        lambda: replayer.is_probe(sys._getframe(1)),
        replayer.inexact,
        ignorer(os.path.realpath(config.store)),
        replayer.problem,
    )
    replayer.tally.notes.extend(config.script.notes)
    replayer.on_iteration, _emitter.before = config.on_iteration, config.before_text
    replayer.on_jump = lambda position: files.skip_to(position - 1)
    replayer.is_elsewhere = config.elsewhere
    session = _Replaying(replayer, files)
    iterators.quietly = replayer.quietly
    iterators.recorded_line = replayer.recorded_line
    sources = {event[2]: event[4].encode("latin-1") for event in config.script.events if event[0] == "M"}
    objects.recorded_free = RecordedCells(sources, replayer.project.files, replayer.recorded_line)
    seeds = {event[1]: event[2] for event in config.script.events if event[0] == "R"}
    if "random" in seeds:
        version, internal, gauss = seeds["random"]
        random.setstate((version, tuple(internal), gauss))

    def numpy_seed(module: Any) -> None:
        if "numpy" in seeds:
            name, keys, place, has_gauss, gauss = seeds["numpy"]
            module.set_state((name, keys, place, has_gauss, gauss))

    def torch_seed(module: Any) -> None:
        if "torch" in seeds:
            module.default_generator.manual_seed(seeds["torch"])

    ledger.open(BlobReader(config.run_dir, config.seal), replayer.unpaid)
    session.start(replayer.clock, {"numpy": numpy_seed, "torch": torch_seed})
    _emitter.writers = {number: partial(calm.let_in, tap.original) for number, tap in session.taps}
    _active = session


def _tuple(value: Any) -> Any:
    return tuple(value)


def add_module(name: str, file: str, path: str, source: bytes, namespace: dict[str, Any] | None) -> None:
    """Tell of a project module that is about to execute."""
    if _active is None or not _active.is_mine():
        return
    run = _active.run
    if namespace is None and name in sys.modules:
        namespace = vars(sys.modules[name])
    if isinstance(run, Replayer) and name not in run.modules:
        namespace = None  # only added lines import it: what it holds is theirs, not the program's
    run.project.add(name, file, path, namespace)
    run.project.sources.add(path, source)
    if isinstance(run, Recorder):
        run.event(["M", name, file, path, source.decode("latin-1")])  # as bytes, one a character
    elif looks_behind(source):
        ledger.close()


def loop(block: str, *names: str, skippable: bool = True) -> Guard:
    """Open a guard: what instrumented text calls before each guarded loop."""
    session = _active
    if session is None or threading.get_ident() != session.thread:
        return INERT
    frame = sys._getframe(1)
    if isinstance(session, _Recording):
        return session.run.loop(block, names, frame, skippable)
    with calm:
        return session.run.loop(block, names, frame, skippable)


def probe(where: str, *names: str) -> NoProbe:
    """Before a probe that may change what it observes: what a replayed text calls."""
    session = _active
    if not isinstance(session, _Replaying) or threading.get_ident() != session.thread:
        return NoProbe()
    with calm:
        return session.run.probe(where, names, sys._getframe(1))


def log(name: str, value: Any, frame: Any) -> None:
    """What `florc.log` was given, by the code that runs in frame."""
    if _active is None:
        if _parent is not None:
            _parent.run.logged_elsewhere(frame)
        return
    if not _active.is_mine():
        _active.run.logged_elsewhere(frame)
        return
    _active.run.logged(name, value, frame)


def marks(file: str, count: int) -> bytearray:
    """One byte for each region of a file, set by the code of the region when it runs."""
    if _active is None:
        return bytearray(count)
    return _active.run.project.new_marks(file, count)


def listed(found: Any, alias: str) -> Any:
    """Around `dir()`, `sorted(globals())` and the like: without the names that were added."""
    return shown.listed(found, alias, sys._getframe(1), apart=isinstance(_active, _Replaying))


def snapshot(found: Any, alias: str) -> Any:
    """Around `locals()` in a function: without the names that were added."""
    return shown.snapshot(found, alias, sys._getframe(1), apart=isinstance(_active, _Replaying))


def recorder() -> Recorder | None:
    """Who records now, if somebody does: it can be asked what was kept when the session is over."""
    return _active.run if isinstance(_active, _Recording) else None


def raised(error: BaseException) -> None:
    """The program has raised what nobody caught; python is about to say so."""
    session = _active
    if isinstance(session, _Replaying) and isinstance(error, Exception) and not isinstance(error, ENDS):
        with calm:
            session.run.raised(error)


def finish(code: int, error: BaseException | None = None) -> int:
    """End the session; the exit code of the process. A replay that must begin again does not return."""
    with calm:
        return _finish(code, error)


def _finish(code: int, error: BaseException | None) -> int:
    global _active
    session, _active = _active, None
    if session is None:
        return code
    try:
        session.stop()
    except Restart as late:  # a file of the user's was found changed
        error = late
    try:
        if isinstance(session, _Replaying) and not isinstance(error, ENDS) and not session.run.failed:
            session.run.ended()
    except Restart as late:  # the recorded run went on
        error = late
    session.run.project.outlive()
    if isinstance(session, _Recording):
        session.run.finish(code, isinstance(error, FROM_OUTSIDE))
        return code
    assert isinstance(session, _Replaying) and _config is not None and _emitter is not None
    return _finish_replay(session, code, error)


def _finish_replay(session: _Replaying, code: int, error: BaseException | None) -> int:
    assert _config is not None and _emitter is not None
    replayer = session.run
    if isinstance(error, NoReader):
        raise BrokenPipeError
    if isinstance(error, (Restart, NeedsExecution)):
        words = str(error) or "a value was needed that no checkpoint holds"
        if not replayer.wish.scratch:
            if replayer.foreign.value:
                _emitter.right = False
            handed = _emitter.hand_over(words, getattr(error, "suspect", ""))
            how = "without skipping" if handed["scratch"] else f"without the states of {handed['banned'][-1]}"
            _config.told(f"starting again {how}: {words}")
            shutil.rmtree(_config.overlay, ignore_errors=True)
            restart(handed, _config.environment, _config.folder)
        replayer.problem(words)
    if replayer.script.stopped:
        replayer.problem(f"recording had stopped before the program ended ({replayer.script.stopped})")
    for flaw in _config.flaws:
        replayer.problem(flaw)
    if isinstance(error, ReplayDone):
        if not _config.flaws and replayer.script.interrupted and replayer.window.whole:
            killed = "the recorded run was interrupted (killed, or its store failed)"
            interrupted = "the recorded run was interrupted"
            words = killed if replayer.script.exit_code is None else interrupted
            replayer.note(f"{words}, and the replay ends there")
        code = replayer.script.exit_code or 0
    elif not replayer.off and code != (
        replayer.script.exit_code if replayer.script.exit_code is not None else code
    ):
        replayer.problem(f"the program exits with {code}, recorded was {replayer.script.exit_code}")
    if replayer.values_lost.value:
        replayer.problem(VALUES_LOST)
    if not _emitter.finish():
        replayer.problem("what was printed before starting again was not what this attempt printed")
    if replayer.tally.problems:
        replayer.tally.causes += session.files.inputs.changes()
    replayer.tally.owed, replayer.tally.paid = ledger.owed, ledger.paid
    _config.report(replayer.tally, _emitter.reason)
    return EXIT_INEXACT if replayer.tally.problems else code
