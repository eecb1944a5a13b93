"""`florc record`: make a run, run the program instrumented, close the run.

A fault of florc must never stop a training: every call into the runtime is fenced, and what goes
wrong there is one warning.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, TypeVar

from . import __version__, environment, gitinfo, messages, project, runner, startup, trust, units
from .cache import CodeCache
from .errors import EXIT_USAGE, FlorcError
from .hook import Hooks, Source
from .loading import RecordLoader
from .options import RecordOptions, Target
from .project import Project
from .runtime import runs
from .runtime.errors import StoreError
from .runtime.figures import Figures
from .stored import relocating

T = TypeVar("T")


def record(options: RecordOptions) -> int:
    """Run the program, keep what a replay needs, and return the program's exit code."""
    folder = runner.locate(options.target)
    store = project.store_folder(options.store)
    belongs = Project.of(folder, options.include)
    recorder = Recorder(options, store, belongs)
    try:
        return runner.run(options.target, options.args, belongs, recorder.hooks())
    except FlorcError:
        recorder.abandon()
        raise


def script_id(target: Target, store: Path) -> str:
    """What a run calls its program: a module's name, or the script's path seen from the store's parent."""
    if target.is_module:
        return target.name
    path = os.path.realpath(target.name)
    home = os.path.realpath(store.parent)
    return Path(os.path.relpath(path, home)).as_posix() if project.is_inside(path, home) else path


class Recorder:
    """The hooks of one recording, and the run they fill."""

    def __init__(self, options: RecordOptions, store: Path, belongs: Project) -> None:
        self._options = options
        self._store = store
        self._project = belongs
        self._key = trust.signing_key()
        self._loader = RecordLoader(CodeCache(store, self._key))
        self._run: runs.Run | None = None
        self._told = False
        self._kept: Callable[[], Figures] | None = None

    def hooks(self) -> Hooks:
        """What the runner calls."""
        return Hooks(load=self.load, start=self.start, module=self.module, finish=self.finish)

    def load(self, name: str, file: str, path: str, source: bytes) -> CodeType:
        """Instrumented code."""
        return self._loader(name, file, path, source)

    def start(self, main: ModuleType) -> bool:
        """Make the run and start the session; False, with a warning, if that is not possible."""
        try:
            project.prepare_store(self._store)
            trust.check_store(self._store, recording=True)
            self._run = self._create()
        except StoreError as error:
            raise FlorcError(error.message, hint=error.hint, exit_code=EXIT_USAGE) from None
        except OSError as error:
            messages.warning(f"cannot write the store {self._store} ({error.strerror}): recording is off")
            return False
        return self._fenced(self._start_session, default=False)

    def _create(self) -> runs.Run:
        target = self._options.target
        return runs.create(
            self._store,
            self._options.name,
            script_id(target, self._store),
            key=self._key,
            module=target.is_module,
            argv=self._options.args,
            cwd=os.getcwd(),
            home=relocating.home(target, self._store),
            python=environment.python_version(),
            torch=environment.torch_version(),
            florc=__version__,
            env=environment.relevant_variables(),
            hash_seed=startup.hash_seed(),
            git=gitinfo.commit(self._project.root),
            rank=environment.rank(),
            include=self._options.include,
        )

    def _start_session(self) -> bool:
        from .runtime import session

        assert self._run is not None
        session.start_record(
            session.RecordConfig(
                run_dir=self._run.folder,
                seal=self._run.seal,
                store=self._store,
                script=self._run.script,
                overhead=self._options.overhead,
                warn=messages.warning,
                failed=self._failed,
                audit=self._options.audit,
            )
        )
        return True

    def module(self, source: Source, namespace: dict[str, Any] | None) -> None:
        """Tell the session of a project module that is about to execute."""

        def add() -> None:
            from .runtime import session

            session.add_module(source.name, source.file, source.path, source.text, namespace)

        self._fenced(add, default=None)

    def finish(self, exit_code: int, error: BaseException | None) -> int:
        """Close the session and the run."""
        if self._run is None:
            return exit_code

        def close() -> int:
            from .runtime import session

            recorder = session.recorder()
            self._kept = recorder.figures if recorder else None
            return int(session.finish(exit_code, error))

        code = self._fenced(close, default=exit_code)
        self._fenced(lambda: self._close_run(exit_code, error), default=None)
        return code

    def _close_run(self, exit_code: int, error: BaseException | None) -> None:
        assert self._run is not None
        if isinstance(error, KeyboardInterrupt):
            status = runs.INTERRUPTED
        else:
            status = runs.FAILED if exit_code else runs.DONE
        self._run = runs.update(
            self._run,
            status=status,
            exit_code=exit_code,
            finished=datetime.now(timezone.utc).isoformat(),
            torch=environment.torch_version(),
            threads=environment.torch_threads(),
            libraries=environment.versions_of_libraries(),
            processor=environment.processor(),
        )
        if messages.on_terminal() and not self._options.quiet:
            self._tell(self._run)

    def _tell(self, run: runs.Run) -> None:
        """One line on what was kept, what it took, and what to do with it."""
        found = self._kept() if self._kept else Figures(0, 0, 0.0)
        count, size = found.checkpoints, sum(entry.stat().st_size for entry in run.folder.iterdir())
        full = f" ({units.size(found.logical)} in full)" if found.logical > size else ""
        kept = f"{count} checkpoint{'s' * (count != 1)}, {units.size(size)}{full}"
        kept += f", {found.spent:.1f} s of overhead"
        messages.say(
            f"recorded as {run.run}: {kept}; add print lines, then: florc replay {_words(self._options)}"
        )

    def abandon(self) -> None:
        """Remove the run of a program that never started."""
        if self._run is not None:
            run = self._run
            self._fenced(lambda: runs.remove(run), default=None)

    def _fenced(self, step: Callable[[], T], default: T) -> T:
        """Do one step of recording; a fault in it is told once and changes nothing for the program."""
        try:
            return step()
        except Exception as error:
            self._failed(f"recording failed, the program goes on: {type(error).__name__}: {error}")
            return default

    def _failed(self, text: str) -> None:
        """Tell that recording has failed; what fails after that is of the same making."""
        if not self._told:
            self._told = True
            messages.warning(text)


def _words(options: RecordOptions) -> str:
    """The program as it is named on a command line."""
    return f"-m {options.target.name}" if options.target.is_module else options.target.name
