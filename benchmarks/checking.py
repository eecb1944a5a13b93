"""Compare what a variant printed with the truth: plain Python on the script with the lines in it."""
from __future__ import annotations

from dataclasses import dataclass

from .variants import INNER, OUTER


@dataclass(frozen=True)
class Verdict:
    """How many of the wanted lines are wrong or missing."""

    wrong: int
    wanted: int
    note: str = ""

    @property
    def right(self) -> bool:
        return not self.wrong and not self.note


def lines_of(text: str, probe: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(probe)]


def without(text: str, probe: str) -> str:
    """The text that would be there without this probe."""
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith(probe))


def whole(out: str, truth: str) -> Verdict:
    """Byte for byte: what was printed against the truth."""
    wanted, got = truth.splitlines(), out.splitlines()
    wrong = sum(a != b for a, b in zip(wanted, got, strict=False)) + abs(len(wanted) - len(got))
    return Verdict(wrong, len(wanted), "" if wrong or out == truth else "line ends differ")


def values(out: str, wanted: list[str], probe: str) -> Verdict:
    """The probe's lines alone, in order; other text is not looked at."""
    got = lines_of(out, probe)
    wrong = sum(a != b for a, b in zip(wanted, got, strict=False)) + max(0, len(wanted) - len(got))
    note = f"{len(got)} lines, not {len(wanted)}" if len(got) > len(wanted) else ""
    return Verdict(wrong, len(wanted), note)


def iteration(truth: str, at: int, outer_in_loop: bool) -> list[str]:
    """The inner probe's lines in one iteration of the main loop.

    An outer probe in the loop ends each iteration; without one every inner line is an iteration.
    """
    if not outer_in_loop:
        return lines_of(truth, INNER)[at:at + 1]
    found: list[list[str]] = [[]]
    for line in truth.splitlines():
        if line.startswith(OUTER):
            found.append([])
        elif line.startswith(INNER):
            found[-1].append(line)
    return found[at]
