"""What a sweep found, as tables and as what is left to explain."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .sweeping import Verdict

VERDICTS = ("right", "told", "refused", "wrong")
HEAD = ("program", "overhead", "positions", "replays", *VERDICTS, "restarted", "executed", "seconds")


@dataclass(frozen=True)
class Row:
    """One line of the table: a program at one overhead."""

    program: str
    overhead: str
    verdicts: tuple[Verdict, ...]

    def cells(self) -> tuple[str, ...]:
        """The row in words; executed: the mean share of main-loop iterations that a replay executed."""
        counts = [sum(v.verdict == kind for v in self.verdicts) for kind in VERDICTS]
        restarted = sum(bool(v.restarted) for v in self.verdicts)
        ran = [v for v in self.verdicts if v.iterations and v.verdict in ("right", "told")]
        share = sum(v.executed / v.iterations for v in ran) / len(ran) if ran else 0.0
        positions = sum(len(v.positions) for v in self.verdicts)
        seconds = sum(v.seconds for v in self.verdicts) / max(1, len(self.verdicts))
        numbers = (positions, len(self.verdicts), *counts, restarted)
        return (self.program, self.overhead, *map(str, numbers), f"{share:.0%}", f"{seconds:.1f}")


def table(verdicts: Sequence[Verdict]) -> str:
    """A Markdown table: a row for each program and overhead, and the sum."""
    keys = list(dict.fromkeys((v.program, v.overhead) for v in verdicts))
    rows = [Row(p, o, tuple(v for v in verdicts if (v.program, v.overhead) == (p, o))) for p, o in keys]
    rows.append(Row("all", "", tuple(verdicts)))
    lines = [HEAD, ("---", "---", *["---:"] * (len(HEAD) - 2)), *(row.cells() for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def unexplained(verdicts: Iterable[Verdict]) -> str:
    """What is not simply right, one line each."""
    return "\n".join(
        f"{v.verdict:8} {v.program} --overhead {v.overhead} {list(v.positions)} {'; '.join(v.labels)}\n"
        f"         {' '.join((v.reason or 'started again: ' + v.restarted).split())[:600]}"
        for v in verdicts
        if v.verdict != "right" or v.restarted
    )
