"""The command about noted values: logs."""

from __future__ import annotations

from collections.abc import Callable

import click


@click.command()
@click.argument("run", required=False)
@click.option("--pivot", "names", metavar="NAME", multiple=True, help="A column for each of these names.")
@click.option("--wide", is_flag=True, help="One column for each name.")
@click.option("--csv", "form", flag_value="csv", help="Comma-separated values.")
@click.option("--json", "form", flag_value="json", help="One JSON object a line.")
@click.option("--source", type=click.Choice(["record", "replay"]), help="One of the two alone.")
@click.option("--store", metavar="DIR", help="The store (else FLORC_DIR, else ./.florc).")
def logs(
    run: str | None,
    names: tuple[str, ...],
    wide: bool,
    form: str | None,
    source: str | None,
    store: str | None,
) -> Callable[[], int]:
    """Show the values that a run and its replays noted with florc.log (default: the last that did)."""

    def work() -> int:
        from .notes import showing

        return showing.show(showing.Asked(run, names, wide or bool(names), form or "", source, store))

    return work
