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
    answering,
    causes,
    environment,
    locks,
    messages,
    narrowing,
    outlook,
    overlays,
    planning,
    progress,
    project,
    reaching,
    relocating,
    runner,
    searching,
    selection,
    startup,
    summary,
    trust,
    workers,
)
from .cache import CodeCache
from .errors import EXIT_INEXACT, EXIT_REFUSED, FlorcError
from .hook import Hooks, Source, plain
from .matching import FileMatch, bound_names, carried, edits_of, loop_targets, match_project
from .options import ReplayOptions, Target
from .project import Project
from .recording import script_id
from .runtime import emitter, journal, runs
from .runtime.errors import StoreError
from .runtime.lockstep import Edits
from .runtime.route import Route
from .runtime.script import Script, parse
from .runtime.window import Window
from .transforms import instrument, to_code


@dataclass(frozen=True)
class Prepared:
    """A replay that may begin.

    matches: file id -> how the edited file goes with the recorded one.
    flaws: why the record is not whole, in words.
    """

    run: runs.Run
    script: Script
    matches: dict[str, FileMatch]
    edits: Edits
    cache: CodeCache
    window: Window = field(default_factory=Window)
    flaws: tuple[str, ...] = ()

    @property
    def unskippable(self) -> frozenset[str]:
        """Ids of loops whose exit is never put back: a skip would leave out their `else`."""
        loops = (loop for found in self.matches.values() for loop in found.plan.loops)
        return frozenset(loop.id for loop in loops if loop.has_else)

    def route(self, window: Window, scratch: bool = False) -> Route:
        """The way that a replay of this part takes."""
        return Route(self.script, self.edits, window, scratch)

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
    folder = runner.locate(options.target)
    store = project.store_folder(options.store)
    trust.check_store(store)
    run = _find(options, store)
    locks.share(run.folder)
    startup.pin_hash_seed(run.hash_seed)
    prepared = prepare(run, folder, options)
    share = workers.own_share()
    parts = _parts(prepared, share, options)
    plans = _plans(prepared, parts, options, clock)
    if options.plan_only:
        return _show(prepared, plans, options)
    _recorded_variables(run)
    if options.first_difference and share is None:
        return searching.search(prepared, options, clock)
    first = emitter.VARIABLE not in os.environ  # of the attempts
    if first and not _is_silent(options, share):
        messages.say(outlook.in_short(plans))
    if len(parts) > 1:
        return _spread(parts, options, clock, outlook.seconds(plans))
    overlay = _overlay()
    try:
        prepared = replace(prepared, window=parts[0])
        one = _Replay(options, store, prepared, overlay, share, plans[0], clock)
        return one.go(Project.of(folder, run.include))
    finally:
        overlays.remove(overlay)


def _overlay() -> Path:
    """A new folder for what the program writes; FlorcError if there can be none."""
    try:
        return overlays.make()
    except OSError as error:
        message = f"no folder can be made for what the program writes: {error.strerror}"
        hint = "make room in the folder for temporary files, or name another in TMPDIR"
        raise FlorcError(message, hint=hint, exit_code=EXIT_REFUSED) from None


def _is_silent(options: ReplayOptions, share: workers.Share | None) -> bool:
    """True if no word is to be said of the plan, and of how long it took."""
    return options.quiet or options.rerun or share is not None


def _parts(prepared: Prepared, share: workers.Share | None, options: ReplayOptions) -> list[Window]:
    """What this process replays, or what each of several workers does."""
    if share is not None:
        return [share.window(prepared.window)]
    if options.workers > 1 and not options.first_difference:
        parts = workers.windows(prepared.script, prepared.edits, prepared.window, options.workers)
        if len(parts) > 1:
            return parts
    return [prepared.window]


def _plans(
    prepared: Prepared, parts: list[Window], options: ReplayOptions, clock: summary.Clock
) -> list[planning.Plan]:
    """The plan of each part; a worker does again what this process has done so far."""
    start = clock.seconds() * (2 if len(parts) > 1 else 1)
    costs = planning.Costs.of(prepared.script, start)
    routes = (prepared.route(part, options.rerun) for part in parts)
    return [planning.make(route, costs, prepared.unskippable) for route in routes]


def _show(prepared: Prepared, plans: list[planning.Plan], options: ReplayOptions) -> int:
    """Print the plan on standard output; 65 if the record is not whole."""
    run = prepared.run
    if options.plan_json:
        click.echo(outlook.as_json(plans, run.run, run.script, prepared.flaws))
    else:
        for line in outlook.lines(plans):
            click.echo(line)
    for words in prepared.unreached():
        messages.say(words)
    for flaw in prepared.flaws:
        messages.warning(f"not exact: {flaw}")
    return EXIT_INEXACT if prepared.flaws else 0


def _spread(parts: list[Window], options: ReplayOptions, clock: summary.Clock, estimate: float) -> int:
    """Let several processes replay."""
    code, merged = workers.run(parts)
    if options.summary is not None and merged:
        merged["seconds"] |= {"total": round(clock.seconds(), 4), "estimate": round(estimate, 4)}
        summary.write(merged, options.summary)
    if not options.quiet:
        summary.took(clock.seconds(), estimate)
    return code


def _find(options: ReplayOptions, store: Path) -> runs.Run:
    target = options.target
    try:
        if options.run is not None:
            run = runs.load(store, options.run)
            if (run.script, run.module) != (script_id(target, store), target.is_module):
                raise FlorcError(
                    f"run {run.run} is of {run.script}, not of {target.name}", exit_code=EXIT_REFUSED
                )
            return run
        return runs.newest(store, script_id(target, store), module=target.is_module, rank=environment.rank())
    except StoreError as error:
        raise FlorcError(error.message, hint=error.hint, exit_code=EXIT_REFUSED) from None


def prepare(run: runs.Run, folder: str, options: ReplayOptions) -> Prepared:
    """Read the run and match every recorded file; FlorcError (69) if it is another program now."""
    read = journal.read(run.folder, run.seal)
    flaws = trust.flaws(run, read)
    here = relocating.home(options.target, run.folder.parents[1])
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
    held = carried(matches) if option else []
    if held:
        names = ", ".join(held)
        message = f"{option}: the added lines carry something from one iteration to the next ({names})"
        raise FlorcError(message, hint=f"replay without {option}")
    window = Window()
    if options.at is not None:
        window = selection.select(
            options.at, script, edits, loop_targets(matches), bound_names(matches)
        )
    if not edits.everywhere:
        narrowing.narrow(script, matches)
    if options.sample is not None:
        window = selection.sample(options.sample, script, edits)
    return Prepared(run, script, matches, edits, cache, window, flaws)


def _parting(options: ReplayOptions) -> str:
    """The option, if there is one, by which iterations are replayed apart from those before them."""
    asked = {
        "--first-difference": options.first_difference,
        "--at": options.at is not None,
        "--sample": options.sample is not None,
        "--workers": options.workers > 1,
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
        store: Path,
        prepared: Prepared,
        overlay: Path,
        share: workers.Share | None,
        plan: planning.Plan,
        clock: summary.Clock,
    ) -> None:
        self._options = options
        self._share = share
        self._store = store
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
        hooks = Hooks(self._load, self._start, self._module, session.finish, session.ENDS)
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
                store=self._store,
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
        share = {} if self._share is None else {workers.VARIABLE: self._share.handed()}
        return {**os.environ, **share, summary.BEGAN: repr(self._clock.began)}

    def _watchers(self) -> dict[str, Any]:
        """What the bar has to be told of."""
        bar = self._bar
        return {} if bar is None else {"on_iteration": bar.reach, "before_text": bar.writes}

    def _tell(self, words: str) -> None:
        if self._bar is not None:
            self._bar.clear()
        messages.say(words)

    def _report(self, tally: Any, reason: str) -> None:
        if self._bar is not None:
            self._bar.clear()
        file = self._options.summary if self._share is None else self._share.summary
        if not self._options.rerun:
            replay = answering.new_id() if self._share is None else self._share.replay
            answering.keep(self._prepared.run, tally, replay)
        estimate = self._plan.seconds
        summary.report(self._prepared, tally, reason, self._clock, file, self._variables, estimate)
        if self._options.rerun:
            summary.verdict(self._prepared.run, tally)
        overlays.remove(self._overlay)  # os._exit comes back to nobody
        if not self._quiet:
            summary.took(self._clock.seconds(), estimate)
