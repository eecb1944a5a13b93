"""The commands about recorded runs: runs ls, show, rm, gc, export, import; verify."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import click

from . import messages, project, units
from .errors import EXIT_REFUSED
from .runtime import runs as store_runs
from .runtime.runs import Run
from .stored import describing

COLUMNS = ("run", "program", "state", "exit", "started", "took")


def _store_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option("--store", metavar="DIR", help="The store (else FLORC_DIR, else ./.florc).")(command)


@click.group(invoke_without_command=True)
@click.pass_context
def runs(context: click.Context) -> Any:
    """List, show, tidy and share recorded runs; without a command, list them."""
    return context.invoke(list_runs) if context.invoked_subcommand is None else None


@runs.command("ls")
@_store_option
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def list_runs(store: str | None, as_json: bool) -> int:
    """List the runs, oldest first."""
    folder = project.store_folder(store)
    found = store_runs.all_runs(folder)
    if as_json:
        for run in found:
            click.echo(json.dumps(describing.facts(run)))
    elif found:
        for line in describing.table([COLUMNS, *(_row(run) for run in found)]):
            click.echo(line)
    for name, fault in store_runs.unreadable(folder):
        messages.warning(f"{name}: {fault.message}; {fault.hint}")
    if not found and not as_json:
        messages.say(f"no runs in {folder}")
    return 0


@runs.command()
@click.argument("run", required=False)
@_store_option
@click.option("--json", "as_json", is_flag=True, help="All that is known of it, as one JSON object.")
def show(run: str | None, store: str | None, as_json: bool) -> int:
    """Show what a run (default: the newest) is and keeps."""
    folder = project.store_folder(store)
    if run is None:
        found = store_runs.all_runs(folder)
        if not found:
            messages.error(f"no runs in {folder}; record one with: florc record SCRIPT")
            return EXIT_REFUSED
        chosen = found[-1]
    else:
        chosen = store_runs.load(folder, run)
    if as_json:
        click.echo(json.dumps(describing.everything(chosen), indent=1))
        return 0
    for line in describing.lines(chosen):
        click.echo(line)
    return 0


@runs.command()
@click.argument("names", metavar="RUN...", nargs=-1, required=True)
@_store_option
def rm(names: tuple[str, ...], store: str | None) -> int:
    """Remove runs. What they share with other runs stays."""
    folder = project.store_folder(store)
    for found in [store_runs.existing(folder, name) for name in names]:  # all of them, before the first goes
        store_runs.remove(found)
    return 0


@runs.command()
@click.option(
    "--keep", type=click.IntRange(min=1), metavar="N",
    help="Remove all but the newest N runs of each script; beside the other options: never remove these.",
)  # fmt: skip
@click.option("--older-than", type=units.parse_age, metavar="AGE", help="Remove runs older than 30d, 8w.")
@click.option(
    "--max-size", type=units.parse_size, metavar="SIZE",
    help="Remove the oldest runs until the store has no more than 500MB, 2GiB.",
)  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Only tell what would be done.")
@_store_option
def gc(
    keep: int | None, older_than: float | None, max_size: int | None, dry_run: bool, store: str | None
) -> Callable[[], int]:
    """Free what no run needs: what killed commands left, cached code that is not used any more.

    With options, remove runs too: those that any option asks for, save those that --keep protects. Runs that
    are being recorded or replayed stay.
    """

    def work() -> int:
        from .stored import collecting
        from .stored.choosing import Wanted

        return collecting.collect(project.store_folder(store), Wanted(keep, older_than, max_size), dry_run)

    return work


@runs.command()
@click.argument("run")
@click.option("-o", "out", metavar="FILE", help="The file to write (else RUN.tar).")
@_store_option
def export(run: str, out: str | None, store: str | None) -> Callable[[], int]:
    """Write a run into a file that `florc runs import` takes."""

    def work() -> int:
        from .stored import sharing

        return sharing.export_run(run, out, store)

    return work


@runs.command("import")
@click.argument("source", metavar="FILE|FOLDER")
@click.option("--trust", is_flag=True, help="Take what somebody else recorded: a replay runs the code in it.")
@click.option("--name", metavar="N", help="The run's name here (else the one it has).")
@click.option("--script", metavar="FILE", help="The program here that it is a run of.")
@_store_option
def import_(
    source: str, trust: bool, name: str | None, script: str | None, store: str | None
) -> Callable[[], int]:
    """Take an exported run, or the folder of one, into the store."""

    def work() -> int:
        from .stored import sharing

        return sharing.import_run(sharing.ImportOptions(source, trust, name, script, store))

    return work


@click.command()
@click.argument("run", required=False)
@click.option("--rerun", is_flag=True, help="Run the program again and compare all it does with the record.")
@_store_option
def verify(run: str | None, rerun: bool, store: str | None) -> Callable[[], int]:
    """Check what is stored of a run (default: the newest), or whether the run repeats (--rerun)."""

    def work() -> int:
        from .stored import verifying

        return verifying.verify(run, store, rerun)

    return work


def _row(run: Run) -> tuple[str, ...]:
    code = "" if run.exit_code is None else str(run.exit_code)
    return (
        run.run, describing.program(run), run.state, code, describing.local(run.started), describing.took(run)
    )  # fmt: skip
