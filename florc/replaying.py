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

from . import (
    answering,
    causes,
    environment,
    locks,
    messages,
    narrowing,
    overlays,
    planning,
    project,
    reaching,
    relocating,
    runner,
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
    folder = runner.locate(options.target)
    store = project.store_folder(options.store)
    trust.check_store(store)
    run = _find(options, store)
    locks.share(run.folder)
    startup.pin_hash_seed(run.hash_seed)
    prepared = prepare(run, folder, options)
    share = workers.own_share()
    plan = planning.make(prepared.script, prepared.edits, prepared.window.selected)
    if options.plan_only:
        planning.show(plan)
        for words in prepared.unreached():
            messages.say(words)
        for flaw in prepared.flaws:
            messages.warning(f"not exact: {flaw}")
        return EXIT_INEXACT if prepared.flaws else 0
    _recorded_variables(run)
    if share is None and options.workers > 1:
        parts = workers.windows(prepared.script, prepared.edits, prepared.window, options.workers)
        if len(parts) > 1:
            return _spread(parts, options)
    try:
        overlay = overlays.make()
    except OSError as error:
        message = f"no folder can be made for what the program writes: {error.strerror}"
        raise FlorcError(
            message, hint="make room in the folder for temporary files, or name another in TMPDIR",
            exit_code=EXIT_REFUSED,
        ) from None  # fmt: skip
    try:
        return _Replay(options, store, prepared, overlay, share).go(Project.of(folder, run.include))
    finally:
        overlays.remove(overlay)


def _spread(parts: list[Window], options: ReplayOptions) -> int:
    """Let several processes replay."""
    code, merged = workers.run(parts)
    if options.summary is not None and merged:
        summary.write(merged, options.summary)
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
    option = "--at" if options.at is not None else "--workers" if options.workers > 1 else ""
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
    return Prepared(run, script, matches, edits, cache, window, flaws)


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
    ) -> None:
        self._options = options
        self._share = share
        self._store = store
        self._prepared = prepared
        self._overlay = overlay
        self._clock = summary.Clock()
        self._variables = environment.relevant_variables()

    def go(self, belongs: Project) -> int:
        from .runtime import session

        run = self._prepared.run
        target = Target(run.script, True) if run.module else self._options.target
        hooks = Hooks(self._load, self._start, self._module, session.finish, session.ENDS)
        code = runner.run(target, tuple(run.argv), belongs, hooks)
        if self._options.new or self._options.at is not None:
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
                    prepared.window if self._share is None else self._share.window(prepared.window),
                    self._options.new,
                    scratch=self._options.rerun,
                    thorough=self._options.rerun,
                    silent=self._options.rerun,
                ),
                overlay=self._overlay,
                environment=self._environment(),
                report=self._report,
                told=messages.say,
                elsewhere=lambda: bool(causes.likely(prepared.run, [], self._variables)),
            )
        )
        return True

    def _environment(self) -> dict[str, str]:
        """What this command began with, for a second attempt."""
        share = {} if self._share is None else {workers.VARIABLE: self._share.handed()}
        return {**os.environ, **share}

    def _report(self, tally: Any, reason: str) -> None:
        file = self._options.summary if self._share is None else self._share.summary
        if not self._options.rerun:
            replay = answering.new_id() if self._share is None else self._share.replay
            answering.keep(self._prepared.run, tally, replay)
        summary.report(self._prepared, tally, reason, self._clock, file, self._variables)
        if self._options.rerun:
            summary.verdict(self._prepared.run, tally)
        overlays.remove(self._overlay)  # os._exit comes back to nobody
