"""Replaying: guards that skip what holds no probe, put states back, and follow the journal."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cached_property
from time import perf_counter  # the real one, whatever stands in `time` later
from typing import Any

from .checkpoint import MAX_NAMED, LiveState
from .emitter import Emitter
from .errors import CannotRestore, NeedsExecution, ReplayDone, StoreError
from .following import Follower
from .guards import INERT, USEFUL_DEPTH, Guard, OpenLoop, keeps_locals
from .isolation import Isolated, NoProbe
from .leaving import is_past
from .lockstep import Edits
from .replay_loop import ProbeGuard, ReplayLoop
from .route import Route
from .script import Iteration, Script
from .signals import calm
from .store import BlobReader
from .tally import Restart, Wish

# What was executed is compared with its checkpoints within this many seconds, and this share of the replay's
CHECK_GRACE, CHECK_SHARE = 5.0, 0.2


class Replayer(Follower):
    """One replay of one recorded run."""

    def __init__(self, blobs: BlobReader, script: Script, edits: Edits, wish: Wish, emit: Emitter) -> None:
        super().__init__(script, edits, wish, emit)
        self.blobs = blobs
        self.route = Route(script, edits, wish.window, wish.scratch, self._trusts)
        self.on_jump: Callable[[int], None] = lambda position: None
        self.is_elsewhere: Callable[[], bool] = lambda: False
        self.on_iteration: Callable[[int, int], None] = lambda loop, iteration: None
        self._damaged: set[str] = set()  # checkpoints that cannot be read
        self._began, self._check_seconds = perf_counter(), 0.0
        self._main_numbers = {run.start: number for number, run in enumerate(script.main_loops)}
        self._recorded = {event[1] for event in script.events if event[0] == "L"}
        self.modules = {event[1] for event in script.events if event[0] == "M"}

    # -- entering -------------------------------------------------------------------------
    def loop(self, block: str, names: tuple[str, ...], frame: Any, skippable: bool) -> Guard:
        if self.off or self.ahead or self.is_probe(frame):
            return INERT
        if block not in self._recorded and keeps_locals(frame):
            return INERT
        for gone in self.stack.prune(frame, block):
            self._close_raised(gone)
        depth = len(self.stack.loops)
        if depth >= USEFUL_DEPTH:
            return INERT
        event = self.cursor.peek("L")
        if event is None or event[1] != block:
            if self.script.muted.get(block, sys.maxsize) < self.cursor.ahead():
                return INERT
            self.diverge(f"the loop {block} is entered where the recorded run did otherwise")
            return INERT
        run = self.script.at[self.cursor.position]
        self.cursor.position += 1
        guard = ReplayLoop(self, run, names or self.project.binds.get(block, ()), frame, depth)
        guard.skippable = skippable
        self.stack.loops.append(guard)
        if depth == 0:
            self._enter_main(guard)
        else:
            self._enter_block(guard)
        return guard

    def _enter_main(self, loop: ReplayLoop) -> None:
        run = loop.run
        loop.number = self._main_numbers[run.start]
        self.tally.loops_began = self.tally.loops_began or perf_counter()
        loop.wanted = self.route.wanted(run, loop.number, loop.skippable)
        if self._is_watched(loop.frame):  # with --at, what it tells after the loop is not asked for
            whole = self.window.selected is None
            every = range(len(run.iterations))
            loop.wanted = [i for i in every if whole or self.window.shows(loop.number, i)]
        if loop.wanted or self.wish.scratch:
            return
        if self._gives_out_rest(loop):
            raise self._stop(ReplayDone())
        if not (run.base and self.route.skips_to_exit(run, loop.skippable, run.start)):
            return
        if self._skip(loop, self._state(loop, loop.locals(), at_once=True)):
            self.tally.restored.setdefault(loop.number, set()).update(range(len(loop.run.iterations)))
        else:
            loop.wanted = [len(run.iterations) - 1]

    def _is_watched(self, frame: Any) -> bool:
        """True if an added profiler or timer stands around what the frame is at: it looks at what runs."""
        files, watched = self.project.files, self.edits.watched
        while frame is not None and any(watched.values()):
            lines = watched.get(files.get(frame.f_code.co_filename, ""), ())
            if any(first <= frame.f_lineno <= last for first, last in lines):
                return True
            frame = frame.f_back
        return False

    def _trusts(self, ckpt: list[str], block: str) -> bool:
        """False for checkpoints that are damaged, or of a loop whose states an earlier attempt suspects."""
        return ckpt[0] not in self._damaged and block not in self.wish.banned

    def _enter_block(self, loop: ReplayLoop) -> None:
        run = loop.run
        outer = self.stack.loops[0]
        assert isinstance(outer, ReplayLoop)
        watched = self._is_watched(loop.frame)
        if watched or self.route.executes(run, loop.skippable, outer.number, outer.iteration):
            self._execute(loop, keep=bool(run.ckpt and run.base))
            usable = self.route.may_skip(run, loop.skippable)
            if usable and run.last is not None and not self.window.inner and not watched:
                self._prepare_exit(loop)
            return
        state = self._state(loop, loop.locals(), at_once=True)
        if state is None or state.entry_differences:
            # memory that nobody has filled yet differs too (torch.empty): the exit will tell
            self._execute(loop, keep=state is not None, state=state)
            return
        if self._skip(loop, state):
            self.tally.blocks_skipped += 1
        else:
            self._execute(loop, keep=False)

    def _execute(self, loop: ReplayLoop, keep: bool, state: LiveState | None = None) -> None:
        """Run a block; with `keep`, its exit will be compared with the recorded one.

        state: the entry state, where it is known already.
        """
        self.tally.blocks_executed += 1
        outer = self.stack.loops[0]
        assert isinstance(outer, ReplayLoop)
        loop.live = bool(self.window.inner) and self.window.shows(outer.number, outer.iteration)
        outer.ran_block = True
        self.tally.executed.setdefault(outer.number, set()).add(outer.iteration)
        if keep and self._may_check():
            started = perf_counter()
            loop.state = state or self._state(loop, loop.locals())
            if state is not None:
                state.at_entry = None
            self._check_seconds += perf_counter() - started

    def _prepare_exit(self, loop: ReplayLoop) -> None:
        """Have what it takes to leave a block early, where what is computed here is what the record computed.

        The steps that were run are then not compared with a checkpoint.
        """
        if self.elsewhere:
            return
        loop.state = loop.state or self._state(loop, loop.locals())
        loop.early = loop.live = loop.state is not None and not loop.state.entry_differences

    @cached_property
    def elsewhere(self) -> bool:
        """True if something is different here that results depend on: versions, threads, the processor."""
        return self.is_elsewhere()

    def _state(self, loop: ReplayLoop, names: dict[str, Any], at_once: bool = False) -> LiveState | None:
        """The loop's entry state. at_once: what is restored is so before the program runs on."""
        if loop.run.base is None:
            return None
        try:
            state = LiveState(
                self.blobs,
                loop.run.base,
                loop.run.checkpoints,
                names,
                self.project.space,
                self.project.is_project,
            )
        except (CannotRestore, StoreError) as error:
            self.note(f"{loop.block}: {error}; executed instead")
            return None
        if not at_once:
            state.at_entry = None
        return state

    def _skip(self, loop: ReplayLoop, state: LiveState | None) -> bool:
        """Put the exit state back; False if its checkpoint cannot be read."""
        assert loop.run.ckpt is not None
        values = self._restore(loop, state, loop.run.ckpt, loop.locals())
        if values is None:
            return False
        loop.bind(values)
        loop.skipped = True
        self._move(loop, loop.run.end)
        return True

    def _restore(
        self, loop: ReplayLoop, state: LiveState | None, ckpt: list[str], names: dict[str, Any]
    ) -> dict[str, Any] | None:
        """Put a state back; the values for the frame's names, None if the checkpoint cannot be read.

        What fails after that has touched the program: the replay starts again without this loop's states.
        """
        started = perf_counter()
        self._last_restored = loop.block
        try:
            if state is None:
                raise CannotRestore("its entry state was not kept")
            values = state.restore(ckpt, names)
        except StoreError as error:
            self._damaged.add(ckpt[0])
            self.note(f"{loop.block}: {error}; an earlier state is used")
            return None
        except (CannotRestore, NeedsExecution) as error:
            raise self._stop(Restart(f"{loop.block}: {error}", self._last_restored)) from None
        except (
            ArithmeticError,
            LookupError,
            TypeError,
            ValueError,
            AttributeError,
            RuntimeError,
            ImportError,
        ) as error:
            words = f"{loop.block}: {type(error).__name__}: {error}"
            raise self._stop(Restart(words, self._last_restored)) from None
        self.skipped_any = True
        self.tally.restore_seconds += perf_counter() - started
        return values

    # -- iterations -----------------------------------------------------------------------
    def start(self, loop: ReplayLoop) -> None:
        """The iterator of a for loop is there: this is the state that its checkpoints refer to."""
        if loop.frame is not None and not self.off:
            loop.state = self._state(loop, loop.all_names())
            self._check_entry(loop)

    def boundary(self, loop: ReplayLoop) -> bool:
        """At the top of an iteration: check the state, or jump to where it is worth going on."""
        for gone in self.stack.close(loop):
            self._close_raised(gone)
        self._close_iteration(loop)
        loop.iteration += 1
        if loop.run.silent and loop.iteration >= len(loop.run.iterations):
            loop.live = False
            loop.iteration -= 1
            return False
        event = self.cursor.take("I")
        if event is None or event[1] != loop.iteration:
            self.diverge(f"{loop.block} begins iteration {loop.iteration}, which the recorded run did not")
            return False
        if self._at_the_end():
            raise self._stop(ReplayDone())  # nothing of this iteration is known
        self._show(loop, loop.iteration)  # a jump from here gives out its text
        put_back = self._arrive(loop)
        target = next((i for i in loop.wanted if i >= loop.iteration), None)
        if self.window.finished(loop.number, loop.iteration):
            raise self._stop(ReplayDone())
        if target is None and self._gives_out_rest(loop):
            raise self._stop(ReplayDone())
        if target != loop.iteration and not self.wish.scratch:
            put_back = self._jump(loop, target) or put_back
        self._show(loop, loop.iteration)
        self.on_iteration(loop.number, loop.iteration)
        return put_back

    def _close_iteration(self, loop: ReplayLoop) -> None:
        """Book the iteration just run."""
        if loop.iteration < 0 or loop.done:
            return
        run = loop.run.iterations[loop.iteration]
        if not run.blocks or self.wish.scratch:
            loop.ran_block = True
        book = self.tally.executed if loop.ran_block else self.tally.restored
        book.setdefault(loop.number, set()).add(loop.iteration)
        loop.ran_block = False

    def _arrive(self, loop: ReplayLoop) -> bool:
        """Compare with the recorded state; at the very first iteration put back what small things differ."""
        if loop.iteration == 0:
            if loop.iterator is None:
                loop.state = self._state(loop, loop.locals())
                self._check_entry(loop)
            return self._bind_entry(loop)
        ckpt = loop.run.iterations[loop.iteration].ckpt
        if (
            ckpt
            and loop.state is not None
            and self._compare(loop, loop.state, ckpt, loop.all_names(), f"at iteration {loop.iteration}")
        ):
            values = self._restore(loop, loop.state, ckpt, loop.all_names())
            if values is not None:
                loop.bind(values)
                return True
        return False

    def _check_entry(self, loop: ReplayLoop) -> None:
        """Where the entry state differs from the recorded one in small things, put those back."""
        state = loop.state
        if state is None or not state.entry_differences:
            return
        try:
            loop.entry_names = loop.locals()
            loop.entry_values = state.restore_entry(loop.all_names())
        except (CannotRestore, StoreError, NeedsExecution) as error:
            self.problem(
                f"before {loop.block} the program is not where the recorded run was: "
                f"{_listed(state.entry_differences)} ({error})"
            )

    def _bind_entry(self, loop: ReplayLoop) -> bool:
        """At the first iteration: the entry values for the names that the loop itself has not just bound."""
        if loop.entry_values is None:
            return False
        now = loop.locals()
        loop.bind(
            {
                **now,
                **{name: value for name, value in loop.entry_values.items() if name not in loop.fresh(now)},
            }
        )
        loop.entry_values, loop.entry_names = None, {}
        return True

    def _gives_out_rest(self, loop: ReplayLoop) -> bool:
        """Where nothing has to run any more, give out the recorded text that is still asked for."""
        rest = self.route.rest(loop.run, loop.number, loop.iteration, self.cursor.position)
        if rest is None:
            return False
        i, end = rest
        self._book_jump(loop, i)
        if loop.iteration >= 0:
            self._show(loop, loop.iteration)
        self._move(loop, end)
        return True

    def _jump(self, loop: ReplayLoop, target: int | None) -> bool:
        """Go to the checkpoint nearest before the target (None: the loop's exit). False: just run on."""
        run, here = loop.run, self.cursor.position
        to_exit = target is None and self.route.skips_to_exit(run, loop.skippable, here)
        if to_exit and self._jump_to_exit(loop):
            return True
        for i in self.route.landings(run, loop.iteration, here, target):
            ckpt = run.iterations[i].ckpt
            if ckpt is None or loop.state is None:
                continue
            values = self._restore(loop, loop.state, ckpt, loop.all_names())
            if values is not None:
                self._book_jump(loop, i)
                self._move(loop, run.iterations[i].start + 1)
                loop.iteration = i
                loop.bind(values)
                return True
        return False

    def _jump_to_exit(self, loop: ReplayLoop) -> bool:
        assert loop.run.ckpt is not None
        values = self._restore(loop, loop.state, loop.run.ckpt, loop.all_names())
        if values is None:
            loop.wanted.append(len(loop.run.iterations) - 1)  # the way out must be gone
            return False
        self._book_jump(loop, len(loop.run.iterations))
        self._move(loop, loop.run.end)
        loop.bind(values)
        loop.done = True
        return True

    def _book_jump(self, loop: ReplayLoop, to: int) -> None:
        self.tally.restored.setdefault(loop.number, set()).update(range(max(loop.iteration, 0), to))

    def _move(self, loop: ReplayLoop, position: int) -> None:
        """Move the cursor, giving out what was written on the way."""
        while self.cursor.position < position:
            stop = next(
                (
                    iteration
                    for iteration in self._main_iterations(loop)
                    if self.cursor.position <= iteration.start < position
                ),
                None,
            )
            self.cursor.jump(min(position, stop.start) if stop else position, self.recorded)
            if stop:
                self._show(loop, loop.run.iterations.index(stop))
                self.cursor.jump(stop.start + 1, self.recorded)
        self.on_jump(position)
        if loop.depth == 0 and position == loop.run.end:
            self.showing = self.window.outside(loop.number + 1)

    def _main_iterations(self, loop: ReplayLoop) -> list[Iteration]:
        return loop.run.iterations if loop.depth == 0 and not self.window.whole else []

    def inner(self, loop: ReplayLoop) -> bool:
        """At the top of an iteration inside a chosen one: print what it writes if it is chosen too."""
        names = loop.frame.f_globals if loop.frame.f_locals is loop.frame.f_globals else loop.locals()
        wanted = self.window.inner
        self.showing = any(one.name in names and one.holds(names[one.name]) for one in wanted)
        if not self.showing and all(one.name in names and one.is_past(names[one.name]) for one in wanted):
            self._end_early(loop)
        return False

    def end_early(self, loop: ReplayLoop) -> bool:
        """At the top of a block's iteration: once nothing in it can show any more, put its exit back."""
        run = loop.run
        names = loop.frame.f_globals if loop.frame.f_locals is loop.frame.f_globals else loop.locals()
        if run.last is None or not is_past(run.last, names):
            return False
        with calm:
            return self._leave_early(loop)

    def _leave_early(self, loop: ReplayLoop) -> bool:
        run = loop.run
        loop.early = loop.live = False  # if it fails, it runs on
        if not self.route.skips_to_exit(run, loop.skippable, self.cursor.position):
            return False
        assert run.ckpt is not None
        values = self._restore(loop, loop.state, run.ckpt, loop.locals())
        if values is None:
            return False
        self._move(loop, run.end)
        loop.bind(values)
        loop.done = True
        self.tally.blocks_left += 1
        self.note(
            f"{loop.block}: left once the added lines had nothing more to show; "
            "of the steps that ran, the output was compared and the state was not",
            key=f"left {loop.block}",
        )
        return True

    def _end_early(self, loop: ReplayLoop) -> None:
        """All chosen iterations of this loop are past: stop if nothing that comes after it is chosen."""
        outer = self.stack.loops[0]
        assert isinstance(outer, ReplayLoop)
        later = [run for run in outer.run.iterations[outer.iteration].blocks if run.start > loop.run.start]
        probed = any(self.edits.touch(run.hits) for run in later)
        if not probed and self.window.finished(outer.number, outer.iteration + 1):
            raise self._stop(ReplayDone())

    def _show(self, loop: ReplayLoop, iteration: int) -> None:
        self.showing = self.window.shows(loop.number, iteration) and not self.window.inner

    # -- leaving --------------------------------------------------------------------------
    def _close_raised(self, loop: OpenLoop) -> None:
        """An exception has left this loop."""
        self.cursor.take("Z")
        if isinstance(loop, ReplayLoop):
            loop.let_go()

    def leave(self, loop: ReplayLoop, extra: dict[str, Any]) -> None:
        try:
            self._leave(loop, extra)
        finally:
            loop.let_go()

    def _leave(self, loop: ReplayLoop, extra: dict[str, Any]) -> None:
        for gone in self.stack.close(loop):
            self._close_raised(gone)
        if self.stack.loops:
            self.stack.loops.pop()
        names = loop.locals() if not (loop.skipped or loop.done or self.off) else {}
        loop.frame = None
        if loop.skipped or loop.done or self.off:
            return
        if loop.depth == 0:
            self._close_iteration(loop)
            self.showing = self.window.outside(loop.number + 1)
        elif self.window.inner:
            self.showing = False
        if self.cursor.take("X") is None:
            self.diverge(f"{loop.block} ends where the recorded run went on")
        elif loop.run.ckpt and loop.state is not None:
            self._compare(loop, loop.state, loop.run.ckpt, names | extra, "at its end")
        if loop.depth == 0 and self.window.finished_after(loop.number):
            raise self._stop(ReplayDone())

    def _may_check(self) -> bool:
        """True while the comparisons of what was executed take but a part of the replay's time."""
        allowed = CHECK_GRACE + CHECK_SHARE * (perf_counter() - self._began)
        return self.wish.thorough or self._check_seconds < allowed

    def _compare(
        self, loop: ReplayLoop, state: LiveState, ckpt: list[str], names: dict[str, Any], where: str
    ) -> bool:
        """Compare with the recorded state; True if clock readings alone differ: then it is to be put back."""
        if not self._may_check():
            return False
        started = perf_counter()
        try:
            found = state.compare(ckpt, names)
        except (CannotRestore, StoreError) as error:
            self.note(f"{loop.block} {where}: not compared: {error}")
            return False
        self._check_seconds += perf_counter() - started
        self.tally.state_compared += 1
        if found.wrong:
            self.inexact(f"{loop.block} {where}: not as recorded: {_listed(found.wrong)}")
            return False
        self.tally.state_equal += 1
        if found.clocks:
            self.note(
                f"{loop.block}: differs from run to run, as clock readings do: {_listed(found.clocks)}",
                key=f"clocks {loop.block}",
            )
        return bool(found.clocks)

    # -- probes ---------------------------------------------------------------------------
    def probe(self, where: str, names: tuple[str, ...], frame: Any) -> NoProbe:
        """Before a probe that may change what it observes."""
        files = self.project.module_files
        shared = {name: self.edits.own.get(file, {}).get(0, frozenset()) for name, file in files.items()}
        return ProbeGuard(self, where, Isolated(self.project, frame, self.own_of(frame), names, shared))

    def own_of(self, frame: Any) -> frozenset[str]:
        """The names of a frame that belong to probes."""
        file = self.project.files.get(frame.f_code.co_filename)
        return frozenset() if file is None else self.edits.own_of(file, frame.f_code)

    def probed(self, where: str, isolated: Isolated) -> None:
        """After it: put back what it changed."""
        try:
            changed = isolated.restore()
        except (CannotRestore, NeedsExecution) as error:
            self.problem(f"what the lines at {where} change cannot be put back: {error}")
            return
        if changed:
            self.note(f"{where}: put back what {_these(where)}: {_listed(changed)}", key=f"probe {where}")



def _these(where: str) -> str:
    """Of lines given as ``train.py:7`` or ``train.py:7-9``, that they change something."""
    return "these lines change" if "-" in where.rpartition(":")[2] else "this line changes"


def _listed(paths: list[str]) -> str:
    """The first few by name, the rest counted."""
    paths = list(dict.fromkeys(paths))  # a tensor and its memory have one name
    more = f" and {len(paths) - MAX_NAMED} more" if len(paths) > MAX_NAMED else ""
    return ", ".join(paths[:MAX_NAMED]) + more
