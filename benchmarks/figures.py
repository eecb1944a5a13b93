"""Results -> figures: medians of paired ratios with their spread. Pure functions of a campaign's rows.

The overhead of a recorder is what it uses more than the plain run it is paired with, from the loop's start
until all its processes have ended (what it writes after the loop counts), over the plain run's loop.
"""
from __future__ import annotations

import random
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]
RESAMPLES = 2000  # of the bootstrap: the ends of the interval move by less than what is printed
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Spread:
    """A median and the interval in which it lies with 95 % confidence (bootstrap); n values."""

    median: float
    low: float
    high: float
    n: int


def spread(values: Sequence[float]) -> Spread | None:
    """The median of the values and its interval; None of none. The same values give the same interval."""
    if not values:
        return None
    draw = random.Random(len(values))
    medians = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(RESAMPLES))
    outside = (1 - CONFIDENCE) / 2
    return Spread(statistics.median(values), medians[int(outside * RESAMPLES)],
                  medians[int((1 - outside) * RESAMPLES) - 1], len(values))


def geometric_mean(groups: Sequence[Sequence[float]]) -> Spread | None:
    """The geometric mean of (1 + the groups' medians), less 1, and its interval; None without values.

    The bootstrap draws from each group's own values.
    """
    groups = [group for group in groups if group]
    if not groups:
        return None
    draw = random.Random(len(groups))

    def mean(medians: Iterable[float]) -> float:
        return statistics.geometric_mean(1 + median for median in medians) - 1

    drawn = sorted(mean(statistics.median(draw.choices(group, k=len(group))) for group in groups)
                   for _ in range(RESAMPLES))
    outside = (1 - CONFIDENCE) / 2
    return Spread(mean(map(statistics.median, groups)), drawn[int(outside * RESAMPLES)],
                  drawn[int((1 - outside) * RESAMPLES) - 1], min(map(len, groups)))


def select(rows: Iterable[Row], **wanted: Any) -> list[Row]:
    """The rows with these values, of runs that did not fail."""
    return [row for row in rows
            if row["code"] == 0 and all(row.get(name) == value for name, value in wanted.items())]


def median_of(rows: Iterable[Row], name: str) -> float | None:
    values = [row[name] for row in rows if row.get(name) is not None]
    return statistics.median(values) if values else None


def overheads(rows: Iterable[Row], workload: str, variant: str, what: str = "cpu") -> list[float]:
    """What a variant's runs use more than the plain runs beside them, as fractions.

    The two runs of a pair have a core each, and change them with the next pair: two pairs give one value.

    Args:
        what: "cpu" or "wall".
    """
    rows = list(rows)
    plain = {row["pair"]: row for row in select(rows, workload=workload, variant="plain", step="record")}
    found: dict[Any, list[float]] = {}
    for row in select(rows, workload=workload, variant=variant, step="record"):
        number = row["pair"]
        pair = plain.get(number)
        if pair is None or row[f"loop_{what}"] is None:
            continue
        more = (row[f"loop_{what}"] - pair[f"loop_{what}"]) / pair[f"{what}_in_loop"]
        found.setdefault(number // 2 if isinstance(number, int) else number, []).append(more)
    return [statistics.mean(two) for two in found.values()]


def start_more(rows: Iterable[Row], workload: str, variant: str) -> float | None:
    """CPU seconds that a variant needs more until the loop: the median over pairs."""
    rows = list(rows)
    plain = {row["pair"]: row for row in select(rows, workload=workload, variant="plain", step="record")}
    more = [row["start_cpu"] - plain[row["pair"]]["start_cpu"]
            for row in select(rows, workload=workload, variant=variant, step="record")
            if row["pair"] in plain and row["start_cpu"] is not None]
    return statistics.median(more) if more else None


def state_bytes(rows: Iterable[Row], workload: str) -> float | None:
    """Bytes of the states as torch.save writes them."""
    saved = select(rows, workload=workload, variant="manual", step="record")
    return saved[-1]["stored"] / saved[-1]["checkpoints"] if saved and saved[-1]["checkpoints"] else None


def wrongs(rows: Iterable[Row], workload: str, variant: str, step: str) -> str:
    """"" if all was right; else how many values were wrong, or how the runs failed."""
    found = [row for row in rows
             if row["workload"] == workload and row["variant"] == variant and row["step"] == step]
    for row in found:
        if row["code"]:
            return f"exit {row['code']}"
        if row.get("wrong"):
            return f"WRONG {row['wrong']}/{row['wanted']}"
        if row.get("note"):
            return f"WRONG ({row['note']})"
    return ""


@dataclass(frozen=True)
class Stall:
    """What is lost to checkpoints, in seconds a GB, against the plain runs of the pairs.

    one_wall, one_cpu: what the training thread waits at the top of an iteration, the median checkpoint's.
    """

    one_wall: float
    one_cpu: float
    wall: float
    main_cpu: float
    all_cpu: float
    states: float


def stall(rows: Iterable[Row], bytes_each: float) -> Stall | None:
    """From the runs that take a checkpoint in every iteration."""
    rows = list(rows)
    plain = {row["pair"]: row for row in select(rows, step="stall", variant="plain")}
    found = []
    for row in select(rows, step="stall", variant="florc dense"):
        pair = plain.get(row["pair"])
        if pair is None or not row.get("states") or row["wall_in_loop"] is None:
            continue
        size = row["states"] * bytes_each / 1e9
        names = ("wall_in_loop", "main_in_loop", "loop_cpu")
        ones = [(wait - plain_wait) / bytes_each * 1e9
                for wait, plain_wait in zip(row["waits"], pair["waits"], strict=True)]
        found.append((*ones, *((row[name] - pair[name]) / size for name in names), row["states"]))
    return Stall(*(statistics.median(column) for column in zip(*found, strict=True))) if found else None
