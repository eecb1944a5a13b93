"""`florc verify`: is what a run's files hold still what was written; with --rerun, does the run repeat."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import click

from florc import messages, project, replaying, startup, trust
from florc.errors import EXIT_INEXACT, EXIT_REFUSED, FlorcError
from florc.options import ReplayOptions, Target
from florc.runtime import answers, journal, runs
from florc.runtime.errors import StoreError
from florc.runtime.store import BlobReader


@dataclass(frozen=True)
class Verdict:
    """What reading everything of a run showed.

    size: bytes of the payloads that are whole.
    record: what is wrong with the description and the journal, in words. damaged: payloads, each in words.
    missing: payloads that the journal counts and the index does not name.
    """

    payloads: int
    size: int
    record: tuple[str, ...] = ()
    damaged: tuple[str, ...] = ()
    missing: int = 0

    @property
    def faults(self) -> tuple[str, ...]:
        """All of them, in words."""
        missing = (f"{self.missing} payloads are missing",) if self.missing else ()
        return self.record + self.damaged + missing

    def words(self) -> str:
        """The line that sums it up."""
        counts = ((len(self.damaged), "damaged"), (self.missing, "missing"))
        lost = ", ".join(f"{count} {what}" for count, what in counts if count)
        record = "; but the record itself is not whole" if self.record else ""
        return f"{self.payloads} payloads, {self.size} bytes, {lost or 'all as they were written'}{record}"


def verify(name: str | None, store_name: str | None, rerun: bool) -> int:
    """Check a run (default: the newest), and tell on standard output; 0, or 65 if something is wrong."""
    store = project.store_folder(store_name)
    run = runs.load(store, name) if name is not None else _newest(store)
    verdict = read_all(run)
    for fault in verdict.faults:
        click.echo(f"{run.run}: {fault}")
    if not rerun:
        click.echo(f"{run.run}: {verdict.words()}")
        return EXIT_INEXACT if verdict.faults else 0
    return _rerun(run, store)


def _newest(store: Path) -> runs.Run:
    for name, fault in runs.unreadable(store):
        messages.warning(f"{name} is not looked at: {fault.message}; {fault.hint}")
    found = runs.all_runs(store)
    if not found:
        message = f"no runs in {store}"
        raise FlorcError(message, hint="record one with: florc record SCRIPT", exit_code=EXIT_REFUSED)
    return found[-1]


def read_all(run: runs.Run) -> Verdict:
    """Read and check the journal and every payload of a run."""
    read = journal.read(run.folder, run.seal)
    reader = BlobReader(run.folder, run.seal)
    damaged, size = [], 0
    for key in reader.keys():  # noqa: SIM118 (no mapping)
        try:
            size += len(reader.get(key))
        except StoreError as error:
            damaged.append(error.message)
    reader.close()
    count = len(reader.keys())
    missing = max((event[3] for event in read.events if event[0] == "E"), default=0) - count
    noted = answers.read(run.folder, run.seal).damage
    record = (*trust.flaws(run, read), *([noted] if noted else []))
    return Verdict(count, size, record, tuple(damaged), max(missing, 0))


def _rerun(run: runs.Run, store: Path) -> int:
    """Run the recorded program again and compare every state and line; its text is not printed."""
    startup.pin_hash_seed(run.hash_seed)  # begins again, from the present folder
    if run.module:
        target = Target(run.script, is_module=True)
    else:
        target = Target(os.path.join(os.path.realpath(store.parent), run.script))
    if os.path.isdir(run.cwd):
        os.chdir(run.cwd)
    if not run.module:
        target = Target(os.path.relpath(target.name))
    return replaying.replay(ReplayOptions(target, run.run, store=str(store), rerun=True))
