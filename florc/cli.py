"""The command line: which command was asked for, and how its errors reach the user.

The commands themselves stand in `cli_program` (record, replay), `cli_source` (instrument, explain),
`cli_runs` (runs) and `cli_logs` (logs). They turn words into options; the work is done elsewhere.
"""

from __future__ import annotations

import os

import click

from . import __version__, cli_logs, cli_program, cli_runs, cli_source, ending, messages
from .errors import EXIT_REFUSED, EXIT_USAGE, FlorcError
from .runtime.errors import StoreError

EXIT_NO_READER = 1  # what click itself, and so most Python tools, exit with then


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="florc %(version)s")
def group() -> None:
    """Hindsight logging: record a training run, add print lines later, see what they would have printed."""


for command in (
    cli_program.record,
    cli_program.replay,
    cli_source.instrument,
    cli_source.explain,
    cli_runs.runs,
    cli_logs.logs,
    cli_runs.verify,
):
    group.add_command(command)


# what click raises for a group without a command; before 8.2 it printed the help by itself
NO_ARGUMENTS: type[click.UsageError] | tuple[()] = getattr(click.exceptions, "NoArgsIsHelpError", ())


def main(args: list[str]) -> int:
    """Do what the arguments ask and return the exit code; every error is one line on stderr."""
    try:
        work = group.main(args, prog_name="florc", standalone_mode=False)
        return work() if callable(work) else int(work or 0)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.Abort:
        return EXIT_USAGE
    except KeyboardInterrupt as error:
        ending.raise_silently(error)
    except NO_ARGUMENTS as error:
        click.echo(error.format_message(), err=True)  # the help, as it is
        return EXIT_USAGE
    except click.ClickException as error:
        return _usage_error(error)
    except FlorcError as error:
        messages.error(str(error))
        return error.exit_code
    except StoreError as error:
        messages.error(error.message + (f"; {error.hint}" if error.hint else ""))
        return EXIT_REFUSED
    except BrokenPipeError:
        return _without_reader()
    except (OSError, MemoryError) as error:
        messages.error(_of_the_system(error))
        return EXIT_REFUSED


def _without_reader() -> int:
    """Whoever read our output has gone (`| head -1`): end without a word, as other tools do."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)  # what is still buffered goes nowhere, and nobody tells of it at exit
    return EXIT_NO_READER


def _of_the_system(error: OSError | MemoryError) -> str:
    """What the system refused, in words."""
    if isinstance(error, MemoryError):
        return "there is not enough memory"
    where = f"{error.filename}: " if error.filename is not None else ""
    return f"{where}{error.strerror or error}"


def _usage_error(error: click.ClickException) -> int:
    context = getattr(error, "ctx", None)
    hint = f"; see {context.command_path} --help" if context is not None else ""
    messages.error(error.format_message() + hint)
    return EXIT_USAGE
