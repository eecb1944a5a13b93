"""The plan of a replay in words: the table and the JSON of --plan, and the line before a replay."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from florc import units
from florc.stored.describing import table

from .planning import LoopPlan, Plan, Stretch, merged

MAX_ROWS = 20  # stretches of one loop in the table: it should stay on a screen; --json has all
_ENDS = {
    "restored": "its exit is put back",
    "left": "it runs to its end",
    "stop": "the replay stops there",
}


def in_short(plans: Sequence[Plan], estimate: float) -> str:
    """One line: what becomes of the iterations, and how long it takes."""
    counts = {action: sum(plan.count(action) for plan in plans) for action in ("execute", "restore", "skip")}
    told = [
        f"{count} {words}"
        for count, words in (
            (counts["execute"], "executed"),
            (counts["restore"], "restored"),
            (counts["skip"] if len(plans) == 1 else 0, "skipped"),  # each worker skips the others' ones
        )
        if count
    ]
    loops = len({loop.block for plan in plans for loop in plan.loops})
    of = f" of {loops} loops" if loops > 1 else ""
    what = f"iterations{of}: {', '.join(told)}" if told else "no main loop: the program simply runs again"
    by = f", by {len(plans)} workers" if len(plans) > 1 else ""
    return f"plan: {what}{by}; about {units.duration(estimate)}"


def seconds(plans: Sequence[Plan], room: int = 0) -> float:
    """What the longest of the shares takes, or all of them where they have to take turns.

    room: so many run at the same time; 0: all of them.
    """
    longest = max(plan.seconds for plan in plans)
    return max(longest, sum(plan.seconds for plan in plans) / room) if room else longest


def lines(plans: Sequence[Plan]) -> Iterator[str]:
    """The table for people; one for each worker's share."""
    for number, plan in enumerate(plans):
        if len(plans) > 1:
            yield f"worker {number}"
        for loop in plan.loops:
            yield f"{loop.block}: {_count(loop.iterations, 'iteration')}"
            yield from (f"  {line}" for line in table([_COLUMNS, *_rows(loop)]))
        if not plan.loops:
            yield "this run has no main loop: the program simply runs again"
        yield _reckoned(plan)


_COLUMNS = ("iterations", "", "from", "blocks put back", "blocks run", "seconds")


def _rows(loop: LoopPlan) -> Iterator[tuple[str, ...]]:
    found = list(merged(loop))
    for one in found[:MAX_ROWS]:
        yield _row(one)
    left = found[MAX_ROWS:]
    if left:
        counts: Counter[str] = Counter()
        for one in left:
            counts[one.action] += one.stop - one.start
        words = ", ".join(f"{action} {count}" for action, count in counts.items())
        cells = (str(sum(len(getattr(one, name)) for one in left)) for name in ("skipped", "executed"))
        yield (_span(left[0].start, left[-1].stop), words, "", *cells, _seconds(sum(o.seconds for o in left)))
    yield ("end", _ENDS[loop.end], "", "", "", _seconds(loop.restoring + loop.running))


def _row(one: Stretch) -> tuple[str, ...]:
    origin = "" if one.action == "skip" else f"checkpoint {one.checkpoint}"
    if one.checkpoint is None:
        origin = "" if one.action == "skip" else "the one before" if one.start else "the beginning"
    blocks = [str(len(ids)) if one.action != "skip" else "" for ids in (one.skipped, one.executed)]
    return (_span(one.start, one.stop), one.action, origin, *blocks, _seconds(one.seconds))


def _span(start: int, stop: int) -> str:
    return str(start) if stop - start == 1 else f"{start}-{stop - 1}"


def _seconds(value: float) -> str:
    return f"{value:.2f}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def _reckoned(plan: Plan) -> str:
    """Where the seconds go."""
    work = plan.seconds - plan.start - plan.setup - plan.restoring - plan.rest
    parts = {
        "to start": plan.start,
        "before the first loop": plan.setup,
        "to put states back": plan.restoring,
        "of iterations": work,
        "after that": plan.rest,
    }
    told = ", ".join(f"{value:.1f} {words}" for words, value in parts.items())
    stops = "; stops before the program's end" if plan.stops else ""
    return f"about {units.duration(plan.seconds)}: {told}{stops}"


# -- for programs ---------------------------------------------------------------------------
def as_json(plans: Sequence[Plan], estimate: float, run: str, script: str, flaws: Sequence[str]) -> str:
    """One object; docs/replay.md tells its keys."""
    shares = [_plain(plan) for plan in plans]
    whole = {"run": run, "script": script, "estimate": round(estimate, 4), "flaws": list(flaws)}
    return json.dumps({**whole, **(shares[0] if len(shares) == 1 else {"workers": shares})})


def _plain(plan: Plan) -> dict[str, Any]:
    execute = plan.seconds - plan.start - plan.setup - plan.restoring
    parts = {"start": plan.start, "setup": plan.setup, "restore": plan.restoring, "execute": execute}
    return {
        "main_loops": [_loop(loop) for loop in plan.loops],
        "stops": plan.stops,
        "seconds": {name: round(value, 4) for name, value in (parts | {"total": plan.seconds}).items()},
    }


def _loop(loop: LoopPlan) -> dict[str, Any]:
    return {
        "id": loop.block,
        "iterations": loop.iterations,
        "end": loop.end,
        "steps": [
            {
                "from": one.start,
                "to": one.stop - 1,
                "action": one.action,
                "checkpoint": one.checkpoint,
                "blocks": {"skipped": Counter(one.skipped), "executed": Counter(one.executed)},
                "seconds": round(one.seconds, 4),
            }
            for one in merged(loop)
        ],
    }
