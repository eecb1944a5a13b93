"""The commands that run the user's program: record, replay.

They return the work as a function, called when click is through: click would turn the program's
KeyboardInterrupt into its own, and the program's frames should stand near the bottom of the stack.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Any

import click

from .options import DEFAULT_OVERHEAD, RecordOptions, ReplayOptions, Target
from .spread.where import LOCAL, Where

Work = Callable[[], int]

OPTIONS_FIRST = {"allow_interspersed_args": False}


class Amount(click.FloatRange):
    """A number from 0 on, as click's, but NaN is none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        found = super().convert(value, param, ctx)
        return self.fail(f"{value!r} is not a number.", param, ctx) if math.isnan(found) else found


AMOUNT = Amount(min=0)


def parse_workers(context: click.Context, option: click.Parameter, value: str | None) -> int | None:
    """How many, 0 for auto, None if it was not given."""
    if value is None:
        return None
    if value == "auto":
        return 0
    found: int = click.IntRange(min=1)(value, option, context)
    return found


def parse_place(context: click.Context, option: click.Parameter, value: str) -> Where:
    """What `--on` names; a usage error if that is no place."""
    try:
        return Where.parse(value)
    except ValueError as error:
        raise click.BadParameter(str(error), context, option) from None


class ProgramCommand(click.Command):
    """A command whose arguments end in a program: SCRIPT or -m MOD, then the program's own arguments.

    All that stands after the program is the program's, options and --help too, as after python's own.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Part the arguments before click sees them."""
        return super().parse_args(ctx, self._end_options(args))

    def _end_options(self, args: list[str]) -> list[str]:
        """The arguments with a `--` after `-m MOD`: click ends the options only at a first argument."""
        takes_value = {
            name
            for p in self.params
            if isinstance(p, click.Option) and not p.is_flag
            for name in (*p.opts, *p.secondary_opts)
        }
        position = 0
        while position < len(args):
            word = args[position]
            if word == "-m" and position + 1 < len(args):
                return [*args[: position + 2], "--", *args[position + 2 :]]
            if word.startswith("-m") and word != "-m":
                return [*args[: position + 1], "--", *args[position + 1 :]]
            if word in ("--", "-") or not word.startswith("-"):
                break
            position += 2 if word in takes_value else 1
        return args

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """SCRIPT or -m MOD, which click cannot say."""
        return ["[OPTIONS]", "SCRIPT|-m MOD", *(["[ARGS]..."] if self.name == "record" else [])]


def program_arguments(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `-m MOD` and the program's arguments to a command."""
    command = click.argument("words", nargs=-1, type=click.UNPROCESSED)(command)
    return click.option("-m", "module", metavar="MOD", help="Run a module, as python -m does.")(command)


def store_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--store DIR` to a command."""
    return click.option("--store", metavar="DIR", help="The store (else FLORC_DIR, else ./.florc).")(command)


def split_program(module: str | None, words: tuple[str, ...]) -> tuple[Target, tuple[str, ...]]:
    """The program and its arguments; a usage error if no program is named."""
    if module is not None:
        return Target(module, is_module=True), words
    if not words:
        raise click.UsageError("name a script, or a module with -m", click.get_current_context())
    return Target(words[0]), words[1:]


@click.command(cls=ProgramCommand, context_settings=OPTIONS_FIRST)
@click.option("--name", metavar="N", help="The run's name (else made of the time).")
@click.option(
    "--overhead",
    type=AMOUNT,
    default=DEFAULT_OVERHEAD,
    metavar="X",
    help="How much longer the run may take, as a fraction (default: 1/15; 0: no checkpoints; 1: all).",
)
@store_option
@click.option(
    "--include", multiple=True, metavar="PKG", help="Treat this installed package as the project's, too."
)
@click.option(
    "--audit",
    type=click.Choice(["full", "auto", "off"]),
    default="auto",
    envvar="FLORC_AUDIT",
    help="Look for state kept in libraries: auto: within the overhead (default); full: at every loop; off.",
)
@click.option("-q", "--quiet", is_flag=True, help="No word of florc's own but warnings and errors.")
@program_arguments
def record(
    name: str | None,
    overhead: float,
    store: str | None,
    include: tuple[str, ...],
    audit: str,
    quiet: bool,
    module: str | None,
    words: tuple[str, ...],
) -> Work:
    """Run a program as python would, and keep what a replay needs."""
    target, args = split_program(module, words)
    options = RecordOptions(target, args, name, overhead, store, include, quiet, audit)

    def work() -> int:
        from . import recording

        return recording.record(options)

    return work


def _check_together(options: ReplayOptions) -> None:
    """A usage error for options that make no sense together."""
    apart = (
        ("--sample", options.sample is not None, "--at", options.at is not None),
        ("--sample", options.sample is not None, "--first-difference", options.first_difference),
        ("--plan", options.plan_only, "--first-difference", options.first_difference),
        ("--plan", options.plan_only, "--summary", options.summary is not None),
        ("--on ray", options.on.kind != LOCAL, "--first-difference", options.first_difference),
    )
    for one, has_one, other, has_other in apart:
        if has_one and has_other:
            message = f"{one} and {other} do not go together"
            raise click.UsageError(message, click.get_current_context())
    if options.plan_json and not options.plan_only:
        raise click.UsageError("--json goes with --plan alone", click.get_current_context())


@click.command(cls=ProgramCommand, context_settings=OPTIONS_FIRST)
@click.option("--run", "run_name", metavar="RUN", help="The run to replay (else the newest of this program).")
@click.option("--at", metavar="SPEC", help="Only these: 3, 3:7, -1, 'epoch=40', '3, step=5:9'.")
@click.option("--sample", metavar="N", help="Only so many iterations (5, 10%), evenly spread.")
@click.option(
    "--first-difference",
    is_flag=True,
    help="Find the first iteration in which an added line says something else than at first, by its last "
    "word: True or False; a NaN, infinite, zero or other number; another word. Takes for granted that it "
    "stays so.",
)
@click.option("--new", is_flag=True, help="Print only what the added lines write.")
@click.option(
    "--workers",
    callback=parse_workers,
    metavar="N|auto",
    help="Processes to spread the replay over (default: 1; with --on ray auto). auto: as many as make it "
    "quicker, and there is room for.",
)
@click.option(
    "--on",
    "place",
    callback=parse_place,
    default=LOCAL,
    metavar="PLACE",
    help="Where the workers run: local (default); ray: the Ray cluster at hand, else one on this machine; "
    "ray:HOST:PORT, ray:auto or ray://HOST:PORT: that cluster.",
)
@click.option(
    "--cpus-per-worker", "cpus", type=AMOUNT, metavar="X", help="With --on ray: CPUs of each (default: 1)."
)
@click.option(
    "--gpus-per-worker", "gpus", type=AMOUNT, metavar="X", help="With --on ray: GPUs of each (default: 0)."
)
@click.option("--plan", "plan_only", is_flag=True, help="Say what would be skipped and executed, and stop.")
@click.option("--json", "plan_json", is_flag=True, help="With --plan: as one JSON object.")
@click.option("-q", "--quiet", is_flag=True, help="No word of florc's own but warnings, notes and errors.")
@click.option("--summary", metavar="FILE", help="Write a summary in JSON (- for standard error).")
@store_option
@program_arguments
def replay(
    run_name: str | None,
    at: str | None,
    sample: str | None,
    first_difference: bool,
    new: bool,
    workers: int | None,
    place: Where,
    cpus: float | None,
    gpus: float | None,
    plan_only: bool,
    plan_json: bool,
    quiet: bool,
    summary: str | None,
    store: str | None,
    module: str | None,
    words: tuple[str, ...],
) -> Work:
    """Print what the recorded run would have printed with the lines that were added since."""
    target, args = split_program(module, words)
    if args:
        raise click.UsageError(
            "a replay takes the recorded arguments; give none", click.get_current_context()
        )
    if summary not in (None, "-"):
        summary = os.path.abspath(summary)  # the program may change the folder
    if place.kind == LOCAL:
        _only_on_a_cluster(cpus, gpus)
        workers = 1 if workers is None else workers
    options = ReplayOptions(
        target,
        run_name,
        at,
        new or first_difference,
        workers or None,
        plan_only,
        summary,
        store,
        sample=sample,
        first_difference=first_difference,
        plan_json=plan_json,
        quiet=quiet,
        on=place,
        cpus=1.0 if cpus is None else cpus,
        gpus=gpus or 0.0,
    )
    _check_together(options)

    def work() -> int:
        from . import replaying

        return int(replaying.replay(options))

    return work


def _only_on_a_cluster(cpus: float | None, gpus: float | None) -> None:
    """A usage error for what a machine's own processes are not given."""
    for name, given in (("--cpus-per-worker", cpus), ("--gpus-per-worker", gpus)):
        if given is not None:
            raise click.UsageError(f"{name} goes with --on ray", click.get_current_context())
