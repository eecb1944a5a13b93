"""`florc replay --first-difference`: the first iteration in which an added line says something else.

A look is a replay of one iteration in a process of its own, several at once with --workers. Where one replay
of all iterations takes less than the looks would, that is done instead.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from florc import messages, summary, units
from florc.errors import EXIT_INEXACT, EXIT_USAGE, FlorcError
from florc.matching import loop_targets
from florc.runtime.window import Window
from florc.spread import spreading
from florc.spread.workers import Outcome

from . import bisection, planning, selection, truth
from .truth import Line

if TYPE_CHECKING:
    from florc.options import ReplayOptions
    from florc.replaying import Prepared

EXIT_SAME = 1  # as grep's: there is none

Iteration = tuple[int, int]  # the number of a main loop, and of an iteration of it
Look = Callable[[list[Window], set[str]], Outcome]  # replays each of these, as `spreading.look` does


def search(prepared: Prepared, options: ReplayOptions, clock: summary.Clock) -> int:
    """Find it, print what the lines print there; 0, 1 if there is none, 65 if a replay is not exact."""
    places = _places(prepared)
    at_once = options.workers or 1
    together = _is_cheaper_together(prepared, places, at_once, clock)
    if not options.quiet:
        most = bisection.rounds(len(places), at_once)
        how = "in one replay of them all" if together else f"in at most {most} rounds"
        messages.say(f"looking through {len(places)} iterations {how}")
    looks = _Looks(partial(spreading.look, prepared), places, together)
    first = looks.first(at_once)
    found = None if first is None else _found(prepared, places[first], looks)
    _tell(found, None if first is None else looks.lines[places[first]], len(looks.lines))
    if options.summary is not None:
        summary.write(_facts(prepared, looks, found, clock), options.summary)
    if not options.quiet:
        count = len(looks.lines)
        messages.say(f"looked at {count} of {len(places)} iterations in {units.duration(clock.seconds())}")
    return looks.code or (EXIT_SAME if found is None else 0)


def _places(prepared: Prepared) -> list[Iteration]:
    """The iterations that are asked for and in which an added line may have run, in order."""
    if prepared.window.inner:
        raise FlorcError("--first-difference: goes by iterations of the main loop", exit_code=EXIT_USAGE)
    asked = prepared.window.selected
    if asked is None:
        asked = selection.select(":", prepared.script, prepared.edits).selected or {}
    loops, touch = prepared.script.main_loops, prepared.edits.touch
    found = [(n, i) for n in sorted(asked) for i in sorted(asked[n]) if touch(loops[n].iterations[i].hits)]
    if not found:
        message = "--first-difference: no added line ran in these iterations"
        raise FlorcError(message, hint="add a line that prints what may turn", exit_code=EXIT_USAGE)
    return found


def _window(places: Sequence[Iteration]) -> Window:
    numbers = {number for number, _ in places}
    return Window({n: frozenset(i for number, i in places if number == n) for n in numbers})


def _is_cheaper_together(
    prepared: Prepared, places: list[Iteration], at_once: int, clock: summary.Clock
) -> bool:
    """True if one replay of all these iterations takes no longer than the looks would."""
    costs = planning.Costs.of(prepared.script, clock.seconds())
    all_of_them = planning.make(prepared.route(_window(places)), costs, prepared.unskippable)
    one = planning.make(prepared.route(_window(places[-1:])), costs, prepared.unskippable)
    return all_of_them.seconds <= bisection.rounds(len(places), at_once) * one.seconds


class _Looks:
    """Looks at iterations, and remembers what was seen.

    Attributes:
        lines: iteration -> what the added lines printed in it.
        before: what each of them said first.
        code: 65 if a replay was not exact.
    """

    def __init__(self, look: Look, places: list[Iteration], together: bool) -> None:
        self._look, self._places, self._together = look, places, together
        self._told: set[str] = set()
        self.lines: dict[Iteration, list[Line]] = {}
        self.before: Mapping[truth.Place, str] = {}
        self.code = 0

    def first(self, at_once: int) -> int | None:
        """The first of the places in which a line has turned."""
        if not self._together:
            return bisection.first(len(self._places), at_once, self)
        seen = self(range(len(self._places)))
        return next((number for number in sorted(seen) if seen[number]), None)

    def __call__(self, numbers: Sequence[int]) -> dict[int, bool]:
        """Whether a line has turned, for these numbers of places. The first look is at the first of all."""
        places = [self._places[number] for number in numbers]
        shares = [places] if self._together else [[place] for place in places]
        done = self._look([_window(share) for share in shares], self._told)
        if None in done.summaries:
            raise FlorcError("not exact: a replay that looked at an iteration failed", exit_code=EXIT_INEXACT)
        if EXIT_INEXACT in done.codes:
            self.code = EXIT_INEXACT
        self.lines |= {place: [] for place in places}
        for one in done.summaries:
            for loop, iteration, file, line, fd, text in (one or {}).get("said", ()):
                self.lines[(loop, iteration)].append(Line((file, line), text, fd))
        if 0 in numbers:
            self.before = truth.at_first(self.lines[self._places[0]])
        return {number: self.turned(self._places[number]) is not None for number in numbers}

    def turned(self, place: Iteration) -> Line | None:
        return truth.turned(self.lines[place], self.before)


def _found(prepared: Prepared, place: Iteration, looks: _Looks) -> dict[str, Any]:
    """The place in plain values."""
    number, iteration = place
    block, line = prepared.script.main_loops[number].block, looks.turned(place)
    assert line is not None
    return {
        "loop": block,
        "run": sum(one.block == block for one in prepared.script.main_loops[:number]),
        "iteration": iteration,
        "values": _values(prepared, place),
        "file": line.place[0],
        "line": line.place[1],
        "now": line.word,
        "before": looks.before.get(line.place, truth.NOTHING),
    }


def _values(prepared: Prepared, place: Iteration) -> dict[str, Any]:
    """What the loop's own variables were."""
    run = prepared.script.main_loops[place[0]]
    names = loop_targets(prepared.matches).get(run.block, frozenset())
    found: dict[str, Any] = {}
    for one in run.iterations[: place[1] + 1]:
        found |= {name: value for name, value in one.values.items() if name in names}
        found = {name: value for name, value in found.items() if name not in one.unplain}
    return found


def _tell(found: dict[str, Any] | None, lines: list[Line] | None, count: int) -> None:
    """The iteration on standard error, what the added lines print in it where they print it."""
    if found is None or lines is None:
        ends = ", the first and the last among them" if count > 1 else ""
        words = "no difference: the added lines say the same in the iterations looked at"
        messages.say(f"{words} ({count}{ends})")
        return
    run = f" (run {found['run'] + 1} of this loop)" if found["run"] else ""
    values = "".join(f" {name}={value}" for name, value in sorted(found["values"].items()))
    change = f"{found['now']} (before: {found['before']})"
    place = f"{found['file']}:{found['line']}"
    messages.say(f"{found['loop']}[{found['iteration']}]{run}{values}: {change}, printed by {place}")
    for line in lines:
        (sys.stdout if line.fd == 1 else sys.stderr).write(line.text + "\n")
    sys.stdout.flush()


def _facts(
    prepared: Prepared, looks: _Looks, found: dict[str, Any] | None, clock: summary.Clock
) -> dict[str, Any]:
    """The summary."""
    return {
        "run": prepared.run.run,
        "script": prepared.run.script,
        "exact": looks.code == 0,
        "first_difference": found,
        "looked_at": [list(place) for place in sorted(looks.lines)],
        "seconds": {"total": round(clock.seconds(), 4)},
    }
