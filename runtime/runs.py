"""The runs of a store: one folder each, `runs/<run>`, described by its `run.json`.

What enters are facts about a run, what leaves are `Run` values. A run's description is written
aside and renamed, so that a reader never meets half of one. It carries the MAC of its fields: only runs
that this user's key has sealed are read (see key.py, description.py); all others are refused with a reason.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from . import description, large, private
from . import key as keys
from .description import FILE
from .errors import StoreError
from .key import Key
from .seal import Seal, new_salt

FOLDER = "runs"
REMOVED = ".removed-"  # before the name of a folder that is going: no run's name begins so
RUNNING, DONE, FAILED, INTERRUPTED = "running", "done", "failed", "interrupted"

_NO_SEAL = Seal(b"")

# a name is one path component: it can neither leave the folder nor hide in it
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_TRIES = 100  # several ranks of one job start within the same second and try names in turn


@dataclass(frozen=True)
class Run:
    """One recorded run.

    folder: where it lies; not part of the description.
    script: the script's path as seen from the store's parent folder, or the module's name.
    order: the same as started, by a clock that never goes back: a newer run sorts behind an older one.
    started, finished: UTC, ISO 8601. exit_code: None while it runs and where it was killed.
    home: where the program's own files lay: the store's parent folder, or the program's.
    env: the environment variables that may matter. include: installed packages treated as the project's.
    threads: what torch computed with. rank: in a job of several processes.
    flaws: what a replay must tell: the run was imported, and not all of it is as it was recorded.
    imported_from: who recorded an imported run, as it said itself.
    seal: makes and verifies the run's MACs; not part of the description.
    more: fields this version does not know.
    """

    folder: Path
    run: str
    script: str
    module: bool = False
    argv: tuple[str, ...] = ()
    cwd: str = ""
    home: str = ""
    order: str = ""
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
    user: str = ""
    flaws: tuple[str, ...] = ()
    imported_from: Mapping[str, Any] = field(default_factory=dict)
    salt: str = ""
    key: str | None = None
    seal: Seal = field(default=_NO_SEAL, repr=False, compare=False)
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def state(self) -> str:
        """The status, where a run whose process is gone (killed, power lost) counts as interrupted."""
        if self.status == RUNNING and self.host == platform.node() and not _is_alive(self.pid):
            return INTERRUPTED
        return self.status


_OWN_FIELDS = frozenset(entry.name for entry in fields(Run)) - {"folder", "more", "seal"}


def create(store: Path, name: str | None, script: str, *, key: Key | None = None, **facts: Any) -> Run:
    """Make a run's folder and describe it as running.

    name: the run's name; None: one made of the time. key: None: the user's, made if there is none.
    `facts` are fields of Run. StoreError for a name that is unfit or taken; OSError where the store
    cannot be written.
    """
    key = keys.obtain() if key is None else key
    private.make_folder(store)
    private.make_folder(store / FOLDER)
    started = datetime.now(timezone.utc)
    if name is None:
        folder = _make_unique(store / FOLDER, f"{started.astimezone():%Y%m%d-%H%M%S}", facts.get("rank"))
    else:
        folder = _make_named(store, name)
    facts = {"order": _order(folder, started), **facts}
    facts = {"started": started.isoformat(), "pid": os.getpid(), "host": platform.node(), **facts}
    run = Run(folder=folder, run=folder.name, script=script, user=_user(), **facts)
    return sign(run, key)


def _order(folder: Path, started: datetime) -> str:
    """The moment by which a new run sorts: after all that are there, though the clock may have gone back."""
    last = started
    for other in folder.parent.iterdir():
        try:
            fields = description.read(other) if other != folder else {}
            last = max(last, datetime.fromisoformat(str(fields["order"])) + timedelta(microseconds=1))
        except (StoreError, KeyError, ValueError, TypeError, OverflowError):
            continue  # not a run, or none that can be read
    return last.isoformat(timespec="microseconds")


def sign(run: Run, key: Key, salt: str | None = None) -> Run:
    """Give a run a seal, made with this key and salt (None: a new one), and write its description."""
    salt = salt or new_salt()
    run = replace(run, salt=salt, key=key.id if key.kept else None, seal=Seal.of(key, salt))
    _write(run)
    return run


def _user() -> str:
    """Who records, as far as the environment or the system knows a name (a directory may take its time)."""
    named = os.environ.get("LOGNAME") or os.environ.get("USER")
    if named:
        return named
    try:
        import pwd

        return pwd.getpwuid(os.geteuid()).pw_name
    except (ImportError, KeyError):
        return str(os.geteuid())


def _make_named(store: Path, name: str) -> Path:
    folder = run_folder(store, name)
    try:
        private.make_folder(folder, exist_ok=False)
    except FileExistsError:
        hint = f"choose another name, or remove it with: florc runs rm {name}"
        raise StoreError(f"there is already a run named '{name}'", hint) from None
    return folder


def _make_unique(parent: Path, stem: str, rank: int | None) -> Path:
    stem += "" if rank is None else f"-rank{rank}"
    for attempt in range(_TRIES):
        folder = parent / (stem if attempt == 0 else f"{stem}-{os.urandom(2).hex()}")
        try:
            private.make_folder(folder, exist_ok=False)
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
    """The run called `name`; StoreError if there is none, or none this version can read and believe."""
    folder = run_folder(store, name)
    if not folder.is_dir():
        raise StoreError(f"no run named '{name}' in {store}", "florc runs ls shows those there are")
    return _read(folder, keys.read())


def existing(store: Path, name: str) -> Run:
    """The run called `name`, to be removed: a damaged one or one of a newer florc too."""
    folder = run_folder(store, name)
    return Run(folder=folder, run=name, script="") if folder.is_dir() else load(store, name)


def all_runs(store: Path) -> list[Run]:
    """The readable runs of the store, oldest first; none if there is no store."""
    found = [run for _, run in _entries(store) if isinstance(run, Run)]
    return sorted(found, key=_age)


def _age(run: Run) -> tuple[str, str, str]:
    return run.order or run.started, run.started, run.run


def unreadable(store: Path) -> list[tuple[str, StoreError]]:
    """The runs that cannot be read, with the reason."""
    return [(name, fault) for name, fault in _entries(store) if isinstance(fault, StoreError)]


def newest(store: Path, script: str, *, module: bool = False, rank: int | None = None) -> Run:
    """The newest run of a script or module; StoreError if it was never recorded here.

    Also if a run that cannot be believed may be the newest: an older one in its place would give values
    that nobody asked for.
    """
    found = list(_entries(store))
    sound = [run for _, run in found if isinstance(run, Run)]
    mine = [run for run in sound if (run.script, run.module, run.rank) == (script, module, rank)]
    last = max(mine, key=_age, default=None)
    for name, fault in found:
        if isinstance(fault, StoreError) and _may_be_newer(store / FOLDER / name, fault, script, last):
            hint = fault.hint + ("" if last is None else f"; or name another with --run, as {last.run}")
            raise StoreError(f"the newest run of {script} may be {name}, but {fault.message}", hint)
    if last is None:
        what = f"-m {script}" if module else script
        raise StoreError(f"no run of {script} in {store}", f"record one with: florc record {what}")
    return last


def _may_be_newer(folder: Path, fault: StoreError, script: str, last: Run | None) -> bool:
    """True unless a run that cannot be read is plainly another program's, or older than the last that can."""
    if isinstance(fault, description.Foreign) and fault.script != script:
        return False
    if last is None:
        return True
    try:
        changed = max(entry.lstat().st_mtime for entry in (folder, folder / FILE) if entry.exists())
        return changed >= datetime.fromisoformat(last.started).timestamp()
    except (OSError, ValueError):
        return True


def update(run: Run, **changes: Any) -> Run:
    """Write the run with some fields changed, and return it. Names that Run does not have go to `more`."""
    known = {name: value for name, value in changes.items() if name in _OWN_FIELDS}
    more = {name: value for name, value in changes.items() if name not in _OWN_FIELDS}
    changed = replace(run, **known, more={**run.more, **more})
    _write(changed)
    return changed


def remove(run: Run) -> None:
    """Delete the run's folder. What is interrupted leaves no half of a run, but a folder that none has."""
    if run.folder.is_symlink():
        run.folder.unlink()
        return
    going = run.folder.with_name(f"{REMOVED}{os.urandom(8).hex()}")
    os.rename(run.folder, going)
    take_away(going)


def take_away(folder: Path) -> None:
    """Delete the folder of what is no run any more, and large payloads that no other run holds."""
    import shutil  # takes 10 ms to import, and a recording never needs it

    if not folder.joinpath(large.FOLDER).is_symlink():
        for file in large.names(folder):
            with suppress(OSError):  # the rest tells why it would not go
                large.release(file, folder.parent.parent / large.OBJECTS)
    shutil.rmtree(folder)


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
    key = keys.read()
    for folder in folders:
        try:
            yield folder.name, _read(folder, key)
        except StoreError as fault:
            yield folder.name, fault


def _read(folder: Path, key: Key | None) -> Run:
    """A run that was sealed with this key."""
    description.check_owner(folder)
    data = description.read(folder)
    seal = description.verify(data, folder, key)
    return from_fields(folder, data, seal)


def from_fields(folder: Path, data: Mapping[str, Any], seal: Seal) -> Run:
    """The run that a description's fields make. StoreError for fields of a wrong kind."""
    known = {name: value for name, value in data.items() if name in _OWN_FIELDS}
    more = {name: value for name, value in data.items() if name not in _OWN_FIELDS | description.FRAME}
    description.check_fields(known, folder)
    for name in ("argv", "include", "flaws"):
        known[name] = tuple(known.get(name, ()))
    return Run(folder=folder, seal=seal, more=more, **known)


def facts(run: Run) -> dict[str, Any]:
    """All that a run's description says of it, as plain values."""
    data = asdict(replace(run, seal=_NO_SEAL))
    for name in ("folder", "seal"):
        del data[name]
    more = data.pop("more")
    return {**data, **more}


def _write(run: Run) -> None:
    description.write(run.folder, facts(run), run.seal)


def _is_alive(pid: int | None) -> bool:
    if pid is None:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True  # somebody else's process
    return True
