"""Recording: guards that write the journal and take checkpoints."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import perf_counter  # the real one, whatever stands in `time` later
from typing import Any, NamedTuple

from .appending import Reserve
from .audit import AUTO, OFF, Audit
from .background import Job
from .checkpoint import Snapshots, Taken
from .children import VALUES_LOST, Children, Flag, Forked, Spawned
from .collector import resting
from .context import context
from .errors import CannotRestore, StoreError
from .figures import Chances, Figures, Outcome
from .graph import ITERATOR, Base
from .guards import INERT, USEFUL_DEPTH, Guard, OpenLoop, Stack, is_function, keeps_locals
from .journal import JournalWriter
from .noted import Noted, plain
from .output import locate, log_parts
from .plain import as_data
from .policy import DEFAULT_OVERHEAD, DENSE, UNFELT, Policy
from .project import Project
from .seal import Seal
from .signals import calm
from .store import BlobWriter

# Loops that take next to nothing are not worth their events: after so many runs of so few seconds each they
# are no longer followed. Of a main loop iterations are not, once to note them takes more of a window than the
# bound; the first window does not count: it writes each event at once, and all is new to the processor.
MUTE_AFTER, MUTE_BELOW = 50, 0.001
WINDOW = 500
GIVE_UP_AFTER = 3  # checkpoints of a block that could not see all: then none is tried
FIRST_HOOK = 1 << 40  # the numbers of florc's hooks: under a number of another on its tensor, that would go
MAX_GRAPHS = 8  # tensors with a graph at a block's exit whose backward is watched


class Marks:
    """Which regions ran: cleared at each block's entry, gathered at its exit, merged into the outer one's."""

    def __init__(self, project: Project, journal: JournalWriter) -> None:
        self._project = project
        self._journal = journal
        self._known: dict[tuple[bytes, ...], int] = {}  # in the order of the project's files, which only grow

    def push(self) -> dict[str, bytes]:
        """Save the marks so far and clear them."""
        saved = {file: bytes(marks) for file, marks in self._project.marks.items()}
        self.clear()
        return saved

    def clear(self) -> None:
        for marks in self._project.marks.values():
            marks[:] = bytes(len(marks))

    def hits(self) -> int:
        """The number of the current set of marks, written to the journal when it is new."""
        key = tuple(map(bytes, self._project.marks.values()))
        number = self._known.get(key)
        if number is None:
            number = self._known[key] = len(self._known)
            ran = {file: [i for i, hit in enumerate(one) if hit] for file, one in self._project.marks.items()}
            self._journal.add(["H", number, {file: regions for file, regions in ran.items() if regions}])
        return number

    def pop(self, saved: dict[str, bytes]) -> None:
        """Merge saved marks back into the current ones."""
        for file, old in saved.items():
            marks = self._project.marks[file]
            for i, hit in enumerate(old):
                if hit:
                    marks[i] = 1


class OnTheWay(NamedTuple):
    """A checkpoint that is being written; the journal's event it belongs to, and its block."""

    number: int
    block: str
    hashes: list[str]
    job: Job | None


class RecordLoop(OpenLoop):
    """A loop that is being recorded, at depth 0 or 1."""

    __slots__ = (
        "recorder", "base", "unkept", "began", "spent", "saved", "iterator", "noted", "audited",
        "noting", "ran",
    )  # fmt: skip

    def __init__(
        self, recorder: Recorder, block: str, names: tuple[str, ...], frame: Any, depth: int
    ) -> None:
        super().__init__(block, names, frame, depth)
        self.recorder = recorder
        self.base: Base | None = None
        self.unkept: Outcome = "refused"  # why no state is kept while there is no base
        self.saved: dict[str, bytes] = {}
        self.iterator: Any = None
        self.noting = self.ran = 0.0  # seconds of a window: to write down its iterations, and their own
        self.audited = False  # libraries are looked at before and after it
        self.began = 0.0  # when the current iteration or block began
        self.spent = 0.0  # what florc had taken by then
        self.noted = Noted()

    def over(self, iterable: Any) -> Any:
        """A main loop's iterator is part of its state: the base is taken once it is there."""
        if self.depth:
            return iterable
        self.iterator = iter(iterable)
        self.recorder.start_base(self)
        return self.iterator

    def unseen(self) -> None:
        """What was kept of the entry state is not all of it: no more checkpoints."""
        if self.base is not None:
            self.base, self.unkept = None, "blind"

    def boundary(self) -> bool:
        if self.frame is None:
            return False  # the loop went on after a return that a finally or a with took back
        self.iteration += 1
        self.recorder.boundary(self)
        return False

    def leave(self) -> bool:
        self.iterator = None  # it ends here, as it would without a guard
        if self.frame is not None:
            self.recorder.leave(self, {})
        return False

    def returning(self, value: Any) -> Any:
        if self.frame is not None:
            self.outcome = "return"
            self.recorder.leave(self, {"return": value})
        return value


def _parameters(loop: OpenLoop) -> tuple[tuple[str, ...], dict[str, Any]]:
    """The parameters of the function that a loop stands in, with what is bound."""
    code = loop.frame.f_code
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return (names, loop.locals()) if names and is_function(loop.frame) else ((), {})


class Recorder:
    """One recorded run."""

    def __init__(
        self,
        folder: Path,
        seal: Seal,
        overhead: float,
        warn: Callable[[str], None],
        audit: str = AUTO,
        failed: Callable[[str], None] | None = None,
        objects: Path | None = None,
    ) -> None:
        self.project = Project()
        self.stack = Stack()
        self.reserve = Reserve(folder)
        self.blobs = BlobWriter(folder, seal, objects)
        self.journal = JournalWriter(folder, seal, overhead, self.blobs.flush)
        self.policy = Policy(overhead)
        self.marks = Marks(self.project, self.journal)
        self.snapshots = Snapshots(self.blobs, self.project.is_project)
        project = self.project
        mode = audit if overhead > 0 else OFF  # without checkpoints there is nothing to complete
        self.audit = Audit(
            mode, overhead, project.is_project, project.is_own, project.files, project.sources.name
        )
        self.warn = warn
        self._failed = failed or warn
        self.began = perf_counter()
        self.broken = False  # the store failed: training goes on, recording does not
        self.foreign = Flag()
        self.children = Children()
        self._foreign_seen = False
        self._values_lost = Flag()
        self.forked, self.spawned = Forked(self.project), Spawned()
        self._told: set[str] = set()
        self._muted: set[str] = set()
        self._next_hook = FIRST_HOOK
        self._differentiated: set[int] = set()  # the events of checkpoints that brought no graph back
        self._on_the_way: deque[OnTheWay] = deque()
        self._chances: dict[str, Chances] = {}  # by block
        self._stalls: dict[str, tuple[float, float]] = {}  # by block: for its entry state, for a checkpoint
        self._blind: dict[str, int] = {}  # block -> checkpoints that could not see all

    # -- loops --------------------------------------------------------------------------
    def loop(self, block: str, names: tuple[str, ...], frame: Any, skippable: bool) -> Guard:
        if self.broken or block in self._muted or keeps_locals(frame):
            return INERT
        with calm:
            return self._open(block, names, frame)

    def _open(self, block: str, names: tuple[str, ...], frame: Any) -> Guard:
        for gone in self.stack.prune(frame, block):
            self._safely(lambda gone=gone: self._close_raised(gone))  # type: ignore[misc]
        depth = len(self.stack.loops)
        if depth >= USEFUL_DEPTH:
            return INERT
        guard = RecordLoop(self, block, names or self.project.binds.get(block, ()), frame, depth)
        self.stack.loops.append(guard)
        self._safely(lambda: self._enter(guard))
        return guard

    def _enter(self, loop: RecordLoop) -> None:
        self._settle()
        entered: list[Any] = [] if loop.depth else [round(self._program_seconds(), 6)]
        given = plain(*_parameters(loop))
        self.journal.add(["L", loop.block, *([given, *entered] if given or entered else [])], soon=True)
        loop.saved = self.marks.push()
        self._audit_entry(loop)
        if loop.depth:
            self._start_base(loop)
        else:
            self.policy.begin(self._exit_id(loop), self._iteration_id(loop))
        loop.began, loop.spent = perf_counter(), self.policy.stalled

    def start_base(self, loop: RecordLoop) -> None:
        self._safely(lambda: self._start_base(loop))

    def _start_base(self, loop: RecordLoop) -> None:
        """Keep the entry state, if checkpoints of this loop are worth their cost."""
        block = self._exit_id(loop)
        if self._blind.get(loop.block, 0) >= GIVE_UP_AFTER:
            loop.unkept = "blind"
            return
        wants = self.policy.wants if loop.depth else self.policy.wants_entry
        if wants(block, self._elapsed()):
            started = perf_counter()
            loop.base, key = self.snapshots.enter(self.project.root(self._names(loop)), full=not loop.depth)
            self.journal.add(["B", key], soon=True)
            self.policy.prepared(block, perf_counter() - started)

    @staticmethod
    def _names(loop: RecordLoop) -> dict[str, Any]:
        """The frame's names, and the main loop's iterator under a name that no variable can have."""
        return loop.locals() | ({} if loop.iterator is None else {ITERATOR: loop.iterator})

    @staticmethod
    def _exit_id(loop: RecordLoop) -> str:
        return loop.block if loop.depth else f"{loop.block} (main)"

    @staticmethod
    def _iteration_id(loop: RecordLoop) -> str:
        return f"{loop.block} (iteration)"

    def boundary(self, loop: RecordLoop) -> None:
        self._safely(lambda: self._boundary(loop))

    def _boundary(self, loop: RecordLoop) -> None:
        started, stalled = perf_counter(), self.policy.stalled
        for gone in self.stack.close(loop):
            self._close_raised(gone)
        block = self._iteration_id(loop)
        seconds, hits = self._measured(loop), self.marks.hits()
        if loop.iteration:
            self.policy.ran_iteration(seconds, hits)
            self._audit(loop)
        if not loop.depth:
            loop.audited = self.audit.due(block, self.policy.costs(block).executions, self._elapsed())
        self._note_others()
        self.marks.clear()
        taken = None
        if loop.iteration == 0 and loop.base is None and loop.iterator is None:
            self._start_base(loop)  # a while loop
        elif loop.iteration:
            if loop.base is not None and self.policy.wants_iteration(self._elapsed()):
                taken = self._take(loop, block, self._names(loop))
            else:
                self._saw(loop, loop.unkept)
        event = ["I", loop.iteration, self._values(loop), None, hits, round(max(seconds, 0.0), 6)]
        self._tell(loop, event, block, taken)
        loop.began = perf_counter()
        noting = loop.began - started - (self.policy.stalled - stalled)
        self.policy.paid(noting)
        loop.noting += noting
        loop.ran += seconds
        if loop.iteration and loop.iteration % WINDOW == 0:
            if loop.iteration > WINDOW and self._is_too_short(loop):
                loop.live = False
                self.journal.add(["S"])
            loop.noting = loop.ran = 0.0
        loop.spent = self.policy.stalled

    def _is_too_short(self, loop: RecordLoop) -> bool:
        """True if to note a main loop's iterations takes more of their time than may be taken."""
        return loop.noting > (self.policy.overhead or DEFAULT_OVERHEAD) * loop.ran

    def leave(self, loop: RecordLoop, extra: dict[str, Any]) -> None:
        self._safely(lambda: self._leave(loop, extra))
        loop.frame = loop.base = loop.iterator = None

    def _leave(self, loop: RecordLoop, extra: dict[str, Any]) -> None:
        for gone in self.stack.close(loop):
            self._close_raised(gone)
        if self.stack.loops:
            self.stack.loops.pop()
        block = self._exit_id(loop)
        seconds = self._measured(loop)
        if loop.depth:
            self.policy.ran(block, seconds)
        else:
            self.policy.left(seconds)
        self._audit(loop)
        hits = self.marks.hits()
        self.marks.pop(loop.saved)
        taken = None
        if loop.base is not None and (loop.depth or self.policy.wants_exit(self._elapsed())):
            taken = self._take(loop, block, loop.locals() | extra)
        else:
            self._saw(loop, loop.unkept)
        self._note_others()
        self._tell(loop, ["X", loop.outcome, round(seconds, 6), None, hits], block, taken)
        costs = self.policy.costs(block)
        if loop.depth and costs.executions >= MUTE_AFTER and costs.compute < MUTE_BELOW:
            self.mute(loop.block)

    def mute(self, block: str) -> None:
        """From here on this loop is not followed."""
        if block not in self._muted:
            self._muted.add(block)
            self.journal.add(["Q", block])

    def _watch(self, graphs: list[Any], block: str, at_exit: bool, number: int) -> None:
        """Note if something is later backpropagated into: a restored tensor has no graph for that."""

        def seen(_: Any) -> None:
            if number not in self._differentiated:
                self._differentiated.add(number)
                self.event(["D", number])
                if at_exit:
                    self.mute(block)

        if not graphs:
            return
        handle = sys.modules["torch"].utils.hooks.RemovableHandle
        before, handle.next_id = handle.next_id, self._next_hook
        for tensor in graphs[:MAX_GRAPHS]:
            tensor.grad_fn.register_prehook(seen)
        self._next_hook = handle.next_id
        handle.next_id = before  # the program's own hooks keep the numbers they would have had

    # -- the audit ------------------------------------------------------------------------
    def _audit_entry(self, loop: RecordLoop) -> None:
        """Before a loop: what has changed until now is its surrounding's doing."""
        block = self._exit_id(loop)
        loop.audited = self.audit.due(block, self.policy.costs(block).executions, self._elapsed())
        if loop.audited:
            found = self._look()
            if loop.depth:
                self._watch_from_now(found, self.stack.loops[0])

    def _audit(self, loop: RecordLoop) -> None:
        """After a loop or an iteration that is looked at."""
        if loop.audited:
            self._watch_from_now(self._look(), loop)

    def _look(self) -> dict[str, list[str]]:
        spent = self.audit.spent
        found = self.audit.look()
        self.policy.paid(self.audit.spent - spent)
        return {key: new for key, names in found.items() if (new := self.project.unwatched(key, names))}

    def _watch_from_now(self, found: dict[str, list[str]], loop: OpenLoop) -> None:
        """Make what was found a part of the state; the checkpoints so far lack it."""
        if not found:
            return
        kept = "it is kept from here on; what was kept before is not used"
        try:
            for key, names in found.items():
                self.project.watch(key, names)
        except CannotRestore:  # a class that no name leads to: without its state no checkpoint is whole
            kept = "it cannot be kept, and the replay will execute all of it"
            self.policy.overhead = 0.0
            self.audit.stop()
        for opened in self.stack.loops:
            assert isinstance(opened, RecordLoop)
            opened.unseen()
        if isinstance(loop, RecordLoop):
            loop.unseen()  # it has been taken off the stack already
        self.journal.add(["A", sorted(found)])
        paths = [f"{key[1:].replace(':', '.')}.{name}" for key, names in found.items() for name in names]
        words = f"{', '.join(sorted(paths))} changed in {loop.block}, though no name of the project holds it"
        self.note(words)
        self.warn(f"{words}: {kept}")

    def _close_raised(self, loop: OpenLoop) -> None:
        self.journal.add(["Z", loop.block])
        if isinstance(loop, RecordLoop):
            self.marks.pop(loop.saved)
            loop.base = loop.iterator = None
        loop.frame = None

    def _measured(self, loop: RecordLoop) -> float:
        """Seconds since the last boundary less what florc itself took."""
        return perf_counter() - loop.began - (self.policy.stalled - loop.spent)

    def _take(self, loop: RecordLoop, block: str, names: dict[str, Any]) -> Taken | None:
        """Take a checkpoint; None where it does not see all, and while the disk is behind."""
        assert loop.base is not None
        if not self.blobs.has_room and self.policy.overhead < DENSE:
            self._saw(loop, "behind")
            return None
        started, made = perf_counter(), self.blobs.making
        taken = self.snapshots.take(loop.base, self.project.root(names), block)
        writing = taken.job is not None and not taken.opaque
        once = self.blobs.making - made
        self.policy.materialized(block, perf_counter() - started - once, writing)
        self.policy.paid(once)
        self._saw(loop, "blind" if taken.opaque else "taken")
        entry = self.policy.costs(self._exit_id(loop)).prepare.value
        self._stalls[loop.block] = (entry, self.policy.costs(block).stall.value)
        if taken.opaque:
            self._blind[loop.block] = self._blind.get(loop.block, 0) + 1
            if self.policy.costs(block).compute_seconds > UNFELT:
                self.note(
                    f"{loop.block}: florc cannot see inside {', '.join(taken.opaque[:3])}; "
                    "what holds it is executed on replay"
                )
            return None
        return taken

    def _saw(self, loop: RecordLoop, outcome: Outcome) -> None:
        """Count what came of a chance to keep a loop's state."""
        self._chances.setdefault(loop.block, Chances()).saw(outcome)

    def figures(self) -> Figures:
        """What was kept so far."""
        return Figures(
            self.blobs.logical, self.blobs.written, self.policy.spent, self._chances, self._stalls
        )

    def _tell(self, loop: RecordLoop, event: list[Any], block: str, taken: Taken | None) -> None:
        """Write an "I" or "X", with its checkpoint where that is written already."""
        self._settle()
        at_once = taken is not None and taken.job is None and not self._on_the_way
        if taken is not None and at_once:
            event[3] = taken.hashes
        number = self.journal.add(event, now=at_once, soon=True)
        if taken is not None:
            self._watch(taken.graphs, loop.block, event[0] == "X", number)
        if taken is not None and not at_once:
            self._on_the_way.append(OnTheWay(number, block, taken.hashes, taken.job))

    def _settle(self) -> None:
        """Write down which checkpoints have got to the disk since last asked. OSError if one could not."""
        waiting = self._on_the_way
        while waiting and (waiting[0].job is None or waiting[0].job.done):
            number, block, hashes, job = waiting.popleft()
            if job is not None:
                self.policy.background(block, job.seconds)
                if job.error is not None:
                    raise job.error
            self.journal.add(["C", number, hashes], now=True)

    def _values(self, loop: RecordLoop) -> dict[str, Any]:
        """The plain values by which a user may name this iteration."""
        if loop.frame.f_locals is not loop.frame.f_globals:
            return loop.noted.of_function(loop.names, loop.locals())
        return loop.noted.of_module(loop.frame.f_globals, loop.iteration)

    # -- output and notes -----------------------------------------------------------------
    def wrote(self, fd: int, text: str) -> None:
        """Text that the main thread's program has written."""
        frame = sys._getframe(2)
        self._safely(lambda: self._wrote(fd, text, frame))

    def _wrote(self, fd: int, text: str, frame: Any) -> None:
        file, line, numbered = locate(frame, self.project.files)
        numbers: int | list[str] = int(numbered)
        if numbered:
            parts = log_parts(frame, text, line)
            if parts is not None:
                numbers = parts if len(parts) > 1 else 0
        self.journal.add(["w", fd, file, line, text, numbers], now=True)

    def logged(self, name: str, value: Any, frame: Any) -> None:
        """A value that the program notes."""
        self._safely(lambda: self._logged(name, value, frame))

    def _logged(self, name: str, value: Any, frame: Any) -> None:
        kept, note = as_data(value)
        file, line = self.project.files.get(frame.f_code.co_filename), self.project.sources.around(frame).line
        if file is None:
            file, line, _ = locate(frame, self.project.files)
        outermost = self.stack.loops[0] if self.stack.loops else None
        where = context(frame, self.project.sources, outermost)
        self.journal.add(["v", file, line, name, kept, note, where])

    def logged_elsewhere(self, frame: Any) -> None:
        """Another thread or process notes a value: it belongs to no place in the program, and is not kept."""
        self._values_lost.value = 1

    def keep(self, data: bytes) -> str:
        """Keep a file's contents, which the program may unpickle; StoreError once the store has failed."""
        found: list[str] = []
        self._safely(lambda: found.append(self.blobs.put(data, sealed=True)))
        if not found:
            raise StoreError("recording has stopped")
        return found[0]

    def fail(self, error: Exception) -> None:
        """What the program did could not be noted: a replay would miss it."""
        self._safely(lambda: self._break(f"{type(error).__name__}: {error}"))

    def replaced(self) -> None:
        """The program is about to put another one in its place (os.exec); if that fails, it goes on."""
        self._safely(lambda: self.journal.add(["stop", "the program put another one in its place"], now=True))

    def wrote_elsewhere(self) -> None:
        """Text from another thread: it went out, but belongs to no place in the program."""
        self._foreign_seen = True

    def event(self, event: list[Any]) -> None:
        """A clock reading, a file event, a module: what is not about loops."""
        self._safely(lambda: self.journal.add(event))

    def _note_others(self) -> None:
        """Note if text has come from elsewhere (a loader's worker, another thread) since last asked.

        And what of the project has run in forked children.
        """
        if self.foreign.value or self._foreign_seen or self.spawned.may_have_written():
            self.foreign.value, self._foreign_seen = 0, False
            self.journal.add(["o"])
        if self._values_lost.value and VALUES_LOST not in self._told:
            self.note(VALUES_LOST)
            self.warn(VALUES_LOST)
        ran = self.forked.news()
        if ran:
            self.journal.add(["F", ran])

    def note(self, words: str) -> None:
        if words not in self._told:
            self._told.add(words)
            self.journal.add(["n", words])

    def finish(self, code: int, interrupted: bool) -> None:
        self._safely(lambda: self._finish(code, interrupted))
        self.reserve.release()

    def _finish(self, code: int, interrupted: bool) -> None:
        seconds = round(self._program_seconds(), 6)
        self.blobs.finish()
        self._settle()
        self._note_others()
        hits = None if self.children.were_there() else self.marks.hits()
        kept = [self.blobs.count, self.figures().packed()]
        self.journal.add(["E", code, interrupted, *kept, hits, seconds])
        self.journal.sync()
        self.blobs.sync()

    def _elapsed(self) -> float:
        return perf_counter() - self.began

    def _program_seconds(self) -> float:
        """What the program itself has taken: without what it stood still for."""
        return max(self._elapsed() - self.policy.stalled, 0.0)

    def _safely(self, action: Callable[[], Any]) -> None:
        """Do what recording needs; whatever fails, training goes on without it."""
        if self.broken:
            return
        with calm, resting():
            try:
                action()
            except Exception as error:
                self._break(f"{type(error).__name__}: {error}")

    def _break(self, why: str) -> None:
        """Stop recording, for good."""
        self.broken = True
        self.stack.loops.clear()
        self.reserve.release()
        with suppress(Exception):
            self.journal.add(["stop", why], now=True)
        self._failed(f"recording stops here, the program goes on: {why}")
