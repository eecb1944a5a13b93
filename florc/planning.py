"""The plan of a replay, made from the journal before anything runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import click

from .runtime.lockstep import Edits
from .runtime.script import LoopRun, Script


@dataclass(frozen=True)
class LoopOutlook:
    """What will become of one main loop.

    run: iterations whose body runs. skipped, executed: blocks in them. seconds: of recorded work to be
    done again.
    """

    block: str
    iterations: int
    run: tuple[int, ...]
    skipped: int
    executed: int
    seconds: float


def make(
    script: Script, edits: Edits, selected: Mapping[int, frozenset[int]] | None
) -> tuple[LoopOutlook, ...]:
    """One outlook for each main loop."""
    return tuple(
        _outlook(run, edits, None if selected is None else selected.get(number, frozenset()))
        for number, run in enumerate(script.main_loops)
    )


def _outlook(run: LoopRun, edits: Edits, chosen: frozenset[int] | None) -> LoopOutlook:
    wanted = tuple(
        i
        for i, iteration in enumerate(run.iterations)
        if edits.touch(iteration.hits) and (chosen is None or i in chosen)
    )
    blocks = [block for i in wanted for block in run.iterations[i].blocks]
    again = [block for block in blocks if block.ckpt is None or edits.touch(block.hits)]
    seconds = sum(block.seconds for block in again)
    return LoopOutlook(run.block, len(run.iterations), wanted, len(blocks) - len(again), len(again), seconds)


def show(plan: tuple[LoopOutlook, ...]) -> None:
    """Print the plan on standard output."""
    for outlook in plan:
        click.echo(
            f"{outlook.block}: {outlook.iterations} iterations, {len(outlook.run)} run through; "
            f"of the blocks in them {outlook.skipped} skipped, {outlook.executed} executed "
            f"(about {outlook.seconds:.1f} s)"
        )
    if not plan:
        click.echo("this run has no main loop: the program simply runs again")
