"""`florc replay`: match the edited project with the recorded one, plan, run, report.

The program runs in this process, as `__main__`, with the recorded arguments; the runtime skips what
holds no probe. Matching and planning need neither torch nor the program.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from . import messages, planning, project, runner, selection, startup, summary
from .errors import EXIT_REFUSED, FlorcError, syntax_error
from .hook import Hooks, Source, plain
from .options import ReplayOptions, Target
from .project import Project
from .recording import script_id
from .runtime import journal, runs
from .runtime.errors import StoreError
from .runtime.lockstep import Edits
from .runtime.script import Script, parse
from .runtime.store import BlobReader
from .transforms import Match, instrument, match, to_code

MAX_CHANGES = 20  # changed lines told by name


@dataclass(frozen=True)
class Prepared:
    """A replay that may begin.

    matches: file id -> how the edited file goes with the recorded one.
    """

    run: runs.Run
    script: Script
    matches: dict[str, Match]
    edits: Edits
    selected: dict[int, frozenset[int]] | None = None
    sources: dict[str, bytes] = field(default_factory=dict)


def replay(options: ReplayOptions) -> int:
    """Replay the program; its exit code, or 65 if the replay is not exact."""
    folder = runner.locate(options.target)
    store = project.store_folder(options.store)
    run = _find(options, store)
    startup.pin_hash_seed(run.hash_seed)
    prepared = prepare(run, folder, options)
    plan = planning.make(prepared.script, prepared.edits, prepared.selected)
    if options.plan_only:
        planning.show(plan)
        return 0
    _recorded_variables(run)
    overlay = Path(tempfile.mkdtemp(prefix="florc-replay-"))
    try:
        return _Replay(options, store, prepared, overlay).go(Project.of(folder, run.include))
    finally:
        shutil.rmtree(overlay, ignore_errors=True)


def _find(options: ReplayOptions, store: Path) -> runs.Run:
    target = options.target
    try:
        if options.run is not None:
            run = runs.load(store, options.run)
            if (run.script, run.module) != (script_id(target, store), target.is_module):
                raise FlorcError(f"run {run.run} is of {run.script}, not of {target.name}", exit_code=EXIT_REFUSED)
            return run
        return runs.newest(store, script_id(target, store), module=target.is_module)
    except StoreError as error:
        raise FlorcError(error.message, hint=error.hint, exit_code=EXIT_REFUSED) from None


def prepare(run: runs.Run, folder: str, options: ReplayOptions) -> Prepared:
    """Read the run and match every recorded file with what it is now; FlorcError (69) if it is another program."""
    blobs = BlobReader(run.folder)
    script = parse(journal.read(run.folder))
    matches: dict[str, Match] = {}
    sources: dict[str, bytes] = {}
    for event in script.events:
        if event[0] == "M" and event[2] not in matches:
            file = event[2]
            path = os.path.join(folder, file)
            sources[file] = _read(path, file)
            matches[file] = _match(_recorded(blobs, event[4]), sources[file], file, path)
    if not matches:
        raise FlorcError(f"run {run.run} ended before its program began", exit_code=EXIT_REFUSED)
    _refuse_changes(matches)
    edits = _edits(matches)
    selected = selection.select(options.at, script, edits.regions) if options.at is not None else None
    return Prepared(run, script, matches, edits, selected, sources)


def _read(path: str, file: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        message = f"a file of the recorded program cannot be read: {error.strerror}"
        raise FlorcError(message, file=file, exit_code=EXIT_REFUSED) from None


def _recorded(blobs: BlobReader, key: str) -> bytes:
    try:
        return blobs.get(key)
    except StoreError as error:
        raise FlorcError(error.message, hint=error.hint, exit_code=EXIT_REFUSED) from None


def _match(old: bytes, new: bytes, file: str, path: str) -> Match:
    try:
        plan = instrument(old, file).plan
        found = match(old, new, plan, isolating=True)
    except (SyntaxError, ValueError) as error:
        raise syntax_error(error, path) from None
    guarded = {loop.id for loop in plan.loops if loop.guarded}
    return replace(found, ids={place: block for place, block in found.ids.items() if block in guarded})


def _refuse_changes(matches: dict[str, Match]) -> None:
    changes = [(file, change) for file, found in matches.items() for change in found.changes]
    if not changes:
        return
    for file, change in changes[:MAX_CHANGES]:
        messages.say(f"{file}:{change.new_line or change.old_line}: {change.text}  ({change.why})")
    more = f" ({len(changes) - MAX_CHANGES} more)" if len(changes) > MAX_CHANGES else ""
    raise FlorcError(
        f"this is another program than the recorded one: {len(changes)} changed lines{more}",
        hint="a replay takes added lines that only observe; record again, or undo the changes",
        exit_code=EXIT_REFUSED,
    )


def _edits(matches: dict[str, Match]) -> Edits:
    """What the runtime needs to know of the edit."""
    lines: dict[tuple[str, int], int] = {}
    dropped: set[tuple[str, int]] = set()
    probes: dict[str, frozenset[int]] = {}
    regions: dict[str, frozenset[int]] = {}
    own: dict[str, frozenset[str]] = {}
    for file, found in matches.items():
        lines |= {(file, old): new for old, new in found.lines.items()}
        for probe in found.probes:
            if probe.old is not None:
                dropped |= {(file, line) for line in range(probe.old[0], probe.old[1] + 1)}
        own[file] = frozenset(name for probe in found.probes for name in probe.own)
        live = [probe for probe in found.probes if probe.kind != "removed"]
        probes[file] = frozenset(n for probe in live for n in range(probe.line, probe.end_line + 1))
        regions[file] = frozenset(probe.region for probe in live if not probe.inert)
    return Edits(lines, frozenset(dropped), probes, regions, own)


def _recorded_variables(run: runs.Run) -> None:
    """Compute with as many threads as the run did: results depend on it."""
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "CUBLAS_WORKSPACE_CONFIG"):
        if name in run.env:
            os.environ[name] = run.env[name]
        else:
            os.environ.pop(name, None)


class _Replay:
    """The hooks of one replay."""

    def __init__(self, options: ReplayOptions, store: Path, prepared: Prepared, overlay: Path) -> None:
        self._options = options
        self._store = store
        self._prepared = prepared
        self._overlay = overlay
        self._clock = summary.Clock()

    def go(self, belongs: Project) -> int:
        from .runtime import session

        run = self._prepared.run
        target = Target(run.script, True) if run.module else self._options.target
        hooks = Hooks(self._load, self._start, self._module, session.finish, session.ENDS)
        return runner.run(target, tuple(run.argv), belongs, hooks)

    def _load(self, name: str, file: str, path: str, source: bytes) -> CodeType:
        found = self._prepared.matches.get(file)
        if found is None:
            return plain(name, file, path, source)
        with startup.own_imports():
            return to_code(instrument(source, file, found.ids), path, marks=False, probes=found.probes)

    def _module(self, source: Source, namespace: dict[str, Any] | None) -> None:
        from .runtime import session

        session.add_module(source.name, source.file, source.path, source.text, namespace)

    def _start(self, main: ModuleType) -> bool:
        from .runtime import session
        from .runtime.replaying import Wish

        prepared = self._prepared
        session.start_replay(
            session.ReplayConfig(
                run_dir=prepared.run.folder,
                store=self._store,
                script=prepared.script,
                edits=prepared.edits,
                wish=Wish(prepared.selected, self._options.new),
                overlay=self._overlay,
                report=self._report,
                told=messages.say,
            )
        )
        return True

    def _report(self, tally: Any, reason: str) -> None:
        summary.report(self._prepared, tally, reason, self._clock, self._options.summary)


