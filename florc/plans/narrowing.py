"""Where added `if`s can show nothing: what their tests come to for the recorded values of loop variables.

The journal tells which regions of the program ran in an iteration of a main loop and in each block in it.
Here those are taken out again whose probes certainly show nothing there: to the replay they are regions that
did not run. Of a block that has to run, the last value of its counting variable at which something shows is
noted.

An iteration's values say nothing of another activation of the loop's function: where that was entered once
more in an iteration (recursion, a second thread), nothing is claimed of it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from florc.matching import FileMatch
from florc.runtime.script import Hits, Iteration, LoopRun, Script
from florc.transforms import When, last_showing, may_show

Place = tuple[str, int]  # a file and the number of a region in it

# how any file may get at the script's names and set them: through a frame, or the script's module object
# (`__name__ == "__main__"` and `import_module("one.other")` are none of that)
_MEDDLING = re.compile(
    rb"""\b(?:import|from)\s+__main__|(?<!==)(?<!==\s)["']__main__
    |\bsys\s*\.\s*modules|\bfrom\s+sys\s+import\b[^\n]*\bmodules
    |\bf_globals|__globals__|\bgetmodule\b|\bunittest\b|\bresolve_name\b|\bget_(?:referrers|objects)\b
    |\b(?:import_module|__import__)\b(?!\s*\(\s*["'](?!__main__)\w)""",
    re.VERBOSE,
)
_FRAMES = re.compile(rb"\bf_locals\b")  # a function's names too: what is set there is set since Python 3.13
SCRIPT = "__main__"


@dataclass(frozen=True)
class Conditions:
    """What is known of the probes.

    Attributes:
        whens: place of probes -> when each of them can show anything; None where nothing limits one of them.
        functions: block id -> the function that the loop stands in; None at module level. A loop that is
            missing stands where it cannot be seen whether the function is entered again.
    """

    whens: Mapping[Place, tuple[When, ...] | None]
    functions: Mapping[str, Place | None]


def narrow(script: Script, matches: Mapping[str, FileMatch]) -> None:
    """Take out of the script's hits what certainly shows nothing, and note where blocks may be left."""
    found = conditions(matches, _open_to_others(script))
    if not any(found.whens.values()):
        return
    for run in script.main_loops:
        for number, iteration in enumerate(run.iterations):
            if iteration.hits is not None:
                goes_on = run.silent and number == len(run.iterations) - 1  # with values that were not noted
                _narrow_iteration(_Moment(run, iteration, {} if goes_on else iteration.values, found))


def reaches_the_script(source: bytes) -> bool:
    """True if a file may get hold of the script's module, or of the names in a frame of it."""
    return _MEDDLING.search(source) is not None


def _open_to_others(script: Script) -> frozenset[str]:
    """Files whose module-level names may be anybody's.

    Which run of a file that ran more than once they belong to, nobody can tell. Those of a module that can be
    imported are attributes that everybody may set (`module.epoch = 1`).
    """
    loads = [(event[1], event[2]) for event in script.events if event[0] == "M"]
    count = Counter(file for _, file in loads)
    return frozenset(file for name, file in loads if count[file] > 1 or name != SCRIPT)


def conditions(matches: Mapping[str, FileMatch], others: frozenset[str] = frozenset()) -> Conditions:
    """The conditions on the probes of a project; others: files of which no module-level name counts."""
    whens: dict[Place, tuple[When, ...] | None] = {}
    functions: dict[str, Place | None] = {}
    sources = [one.source for one in matches.values()]
    meddled, framed = any(map(reaches_the_script, sources)), any(map(_FRAMES.search, sources))
    for file, one in matches.items():
        around = {} if framed else _functions(file, one, unsure=meddled or file in others)
        for probe in one.match.probes:
            if probe.kind == "removed" or probe.inert:
                continue
            place, when = (file, probe.region), probe.when
            before = whens.get(place, ())
            known = when is not None and all(
                block in around for target in when.targets for block in target.blocks
            )
            whens[place] = (*before, when) if known and when and before is not None else None
        functions |= around
    return Conditions(whens, functions)


def _functions(file: str, one: FileMatch, unsure: bool) -> dict[str, Place | None]:
    """The innermost function around each loop, by its body's region; unsure: no loops at module level."""
    bodies = [region for region in one.plan.regions if region.kind == "function"]
    found: dict[str, Place | None] = {}
    for loop in one.plan.loops:
        around = [region for region in bodies if region.line <= loop.line <= region.end_line]
        innermost = max(around, key=lambda region: (region.line, region.col), default=None)
        if innermost is not None:
            found[loop.id] = file, innermost.index
        elif not (loop.function or unsure):
            found[loop.id] = None
    return found


@dataclass(frozen=True)
class _Moment:
    """One iteration of a main loop, with the values that are known in it."""

    run: LoopRun
    iteration: Iteration
    values: Mapping[str, Any]
    found: Conditions

    def known(self, when: When, block: LoopRun | None = None) -> dict[str, Any]:
        """The names of a condition that have known values in this iteration, or in a block of it."""
        found = self._of(when, self.run, self.iteration.hits, self.values)
        return found if block is None else found | self._of(when, block, block.hits, {})

    def _of(
        self, when: When, run: LoopRun, hits: Hits | None, values: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Those that belong to this run of a loop, unless another activation of its function may be meant."""
        if _ran(self.found.functions.get(run.block), hits):
            return {}
        mine = [target for target in when.targets if run.block in target.blocks]
        held = {target.name: run.given if target.is_parameter else values for target in mine}
        return {name: source[name] for name, source in held.items() if name in source}

    def showing(self, place: Place, block: LoopRun | None = None) -> tuple[When, ...] | None:
        """The conditions at a place that may hold now; None where nothing limits a probe there."""
        whens = self.found.whens[place]
        return whens and tuple(when for when in whens if may_show(when, self.known(when, block)))


def _narrow_iteration(moment: _Moment) -> None:
    iteration = moment.iteration
    places = [place for place in moment.found.whens if _ran(place, iteration.hits)]
    quiet = [place for place in places if moment.showing(place) == ()]
    for block in iteration.blocks:
        inside = [place for place in places if _ran(place, block.hits)]
        block.last = _last(block, inside, moment)
        block.hits = _without([one for one in inside if moment.showing(one, block) == ()], block.hits)
    iteration.hits = _without(quiet, iteration.hits)


def _last(block: LoopRun, places: Iterable[Place], moment: _Moment) -> tuple[str, float] | None:
    """The counting variable of a block and its last value at which a probe in it may show anything."""
    functions = moment.found.functions
    if block.block not in functions or _ran(functions[block.block], block.hits):
        return None
    found: dict[str, float] = {}
    for place in places:
        whens = moment.showing(place, block)
        if whens is None:
            return None
        for when in whens:
            counting = [one.name for one in when.targets if one.counts and block.block in one.blocks]
            last = last_showing(when, moment.known(when, block), counting[0]) if counting else None
            if last is None:
                return None
            found[counting[0]] = max(last, found.get(counting[0], last))
    return next(iter(found.items())) if len(found) == 1 else None


def _ran(place: Place | None, hits: Hits | None) -> bool:
    return place is not None and hits is not None and place[1] in hits.get(place[0], ())


def _without(places: Iterable[Place], hits: Hits | None) -> Hits | None:
    if hits is None:
        return None
    left = dict(hits)
    for file, region in places:
        left[file] = left.get(file, frozenset()) - {region}
    return left
