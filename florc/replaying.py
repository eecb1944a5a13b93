"""`florc replay`: match the edited project with the recorded one, plan, run, report.

The program runs in this process, as `__main__`, with the recorded arguments; the runtime skips what
holds no probe. Matching and planning need neither torch nor the program.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import click

from . import (
    causes,
    environment,
    messages,
    overlays,
    progress,
    project,
    runner,
    startup,
    summary,
    trust,
    units,
)
from .cache import CodeCache
from .errors import EXIT_INEXACT, EXIT_REFUSED, FlorcError
from .handing import carried, stops
from .hook import Hooks, Source, plain
from .matching import FileMatch, bound_names, edits_of, loop_targets, match_project
from .notes import answering
from .options import ReplayOptions, Target
from .plans import narrowing, outlook, planning, reaching, selection
from .project import Project
from .recording import script_id
from .runtime import emitter, journal, runs
from .runtime.errors import StoreError
from .runtime.lockstep import Edits
from .runtime.route import Route
from .runtime.script import Script, parse
from .runtime.window import Window
from .spread import leash, shares
from .spread.where import LOCAL
from .stored import locks, relocating, remote
from .transforms import instrument, to_code

LONG_SECONDS = 30.0  # a replay that takes so long is told what workers would make of it


@dataclass(frozen=True)
class Prepared:
    """A replay that may begin.

    matches: file id -> how the edited file goes with the recorded one.
    flaws: why the record is not whole, in words.
    url: the store's, if it lies behind one: what is here is a copy.
    folder: the project's.
    """

    run: runs.Run
    script: Script
    matches: dict[str, FileMatch]
    edits: Edits
    cache: CodeCache
    window: Window = field(default_factory=Window)
    flaws: tuple[str, ...] = ()
    url: str = ""
    folder: str = ""

    @property
    def fingerprint(self) -> str:
        """Tells this run and the edited sources from all others."""
        sources = {file: found.source for file, found in self.matches.items()}
        return shares.fingerprint(self.run.run, self.run.salt, sources)

    @property
    def unskippable(self) -> frozenset[str]:
        """Ids of loops whose exit is never put back: a skip would leave out their `else`."""
        loops = (loop for found in self.matches.values() for loop in found.plan.loops)
        return frozenset(loop.id for loop in loops if loop.has_else)

    def route(self, window: Window, scratch: bool = False) -> Route:
        """The way that a replay of this part takes."""
        return Route(self.script, self.edits, window, scratch)

    def plans(self, parts: list[Window], spent: float, scratch: bool = False) -> list[planning.Plan]:
        """The plan of each part; a worker does again what this process has done in so many seconds."""
        costs = planning.Costs.of(self.script, spent * (2 if len(parts) > 1 else 1))
        return [planning.make(self.route(part, scratch), costs, self.unskippable) for part in parts]

    def unreached(self) -> list[str]:
        """What is to be said of probes that the recorded run never came to."""
        return [] if self.edits.everywhere else list(reaching.unreached(self.script, self.matches))


def replay(options: ReplayOptions) -> int:
    """Replay the program; its exit code, or 65 if the replay is not exact."""
    printed = emitter.printed_before(os.environ)
    try:
        return _replay(options)
    except FlorcError as error:
        if not printed:
            raise
        message = f"not exact: the replay had to start again, and cannot: {error.message}"
        raise FlorcError(message, hint=error.hint, exit_code=EXIT_INEXACT) from None


def _replay(options: ReplayOptions) -> int:
    clock = summary.Clock()
    share = shares.own()
    if share is not None:
        leash.hold(share.parent)
        options = replace(options, run=share.run)
    prepared = _read(options)
    if share is not None:
        _check_inputs(share, prepared)
    if options.plan_only:
        return _show(prepared, options, clock)
    _recorded_variables(prepared.run)
    if share is None:
        code = _by_others(prepared, options, clock)
        if code is not None:
            return code
    window = prepared.window if share is None else share.window(prepared.window)
    (plan,) = prepared.plans([window], clock.seconds(), options.rerun)
    first = emitter.VARIABLE not in os.environ  # of the attempts
    if first and not _is_silent(options, share):
        told = outlook.in_short([plan], plan.seconds)
        messages.say(told + _quicker(prepared, options, plan, clock.seconds()))
    overlay = _overlay()
    try:
        one = _Replay(options, replace(prepared, window=window), overlay, share, plan, clock)
        return one.go(Project.of(runner.locate(options.target), prepared.run.include))
    finally:
        overlays.remove(overlay)


def _read(options: ReplayOptions) -> Prepared:
    """Find the run, and prepare its replay in a process with its hash seed."""
    folder = runner.locate(options.target)
    store, url = remote.opened(options.store, options.run)
    beside = remote.beside(store, url)
    trust.check_store(store)
    run = _find(options, store, beside)
    if url:
        remote.complete(url, run)
    locks.share(run.folder)
    startup.pin_hash_seed(run.hash_seed)
    shares.forget()  # not before: the process may have begun anew
    return replace(prepare(run, folder, options, beside), url=url)


def _check_inputs(share: shares.Share, prepared: Prepared) -> None:
    """A worker replays what its master has read, or nothing: their text is put together."""
    if share.inputs != prepared.fingerprint:
        raise FlorcError(
            f"a worker reads another run {share.run}, or other files of the program, than its master",
            hint="do not save files while a replay starts; on a cluster every node must see the same ones",
            exit_code=EXIT_REFUSED,
        )


def _by_others(prepared: Prepared, options: ReplayOptions, clock: summary.Clock) -> int | None:
    """Let other processes do it, if that was asked for and gains something; None otherwise."""
    if options.first_difference:
        from .plans import searching

        return searching.search(prepared, options, clock)
    if not options.spreads:
        return None
    from .spread import spreading

    return spreading.spread(prepared, options, clock)


def _quicker(prepared: Prepared, options: ReplayOptions, plan: planning.Plan, spent: float) -> str:
    """What several processes would make of a long replay, in words."""
    if options.spreads or plan.seconds < LONG_SECONDS:
        return ""
    from .spread import spreading

    parts = spreading.quickest(prepared, spent)
    if not parts:
        return ""
    seconds = outlook.seconds(prepared.plans(parts, spent))
    return f" (with --workers {len(parts)} about {units.duration(seconds)})"


def _overlay() -> Path:
    """A new folder for what the program writes; FlorcError if there can be none."""
    try:
        return overlays.make()
    except OSError as error:
        message = f"no folder can be made for what the program writes: {error.strerror}"
        hint = "make room in the folder for temporary files, or name another in TMPDIR"
        raise FlorcError(message, hint=hint, exit_code=EXIT_REFUSED) from None


def _is_silent(options: ReplayOptions, share: shares.Share | None) -> bool:
    """True if no word is to be said of the plan, and of how long it took."""
    return options.quiet or options.rerun or share is not None


def _show(prepared: Prepared, options: ReplayOptions, clock: summary.Clock) -> int:
    """Print the plan on standard output; 65 if the record is not whole."""
    from .spread import spreading

    run = prepared.run
    parts = spreading.fitting(prepared, options, clock.seconds()) or [prepared.window]
    plans = prepared.plans(parts, clock.seconds(), options.rerun)
    if options.plan_json:
        here = options.on.kind == LOCAL
        estimate = outlook.seconds(plans, spreading.room(prepared) if here else 0)
        click.echo(outlook.as_json(plans, estimate, run.run, run.script, prepared.flaws))
    else:
        for line in outlook.lines(plans):
            click.echo(line)
    for words in prepared.unreached():
        messages.say(words)
    for flaw in prepared.flaws:
        messages.warning(f"not exact: {flaw}")
    return EXIT_INEXACT if prepared.flaws else 0


def _find(options: ReplayOptions, store: Path, beside: Path) -> runs.Run:
    """The run to replay; `beside` is the store that programs are named from."""
    target = options.target
    try:
        if options.run is not None:
            run = runs.load(store, options.run)
            if (run.script, run.module) != (script_id(target, beside), target.is_module):
                raise FlorcError(
                    f"run {run.run} is of {run.script}, not of {target.name}", exit_code=EXIT_REFUSED
                )
            return run
        name = script_id(target, beside)
        return runs.newest(store, name, module=target.is_module, rank=environment.rank())
    except StoreError as error:
        above = project.store_above(store)
        hint = error.hint if above is None else f"there is {above}: replay in the folder where you recorded"
        raise FlorcError(error.message, hint=hint, exit_code=EXIT_REFUSED) from None


def prepare(run: runs.Run, folder: str, options: ReplayOptions, beside: Path) -> Prepared:
    """Read the run and match every recorded file; FlorcError (69) if it is another program now.

    beside: the store that the project lies beside.
    """
    read = journal.read(run.folder, run.seal)
    flaws = trust.flaws(run, read)
    here = relocating.home(options.target, beside)
    script = parse(relocating.relocated(read.events, run.home, here))
    cache = trust.cache(run.folder.parents[1])
    matches = match_project(script, folder, cache)
    if not matches:
        why = f"is of no use: {'; '.join(flaws)}" if flaws else "ended before its program began"
        raise FlorcError(f"run {run.run} {why}", exit_code=EXIT_REFUSED)
    edits = edits_of(matches)
    if edits.touch(script.in_children):  # when they run there (a loader's workers run ahead) no record tells
        edits = replace(edits, everywhere=True)
    option = _parting(options)
    held = carried(matches, folder, script) if option else []
    if held:
        names = ", ".join(held)
        message = f"{option}: the added lines carry something from one iteration to the next ({names})"
        raise FlorcError(message, hint=f"replay without {option}")
    if option not in ("", "--at", "--sample") and stops(matches, folder):
        message = f"{option}: an added line calls a debugger, and there is no terminal for it"
        raise FlorcError(message, hint="replay with --at")
    window = Window()
    if options.at is not None:
        window = selection.select(
            options.at, script, edits, loop_targets(matches), bound_names(matches)
        )
    if not edits.everywhere:
        narrowing.narrow(script, matches)
    if options.sample is not None:
        window = selection.sample(options.sample, script, edits)
    return Prepared(run, script, matches, edits, cache, window, flaws, folder=folder)


def _parting(options: ReplayOptions) -> str:
    """The option, if there is one, by which iterations are replayed apart from those before them."""
    asked = {
        "--first-difference": options.first_difference,
        "--at": options.at is not None,
        "--sample": options.sample is not None,
        "--workers": options.workers is not None and options.workers > 1,
        options.on.words: options.workers is None and options.on.kind != LOCAL,
    }
    return next((option for option, given in asked.items() if given), "")


def _recorded_variables(run: runs.Run) -> None:
    """Compute with as many threads as the run did: results depend on it."""
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "CUBLAS_WORKSPACE_CONFIG"):
        if name in run.env:
            os.environ[name] = run.env[name]
        else:
            os.environ.pop(name, None)


def _print_no_more() -> None:
    """What objects still print when the interpreter lets go of them was not asked for."""
    if sys.stdout is not None:
        sys.stdout.flush()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)


class _Replay:
    """The hooks of one replay."""

    def __init__(
        self,
        options: ReplayOptions,
        prepared: Prepared,
        overlay: Path,
        share: shares.Share | None,
        plan: planning.Plan,
        clock: summary.Clock,
    ) -> None:
        self._options = options
        self._share = share
        self._prepared = prepared
        self._overlay = overlay
        self._plan = plan
        self._clock = clock
        self._quiet = _is_silent(options, share)
        self._bar = progress.bar(plan, clock.began, self._quiet, prepared.script.others)
        self._variables = environment.relevant_variables()

    def go(self, belongs: Project) -> int:
        from .runtime import session

        run = self._prepared.run
        target = Target(run.script, True) if run.module else self._options.target
        hooks = Hooks(
            self._load, self._start, self._module, session.finish, session.ENDS, session.raised
        )
        code = runner.run(target, tuple(run.argv), belongs, hooks)
        if self._options.new or self._prepared.window.selected is not None:
            _print_no_more()
        return code

    def _load(self, name: str, file: str, path: str, source: bytes) -> CodeType:
        found = self._prepared.matches.get(file)
        if found is None:
            return plain(name, file, path, source)
        key = self._prepared.cache.key("replay", file, path, found.recorded, source)
        code = self._prepared.cache.get(key)
        if code is None:
            with startup.own_imports():
                made = instrument(source, file, found.match.ids)
                code = to_code(made, path, marks=False, probes=found.match.probes)
            self._prepared.cache.put(key, code)
        return code

    def _module(self, source: Source, namespace: dict[str, Any] | None) -> None:
        from .runtime import session

        session.add_module(source.name, source.file, source.path, source.text, namespace)

    def _start(self, main: ModuleType) -> bool:
        from .runtime import session
        from .runtime.tally import Wish

        prepared = self._prepared
        session.start_replay(
            session.ReplayConfig(
                run_dir=prepared.run.folder,
                seal=prepared.run.seal,
                flaws=prepared.flaws,
                store=prepared.run.folder.parents[1],
                script=prepared.script,
                edits=prepared.edits,
                wish=Wish(
                    prepared.window,
                    self._options.new,
                    scratch=self._options.rerun,
                    thorough=self._options.rerun,
                    silent=self._options.rerun,
                    keep_said=self._options.first_difference,
                ),
                overlay=self._overlay,
                environment=self._environment(),
                report=self._report,
                told=self._tell,
                elsewhere=lambda: bool(causes.likely(prepared.run, [], self._variables)),
                **self._watchers(),
            )
        )
        return True

    def _environment(self) -> dict[str, str]:
        """What this command began with, for a second attempt."""
        share = {} if self._share is None else {shares.VARIABLE: self._share.handed()}
        return {**os.environ, **share, summary.BEGAN: repr(self._clock.began)}

    def _watchers(self) -> dict[str, Any]:
        """What the bar has to be told of."""
        bar = self._bar
        return {} if bar is None else {"on_iteration": bar.reach, "before_text": bar.writes}

    def _tell(self, words: str) -> None:
        if self._bar is not None:
            self._bar.clear()
        messages.say(words)

    def _silence(self) -> list[str]:
        """What to say where nothing at all was printed."""
        window = self._prepared.window
        if window.inner:
            return ["no added line printed in those iterations of loops inside that --at names"]
        if self._options.new or self._options.sample:
            where = "" if window.whole else " in the iterations asked for"
            return [f"no added line printed anything{where}"]
        return []

    def _report(self, tally: Any, reason: str) -> None:
        if self._bar is not None:
            self._bar.clear()
        file = self._options.summary if self._share is None else self._share.summary
        if self._share is None and not (tally.shown or tally.noted):
            tally.notes += self._silence()
        if tally.noted and self._prepared.url:
            messages.say(f"what the added lines have noted is not kept: {self._prepared.url} is only read")
        elif not self._options.rerun:
            replay = answering.new_id() if self._share is None else self._share.replay
            answering.keep(self._prepared.run, tally, replay)
        estimate = self._plan.seconds
        summary.report(self._prepared, tally, reason, self._clock, file, self._variables, estimate)
        if self._options.rerun:
            summary.verdict(self._prepared.run, tally)
        overlays.remove(self._overlay)  # os._exit comes back to nobody
        if not self._quiet:
            summary.took(self._clock.seconds(), estimate)
