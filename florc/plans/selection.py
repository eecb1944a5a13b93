"""What --at and --sample ask for: pure functions from their words and the recorded run to iterations."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TypeVar

from florc.errors import EXIT_USAGE, FlorcError
from florc.runtime.lockstep import Edits
from florc.runtime.script import LoopRun, Script
from florc.runtime.window import Values, Window

T = TypeVar("T")

_SAMPLE = re.compile(r"(\d+(?:\.\d+)?)\s*(%?)")
_RANGE = re.compile(r"(-?\d*):(-?\d*)")
_NUMBER = re.compile(r"-?\d+")
_NAMED = re.compile(r"((?:self\.)?[A-Za-z_]\w*)\s*=\s*(.+)")
_BLOCK = re.compile(r"(.+::.*(?:for|while)#\d+)(?:~\d+)?:(.+)")


def select(
    words: str,
    script: Script,
    edits: Edits,
    targets: Mapping[str, frozenset[str]] = MappingProxyType({}),
    bound: frozenset[str] | None = None,
) -> Window:
    """The iterations that `words` names; FlorcError (usage) where it names none.

    A name that a loop inside sets, or that no iteration of the main loop had a value for, picks
    iterations of the loops inside.

    Args:
        targets: block id -> names that its `for` statement sets.
        bound: all names that the program binds; None: not known.
    """
    block, words = _split_block(words)
    numbers = _the_loops(script, block, edits)
    iterations = [one for number in numbers for one in script.main_loops[number].iterations]
    mains = {script.main_loops[number].block for number in numbers}
    inside = frozenset().union(*(names for block, names in targets.items() if block not in mains))
    names = {name for one in iterations for name in one.values} - inside
    names = names.union(*(targets.get(block, ()) for block in mains))
    parts = [_attribute(part.strip(), names, inside) for part in words.split(",")]
    inner = [part for part in parts if (named := _NAMED.fullmatch(part)) and named[1] not in names]
    _check_bound(inner, bound, inside)
    chosen: dict[int, set[int]] = {number: set() for number in numbers}
    for part in [part for part in parts if part not in inner] or [":"]:
        found = {number: _part(part, script.main_loops[number]) for number in numbers}
        if not any(found.values()):
            run = script.main_loops[numbers[0]]
            count = len(run.iterations)
            had = f"it had {count}, 0 to {count - 1}" if count else "it had 0"
            why = f"has no such iteration ({had}; 3:5 is 3 and 4)"
            if run.silent:
                why = f"has iterations too short to be told apart, from {count - 1} on; put an `if` around it"
            raise _usage(f"--at {part}: {run.block} {why}")
        for number in numbers:
            chosen[number] |= found[number]
    selected = {number: frozenset(found) for number, found in chosen.items() if found}
    if inner and not any(one.blocks for one in iterations):
        raise _usage(f"--at {inner[0]}: no iteration had such a value, and there are no loops inside")
    return Window(selected, inner=tuple(map(_inner, inner)))


def sample(words: str, script: Script, edits: Edits) -> Window:
    """As many iterations as `words` says (5, 10%), evenly spread; FlorcError (usage) for what is no number.

    Spread over those in which a probe may have run, the first and the last among them; where no probe did,
    over all. If the main loop ran several times, over all its runs.
    """
    numbers = _the_loops(script, "", edits)
    places = [(n, i) for n in numbers for i in range(len(script.main_loops[n].iterations))]
    probed = [(n, i) for n, i in places if edits.touch(script.main_loops[n].iterations[i].hits)]
    places = probed or places
    chosen: dict[int, set[int]] = {}
    for number, i in spread(places, _size(words, len(places))):
        chosen.setdefault(number, set()).add(i)
    return Window({number: frozenset(found) for number, found in chosen.items()})


def spread(places: Sequence[T], count: int) -> list[T]:
    """So many of the places at even distances, first and last among them; of a single one the middle."""
    if count >= len(places):
        return list(places)
    if count == 1:
        return [places[len(places) // 2]]
    return [places[round(k * (len(places) - 1) / (count - 1))] for k in range(count)]


def _size(words: str, count: int) -> int:
    """How many of so many places: at least one."""
    found = _SAMPLE.fullmatch(words.strip())
    size = float(found[1]) if found else 0.0
    if found is None or size <= 0 or (found[2] and size > 100) or (not found[2] and "." in found[1]):
        raise _usage(f"--sample {words}: not a part of the iterations", "give a number, or as in 10%")
    return max(round(count * size / 100), 1) if found[2] else int(size)


def _attribute(part: str, names: set[str], inside: frozenset[str]) -> str:
    """`epoch=4` as `self.epoch=4` where a method's loop counts in an attribute, and no name is called so."""
    name = part.partition("=")[0].strip()
    return f"self.{part}" if f"self.{name}" in names and name not in names | inside else part


def _check_bound(parts: list[str], bound: frozenset[str] | None, inside: frozenset[str]) -> None:
    """A usage error for a name that nothing in the program binds: no loop will ever have it."""
    for part in parts:
        name = part.partition("=")[0].strip()
        if bound is not None and name not in bound:
            hint = f"the loops inside go over {', '.join(sorted(inside))}" if inside else ""
            raise _usage(f"--at {part}: no loop of the program has a name {name}", hint)


def _inner(part: str) -> Values:
    found = _NAMED.fullmatch(part)
    assert found is not None
    name, value = found[1], found[2].strip()
    bounds = _RANGE.fullmatch(value)
    if bounds is None:
        return Values(name, value.strip("'\""))
    start, stop = (int(bound) if bound not in ("", "-") else None for bound in bounds.groups())
    return Values(name, start=start, stop=stop, is_range=True)


def _split_block(words: str) -> tuple[str, str]:
    found = _BLOCK.fullmatch(words.strip())
    return (found[1], found[2]) if found else ("", words)


def _the_loops(script: Script, block: str, edits: Edits) -> list[int]:
    """The runs of the main loop that --at means: the named one, else that with probes, else the longest.

    One that no probe ran in still has them if they stand in its text: in a branch that was never taken.
    """
    loops = list(enumerate(script.main_loops))
    fitting = [i for i, run in loops if (run.block == block if block else _holds(run, edits))]
    if block and not fitting:
        raise _usage(f"--at: there is no main loop {block} in this run", _list(script))
    if not fitting:
        fitting = [i for i, run in loops if run.block in edits.around and run.iterations]
    if not fitting:
        fitting = [i for i, run in loops if len(run.iterations) > 1] or [i for i, _ in loops]
        longest = max(fitting, key=lambda i: script.main_loops[i].whole_seconds, default=None)
        fitting = [] if longest is None else [longest]
    if not fitting:
        raise _usage("--at: this run has no main loop")
    if len({script.main_loops[i].block for i in fitting}) > 1:
        raise _usage("--at: several main loops hold probes; name one", _list(script))
    return fitting


def _holds(run: LoopRun, edits: Edits) -> bool:
    return bool(run.iterations) and any(edits.touch(iteration.hits) for iteration in run.iterations)


def _list(script: Script) -> str:
    blocks = dict.fromkeys(run.block for run in script.main_loops if run.iterations)
    return 'as in --at "BLOCK:3"; there are ' + ", ".join(blocks)


def _part(part: str, run: LoopRun) -> set[int]:
    count = len(run.iterations)
    if _NUMBER.fullmatch(part):
        index = int(part) + (count if part.startswith("-") else 0)
        return {index} if 0 <= index < count else set()
    bounds = _RANGE.fullmatch(part)
    if bounds:
        ends = [int(bound) if bound not in ("", "-") else None for bound in bounds.groups()]
        return set(range(count)[slice(*ends)])
    named = _NAMED.fullmatch(part)
    if named:
        return _by_value(named[1], named[2].strip(), run)
    raise _usage(f"--at {part}: not an iteration", "give a number, a range 3:7, or name=value")


def _by_value(name: str, value: str, run: LoopRun) -> set[int]:
    """Iterations at whose beginning the variable had the value (values not noted again have not changed)."""
    wanted = _inner(f"{name}={value}")
    current = None
    found = set()
    for i, iteration in enumerate(run.iterations):
        current = None if name in iteration.unplain else iteration.values.get(name, current)
        if current is not None and wanted.holds(current):
            found.add(i)
    return found


def _usage(message: str, hint: str = "") -> FlorcError:
    return FlorcError(message, hint=hint, exit_code=EXIT_USAGE)
