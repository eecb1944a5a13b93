"""`florc runs export` and `import`: a run as a file, and a run of somebody else as one's own.

A run's payloads are pickles, and so code: florc loads only what the user's own key has signed. To import a
foreign run with --trust is to sign it: its plain checksums are looked at, then it gets a new seal. What is
damaged in it stays out, and each replay tells of it.
"""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from florc import messages, project, trust
from florc.errors import EXIT_INEXACT, EXIT_REFUSED, FlorcError
from florc.options import Target
from florc.recording import script_id
from florc.runtime import answers, description, journal, large, private, runs, store
from florc.runtime.errors import StoreError
from florc.runtime.key import Key
from florc.runtime.seal import Seal, new_salt

from . import archive

TEMPORARY = ".import-"  # before the name of a folder that is being filled: no run's name begins so
REPLACED = "replaced"  # in it: the run that is being replaced
STALE_SECONDS = 24 * 3600  # an import takes minutes; what is older was killed
MAX_CLAIM = 60  # characters of what a foreign run says of itself


@dataclass(frozen=True)
class ImportOptions:
    """What `florc runs import` was asked to do.

    name, script: instead of the ones that the run brings along.
    """

    source: str
    trust: bool = False
    name: str | None = None
    script: str | None = None
    store: str | None = None


def export_run(name: str, out: str | None, store_name: str | None) -> int:
    """Write a run of one's own into a file; 0."""
    run = runs.load(project.store_folder(store_name), name)
    if run.state == runs.RUNNING:
        raise FlorcError(f"the run {name} is still being recorded", exit_code=EXIT_REFUSED)
    target = Path(out or f"{name}.tar")
    aside = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        if os.path.lexists(target):
            raise FlorcError("is there already", file=str(target), hint="name another file with -o")
        with os.fdopen(private.open_file(aside, os.O_WRONLY | os.O_EXCL), "wb") as stream:
            archive.pack(run.folder, stream)
        os.replace(aside, target)
    except OSError as error:
        raise FlorcError(
            f"cannot export {name}: {error.strerror}", file=str(target), exit_code=EXIT_REFUSED
        ) from None
    finally:
        aside.unlink(missing_ok=True)
    messages.say(f"exported {name} to {target}; whoever replays it runs the code in it")
    return 0


def import_run(options: ImportOptions) -> int:
    """Take a run into the store; 0, or 65 if not all of it is as it was recorded."""
    home = project.store_folder(options.store)
    try:
        project.prepare_store(home)
        trust.check_store(home)
        private.make_folder(home / runs.FOLDER)
        key = trust.kept_key()
        _forget_stale(home)
        work = home / runs.FOLDER / f"{TEMPORARY}{os.getpid()}-{new_salt()[:8]}"
        private.make_folder(work, exist_ok=False)
        try:
            return _Import(options, home, work, key).run()
        finally:
            shutil.rmtree(work, ignore_errors=True)
    except OSError as error:
        message = f"cannot import {options.source}: {error.strerror or error}"
        raise FlorcError(message, exit_code=EXIT_REFUSED) from None


def _forget_stale(home: Path) -> None:
    """Remove what killed imports left."""
    for entry in stale(home):
        shutil.rmtree(entry, ignore_errors=True)


def stale(home: Path) -> list[Path]:
    """The folders that killed imports left; one with a run that was about to be replaced stays."""
    return [
        entry
        for entry in sorted((home / runs.FOLDER).glob(TEMPORARY + "*"))
        if time.time() - entry.lstat().st_mtime > STALE_SECONDS and not (entry / REPLACED).exists()
    ]


class _Import:
    """One import: unpack into `work`/in, look, seal into `work`/out, move there.

    Attributes:
        faults: what a replay would not notice by itself: it will be told.
        damaged: payloads left out; a replay executes instead.
    """

    def __init__(self, options: ImportOptions, home: Path, work: Path, key: Key) -> None:
        self._options, self._home, self._key = options, home, key
        self._source = Path(options.source)
        self._in, self._out, self._replaced = work / "in", work / "out", work / REPLACED
        self._data: dict[str, Any] = {}
        self._old: Seal | None = None  # the run's, if the user's own key has signed it
        self._salt = new_salt()
        self._new = Seal.of(key, self._salt)
        self.faults: list[str] = []
        self.damaged = 0

    def run(self) -> int:
        is_folder = self._source.is_dir()
        private.make_folder(self._in)
        (archive.copy if is_folder else archive.unpack)(self._source, self._in, self._described)
        name = self._options.name or str(self._data.get("run"))
        target = runs.run_folder(self._home, name)
        in_place = is_folder and target.exists() and self._source.samefile(target)
        if os.path.lexists(target) and not in_place:
            hint = "give it another with --name"
            raise FlorcError(f"there is already a run named '{name}'", hint=hint, exit_code=EXIT_REFUSED)
        self._seal()
        self._describe(name)
        self._move(target, in_place)
        return self._tell(name)

    def _described(self) -> None:
        """The description is there: whose run is it, and may it be taken?"""
        try:
            self._data = description.read(self._in, self._source.name)
            runs.from_fields(self._in, self._data, self._new)
        except StoreError as error:
            raise archive.refused(self._source, error.message.replace(f"{self._in}/", "")) from None
        self._old = description.seal_of(self._data, self._key)
        if self._old is not None:
            return
        if not self._options.trust:
            raise FlorcError(
                f"{claims(self._data)}; it is not signed with your key, and its payloads are pickles: code "
                "that a replay would run as you; nothing was imported",
                hint=f"if you trust who wrote it: florc runs import --trust {self._source}",
                exit_code=EXIT_REFUSED,
            )
        if not description.is_whole(self._data) or self._data.get("key") == self._key.id:
            self.faults.append(f"its {description.FILE} had been altered before it was imported")

    def _seal(self) -> None:
        """Look at every batch and payload, and seal what is as it was written."""
        reading = journal.read(self._in, self._old)
        if not any(event[0] == "M" for event in reading.events):
            raise archive.refused(self._source, reading.damage or "it ended before its program began")
        self.faults += trust.flaws(replace(self._run(), flaws=()), reading)
        private.make_folder(self._out)
        journal.write_again(self._out, reading, self._new)
        lines = self._lines()
        kept = max((event[3] for event in reading.events if event[0] == "E"), default=0)
        self.damaged = max(self.damaged, kept - len(lines))
        private.write(self._out / store.INDEX, b"".join(lines), sync=True)
        os.rename(self._in / store.PACK, self._out / store.PACK)
        noted = answers.read(self._in, self._old)
        if noted.damage:
            self.faults.append(noted.damage)
        elif noted.rows:
            answers.write(self._out, self._new, noted)
        if (self._in / large.FOLDER).is_dir():  # the run's alone: `objects` is for what is recorded here
            os.rename(self._in / large.FOLDER, self._out / large.FOLDER)

    def _lines(self) -> list[bytes]:
        """The lines of the new index."""
        reader, lines = store.BlobReader(self._in, self._old), []
        for key, entry in store.read_index(self._in).items():
            try:
                data = reader.get(key)
            except store.DamagedBlob:
                self.damaged += 1
            else:
                lines.append(store.index_line(self._new, key, entry, data))
        reader.close()
        return lines

    def _run(self) -> runs.Run:
        return runs.from_fields(self._out, self._data, self._new)

    def _describe(self, name: str) -> None:
        """Write whose run it is now, and where it came from."""
        run = self._run()
        origin = {field: _shown(self._data.get(field)) for field in ("host", "user", "started", "run", "key")}
        now = datetime.now(timezone.utc).isoformat()
        run = replace(
            run,
            run=name,
            script=self._script(run),
            status=runs.INTERRUPTED if run.status == runs.RUNNING else run.status,
            flaws=(*map(_printable, run.flaws), *self.faults),
            imported_from={**origin, "at": now, "trusted": self._old is None},
        )
        runs.sign(run, self._key, self._salt)

    def _script(self, run: runs.Run) -> str:
        """What the run calls its program here: the given file, the one in its old place, or one of its name.

        A place beside the store moves with the project; an absolute one was another machine's, perhaps.
        """
        given, same = self._options.script, os.path.basename(run.script)
        if run.module:
            return run.script
        if given is None:
            beside = not os.path.isabs(run.script) and (self._home.parent / run.script).is_file()
            if beside or not os.path.isfile(same):
                return run.script
            given = same
        return script_id(Target(given), self._home)

    def _move(self, target: Path, in_place: bool) -> None:
        """Put the finished run where it belongs; the one that it replaces stays if that fails."""
        if not in_place:
            os.rename(self._out, target)
            return
        os.rename(target, self._replaced)
        try:
            os.rename(self._out, target)
        except OSError:
            os.rename(self._replaced, target)
            raise

    def _tell(self, name: str) -> int:
        run = runs.load(self._home, name)
        lost = [f"{self.damaged} payloads were damaged and stayed out"] if self.damaged else []
        for fault in [*self.faults, *lost]:
            messages.warning(f"{name}: {fault}")
        words = f"-m {run.script}" if run.module else os.path.relpath(self._home.parent / run.script)
        messages.say(f"imported {name}; to replay it: florc replay --run {name} {words}")
        return EXIT_INEXACT if self.faults or lost else 0


def claims(data: dict[str, Any]) -> str:
    """What a run says of itself, which nothing proves."""
    who = f"{_shown(data.get('user'))} on {_shown(data.get('host'))} at {_shown(data.get('started'))}"
    return f"the run {_shown(data.get('run'))} says that {who} recorded it"


def _shown(claim: Any) -> str:
    """A claim in short."""
    text = _printable(claim or "somebody")
    return text if len(text) <= MAX_CLAIM else text[: MAX_CLAIM - 1] + "…"


def _printable(claim: Any) -> str:
    """Text on one line, with nothing in it that a terminal would obey."""
    return "".join(letter if letter.isprintable() else "?" for letter in str(claim))
