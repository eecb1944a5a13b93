"""What a replay tells at its end: notes and problems on standard error, a JSON summary for programs."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import causes, messages, startup, units

if TYPE_CHECKING:
    from .replaying import Prepared
    from .runtime.runs import Run


MAX_TOLD = 5  # inexact places; the summary has all


BEGAN = "FLORC_REPLAY_BEGAN"  # handed by an attempt to the next: the clock is the whole machine's


class Clock:
    """Seconds since the command began, attempts before this one included."""

    def __init__(self) -> None:
        handed = os.environ.pop(BEGAN, None)
        self.began = startup.began() if handed is None else float(handed)
        self._read = time.perf_counter

    def seconds(self) -> float:
        return self._read() - self.began

    def until(self, moment: float) -> float:
        """Seconds from the beginning to a moment of the same counter; 0 for one that was not."""
        return max(moment - self.began, 0.0)


def report(
    prepared: Prepared,
    tally: Any,
    reason: str,
    clock: Clock,
    file: str | None,
    variables: dict[str, str],
    estimate: float = 0.0,
) -> None:
    """Say what must be said, and write the summary if one is wanted.

    Args:
        variables: the environment variables that matter, as they were before the program ran.
        estimate: the seconds that the plan had expected.
    """
    tally.notes += prepared.unreached()
    for note in tally.notes:
        messages.say(note)
    for problem in tally.problems[:MAX_TOLD]:
        messages.warning(f"not exact: {problem}")
    if len(tally.problems) > MAX_TOLD:  # what differs once differs ever after
        messages.warning(f"not exact: {len(tally.problems) - MAX_TOLD} more places differ")
    if tally.problems:
        tally.causes = causes.likely(prepared.run, tally.causes, variables)
        for cause in tally.causes:
            messages.say(f"a likely cause: {cause}")
    if file is not None:
        write(summary(prepared, tally, reason, clock, estimate), file)


def verdict(run: Run, tally: Any) -> None:
    """Say on standard output whether a run repeats."""
    states = f"{tally.state_equal} of {tally.state_compared} states"
    writes = f"{tally.output_equal} of {tally.output_compared} writes"
    repeats = "does not repeat" if tally.problems else "repeats"
    click.echo(f"{run.run} of {run.script} {repeats}: {states} and {writes} as recorded")


def took(seconds: float, estimate: float) -> None:
    """Say how long it took, beside what was expected."""
    messages.say(f"replayed in {units.duration(seconds)} (estimated {units.duration(estimate)})")


def summary(
    prepared: Prepared, tally: Any, reason: str, clock: Clock, estimate: float
) -> dict[str, Any]:
    """The summary of DESIGN: what was executed, restored, compared; how long each took."""
    probes = [
        {"file": name, "line": probe.line, "text": probe.text, "fired": _fired(tally, name, probe)}
        for name, found in prepared.matches.items()
        for probe in found.match.probes
        if probe.kind != "removed" and not probe.inert
    ]
    loops = [
        {
            "id": run.block,
            "iterations": len(run.iterations),
            "executed": sorted(tally.executed.get(number, ())),
            "restored": sorted(tally.restored.get(number, set()) - tally.executed.get(number, set())),
        }
        for number, run in enumerate(prepared.script.main_loops)
    ]
    return {
        "run": prepared.run.run,
        "script": prepared.run.script,
        "exact": not tally.problems,
        "main_loops": loops,
        "blocks": {
            "skipped": tally.blocks_skipped,
            "executed": tally.blocks_executed,
            "left_early": tally.blocks_left,
        },
        "probes": probes,
        "checks": {
            "state": {"compared": tally.state_compared, "equal": tally.state_equal},
            "output": {
                "compared": tally.output_compared,
                "equal": tally.output_equal,
                "clocks": tally.output_clocks,
            },
        },
        "bytes": {"owed": tally.owed, "paid": tally.paid},
        "seconds": _seconds(tally, clock, estimate),
        "refused": [],
        "started_again": reason,
        "problems": list(tally.problems),
        "causes": list(tally.causes),
        "notes": list(tally.notes),
        **({"said": tally.said.rows} if tally.said.rows else {}),
    }


def _seconds(tally: Any, clock: Clock, estimate: float) -> dict[str, float]:
    """Seconds until the first main loop (0 where there is none), of restoring, and the rest; all expected."""
    setup, total = clock.until(tally.loops_began), clock.seconds()
    parts = {
        "setup": setup,
        "restore": tally.restore_seconds,
        "execute": total - setup - tally.restore_seconds,
        "total": total,
        "estimate": estimate,
    }
    return {name: round(seconds, 4) for name, seconds in parts.items()}


def _fired(tally: Any, file: str, probe: Any) -> int:
    """How often the probe's lines wrote something."""
    return max(
        (
            count
            for (name, line), count in tally.fired.items()
            if name == file and probe.line <= line <= probe.end_line
        ),
        default=0,
    )


def write(content: dict[str, Any], file: str) -> None:
    text = json.dumps(content) + "\n"
    if file == "-":
        sys.stderr.write(text)
        return
    try:
        Path(file).write_text(text, encoding="utf-8")
    except OSError as error:
        messages.warning(f"cannot write the summary {file}: {error.strerror}")
