"""The runs of a store: one folder each, `runs/<run>`, described by its `run.json`.

What enters are facts about a run, what leaves are `Run` values. A run's description is written
aside and renamed, so that a reader never meets half of one.
"""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from .errors import StoreError

FORMAT = 1
FOLDER = "runs"
FILE = "run.json"
RUNNING, DONE, FAILED, INTERRUPTED = "running", "done", "failed", "interrupted"

# a name is one path component: it can neither leave the folder nor hide in it
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_TRIES = 100  # several ranks of one job start within the same second and try names in turn


@dataclass(frozen=True)
class Run:
    """One recorded run.

    folder: where it lies; not part of the description.
    script: the script's path as seen from the store's parent folder, or the module's name.
    started, finished: UTC, ISO 8601. exit_code: None while it runs and where it was killed.
    env: the environment variables that may matter. include: installed packages treated as the project's.
    threads: what torch computed with. rank: in a job of several processes.
    more: fields this version does not know.
    """

    folder: Path
    run: str
    script: str
    module: bool = False
    argv: tuple[str, ...] = ()
    cwd: str = ""
    started: str = ""
    finished: str | None = None
    status: str = RUNNING
    exit_code: int | None = None
    python: str = ""
    torch: str | None = None
    florc: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    hash_seed: str | None = None
    git: str | None = None
    threads: int | None = None
    rank: int | None = None
    include: tuple[str, ...] = ()
    pid: int | None = None
    host: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def state(self) -> str:
        """The status, where a run whose process is gone (killed, power lost) counts as interrupted."""
        if self.status == RUNNING and self.host == platform.node() and not _is_alive(self.pid):
            return INTERRUPTED
        return self.status


_OWN_FIELDS = frozenset(entry.name for entry in fields(Run)) - {"folder", "more"}


def create(store: Path, name: str | None, script: str, **facts: Any) -> Run:
    """Make a run's folder and describe it as running.

    name: the run's name; None: one made of the time. `facts` are fields of Run.
    StoreError for a name that is unfit or taken; OSError where the store cannot be written.
    """
    (store / FOLDER).mkdir(parents=True, exist_ok=True)
    started = datetime.now(timezone.utc)
    if name is None:
        folder = _make_unique(store / FOLDER, f"{started.astimezone():%Y%m%d-%H%M%S}", facts.get("rank"))
    else:
        folder = _make_named(store, name)
    facts = {"started": started.isoformat(), "pid": os.getpid(), "host": platform.node(), **facts}
    run = Run(folder=folder, run=folder.name, script=script, **facts)
    _write(run)
    return run


def _make_named(store: Path, name: str) -> Path:
    folder = run_folder(store, name)
    try:
        folder.mkdir()
    except FileExistsError:
        hint = f"choose another name, or remove it with: florc runs rm {name}"
        raise StoreError(f"there is already a run named '{name}'", hint) from None
    return folder


def _make_unique(parent: Path, stem: str, rank: int | None) -> Path:
    stem += "" if rank is None else f"-rank{rank}"
    for attempt in range(_TRIES):
        folder = parent / (stem if attempt == 0 else f"{stem}-{os.urandom(2).hex()}")
        try:
            folder.mkdir()
        except FileExistsError:
            continue
        return folder
    raise StoreError(f"no free run name like {stem} in {parent}", "give one with --name")


def run_folder(store: Path, name: str) -> Path:
    """The folder of the run called `name`, whether it exists or not; StoreError for an unfit name."""
    if not _NAME.fullmatch(name):
        hint = "use up to 100 letters, digits, '-', '_' and '.', a letter or digit first"
        raise StoreError(f"'{name}' cannot be the name of a run", hint)
    return store / FOLDER / name


def load(store: Path, name: str) -> Run:
    """The run called `name`; StoreError if there is none, or none this version can read."""
    folder = run_folder(store, name)
    if not folder.is_dir():
        raise StoreError(f"no run named '{name}' in {store}", "florc runs ls shows those there are")
    return _read(folder)


def existing(store: Path, name: str) -> Run:
    """The run called `name`, to be removed: a damaged one or one of a newer florc too."""
    folder = run_folder(store, name)
    return Run(folder=folder, run=name, script="") if folder.is_dir() else load(store, name)


def all_runs(store: Path) -> list[Run]:
    """The readable runs of the store, oldest first; none if there is no store."""
    found = [run for _, run in _entries(store) if isinstance(run, Run)]
    return sorted(found, key=lambda run: (run.started, run.run))


def unreadable(store: Path) -> list[tuple[str, StoreError]]:
    """The runs that cannot be read, with the reason."""
    return [(name, fault) for name, fault in _entries(store) if isinstance(fault, StoreError)]


def newest(store: Path, script: str, *, module: bool = False, rank: int | None = None) -> Run:
    """The newest run of a script or module; StoreError if it was never recorded here."""
    mine = [run for run in all_runs(store) if (run.script, run.module, run.rank) == (script, module, rank)]
    if mine:
        return mine[-1]
    for name, fault in _entries(store):
        if isinstance(fault, StoreError):
            raise StoreError(f"no readable run of {script} in {store} ({name}: {fault.message})", fault.hint)
    what = f"-m {script}" if module else script
    raise StoreError(f"no run of {script} in {store}", f"record one with: florc record {what}")


def update(run: Run, **changes: Any) -> Run:
    """Write the run with some fields changed, and return it. Names that Run does not have go to `more`."""
    known = {name: value for name, value in changes.items() if name in _OWN_FIELDS}
    more = {name: value for name, value in changes.items() if name not in _OWN_FIELDS}
    changed = replace(run, **known, more={**run.more, **more})
    _write(changed)
    return changed


def remove(run: Run) -> None:
    """Delete the run's folder. What it shares with other runs stays in the store."""
    import shutil  # takes 10 ms to import, and a recording never needs it

    shutil.rmtree(run.folder)


def _entries(store: Path) -> Iterator[tuple[str, Run | StoreError]]:
    parent = store / FOLDER
    try:
        folders = sorted(
            entry for entry in parent.iterdir() if _NAME.fullmatch(entry.name) and entry.is_dir()
        )
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise StoreError(
            f"cannot read the store {store}: {error.strerror}", "check its permissions"
        ) from None
    for folder in folders:
        try:
            yield folder.name, _read(folder)
        except StoreError as fault:
            yield folder.name, fault


def _read(folder: Path) -> Run:
    path = folder / FILE
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}", "the run may be incomplete") from None
    except ValueError:
        raise StoreError(f"{path} is damaged", f"remove the run with: florc runs rm {folder.name}") from None
    if not isinstance(data, dict) or not isinstance(data.get("format"), int):
        raise StoreError(f"{path} is no description of a run") from None
    if data["format"] > FORMAT:
        message = (
            f"the run {folder.name} was recorded by a newer florc (format {data['format']}, known: {FORMAT})"
        )
        raise StoreError(message, "upgrade florc to read it")
    known = {name: value for name, value in data.items() if name in _OWN_FIELDS}
    more = {name: value for name, value in data.items() if name not in _OWN_FIELDS | {"format"}}
    if not isinstance(known.get("script"), str):
        raise StoreError(f"{path} does not name its script")
    known.update(run=folder.name, argv=tuple(known.get("argv", ())), include=tuple(known.get("include", ())))
    return Run(folder=folder, more=more, **known)


def _write(run: Run) -> None:
    data = asdict(run)
    del data["folder"]
    more = data.pop("more")
    text = (
        json.dumps({"format": FORMAT, **data, **more}, indent=1) + "\n"
    )  # ASCII: paths may hold bytes that are no text
    aside = run.folder / f"{FILE}.{os.getpid()}"
    with open(aside, "w", encoding="ascii") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(aside, run.folder / FILE)


def _is_alive(pid: int | None) -> bool:
    if pid is None:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # somebody else's process
    return True
