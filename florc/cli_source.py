"""The commands that only look at source text: instrument, explain. They never import torch."""

from __future__ import annotations

import difflib
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import sources
from .errors import EXIT_USAGE, FlorcError, syntax_error

if TYPE_CHECKING:
    from .transforms import Instrumented

EXIT_DIFFERENT = 1  # as diff


@click.command()
@click.argument("script")
@click.option("--diff", "as_diff", is_flag=True, help="Show only what florc adds, as a unified diff.")
@click.option("-o", "output", metavar="FILE", help="Write the instrumented program to a file.")
@click.option(
    "--check", metavar="FILE", help="Exit with 1 and the difference if FILE is not the instrumented program."
)
@click.option("--full", is_flag=True, help="With the marks that a recording adds after the text.")
def instrument(script: str, as_diff: bool, output: str | None, check: str | None, full: bool) -> int:
    """Print the program as florc instruments it."""
    if sum(map(bool, (as_diff, output, check, full))) > 1:
        raise click.UsageError("choose one of --diff, -o, --check and --full", click.get_current_context())
    result = _instrumented(script)
    if output is not None:
        _write(output, result.text)
    elif check is not None:
        changes = _difference(_read(check), result.text, check, f"{script} (instrumented)")
        _print(changes)
        return EXIT_DIFFERENT if changes else 0
    elif as_diff:
        _print(_difference(result.original, result.text, script, f"{script} (instrumented)"))
    elif full:
        from .transforms import full_text

        _print(full_text(result).encode())
    else:
        _print(result.text)
    return 0


@click.command()
@click.argument("script")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def explain(script: str, as_json: bool) -> int:
    """Say of each loop whether it is guarded or refused, why, and what it changes."""
    from . import transforms

    result = _instrumented(script)
    plan = result.plan
    if not plan.refused:
        plan = transforms.loop_effects(sources.reachable(Path(script)), plan.file, plan)
    if as_json:
        facts = {"file": plan.file, "refused": plan.refused}
        click.echo(json.dumps({**facts, "loops": transforms.explain_data(plan, result.original)}))
    else:
        click.echo(transforms.explain(plan, result.original), nl=False)
    return 0


def _instrumented(script: str) -> Instrumented:
    from .transforms import instrument as transform

    source = _read(script)
    try:
        return transform(source, _file_id(script))
    except (SyntaxError, ValueError) as error:
        raise syntax_error(error, script) from None


def _file_id(script: str) -> str:
    """The script's name in block ids, as if it were the program that runs."""
    return os.path.basename(os.path.realpath(script))


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise FlorcError(f"cannot open: {error.strerror}", file=path, hint="check the path") from None


def _write(path: str, data: bytes) -> None:
    try:
        Path(path).write_bytes(data)
    except OSError as error:
        raise FlorcError(f"cannot write: {error.strerror}", file=path, exit_code=EXIT_USAGE) from None


def _print(data: bytes) -> None:
    """Write bytes as they are: line ends and the source's own encoding are not ours to change."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def _difference(old: bytes, new: bytes, old_name: str, new_name: str) -> bytes:
    """A unified diff in bytes; empty if the two are equal."""
    names = old_name.encode(), new_name.encode()
    lines = difflib.diff_bytes(difflib.unified_diff, _lines(old), _lines(new), *names)
    return b"".join(
        line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n" for line in lines
    )


def _lines(text: bytes) -> list[bytes]:
    return text.splitlines(keepends=True)
