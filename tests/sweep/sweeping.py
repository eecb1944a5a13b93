"""One program swept: its truth, its record, a replay for each position, and what each replay was worth."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.harness import REFUSED, Desk, desk
from tests.warm import Cold, Done, Warm, environment

from .positions import Position, insert, insert_all, positions
from .programs import Swept

INEXACT = 65  # florc's exit code for a replay that finished and is not exact
SURVEY = Path(__file__).with_name("survey.py")
SURVEYOR = "sweep_surveyor"  # what survey.py is called beside the program
BETWEEN = " ; "  # the values that a probe shows
TAG = re.compile(r"<@(\d+)\|.*?\|@>\n", re.DOTALL)
TIMEOUT_S = 300  # a replay takes seconds; what takes this long on a loaded machine hangs

PURE_STARTS = ("hash(random.", "hash(np.random.", "hash(torch.", "np.random.")  # the modules' own functions
STATE_WORDS = ("getstate", "get_state", "get_rng_state")  # what reads a generator's state

# Expressions a probe shows: as many as there are, but a position that is passed a thousand times shows a few
PRINTED_MAX, PRINTED_MIN, PRINTED_IN_ALL = 60, 5, 4000
VISITS_MAX = 3000  # a position passed more often than this prints its tag alone
ISOLATED_VISITS_MAX = 60  # what florc cannot know to be pure, it isolates: too slow to do a thousand times


@dataclass(frozen=True)
class Spot:
    """One numbered position of a program, and the probe for it."""

    number: int
    file: str
    place: Position
    shown: tuple[str, ...] = ()
    visits: int = 0

    @property
    def probe(self) -> str:
        """The line that is added."""
        shown = "".join(f"{text}, " for text in self.shown)
        return f'print("<@{self.number}|", {shown}"|@>", sep="{BETWEEN}")'

    @property
    def label(self) -> str:
        """Where it is, in words."""
        side = "end of" if self.place.after else "in"
        return f"{self.file}:{self.place.line} {side} {self.place.body} ({self.place.scope or 'module'})"


@dataclass(frozen=True)
class Sweep:
    """A program ready to be swept: where its parts lie, what plain Python prints with all probes at once."""

    swept: Swept
    sources: Mapping[str, str]
    spots: tuple[Spot, ...]
    truth: str

    def expected(self, numbers: frozenset[int]) -> str:
        """What the program prints with the probes of these positions alone."""
        return TAG.sub(lambda tag: tag.group(0) if int(tag.group(1)) in numbers else "", self.truth)

    def edited(self, numbers: frozenset[int]) -> dict[str, str]:
        """The program's files with the probes of these positions in them."""
        return self.sources_with([spot for spot in self.spots if spot.number in numbers])

    def sources_with(
        self, spots: Sequence[Spot], statement: Callable[[Spot], str] = lambda spot: spot.probe
    ) -> dict[str, str]:
        """The program's files with a statement, by default the probe, at each of these positions."""
        added: dict[str, list[tuple[Position, str]]] = {}
        for spot in spots:
            added.setdefault(spot.file, []).append((spot.place, statement(spot)))
        return {**self.sources, **insert_all(self.sources, added)}


@dataclass(frozen=True)
class Verdict:
    """What one replay was worth.

    verdict: "right"; "told" (exit 65); "refused" (exit 69); "wrong": all else, a crash and a hang included.
    """

    program: str
    overhead: str
    positions: tuple[int, ...]
    labels: tuple[str, ...]
    verdict: str
    reason: str
    restarted: str
    executed: int
    iterations: int
    seconds: float
    detail: dict[str, Any] = field(default_factory=dict)

    def as_json(self) -> str:
        return json.dumps(asdict(self))


class SweepError(Exception):
    """The program cannot be swept: the truth would not be the truth."""


class Bench:
    """Where programs are run: warm where that can be, in real processes where not."""

    def __init__(self, warm: Warm | None) -> None:
        self._warm, self._cold = warm, Cold()

    def python(self, at: Desk, extra: Mapping[str, str] | None = None) -> Done:
        """Run the desk's program under plain Python, with more environment variables."""
        return self._run([*at.program.target, *at.program.args], at, extra)

    def florc(self, at: Desk, command: str, *options: str, args: Sequence[str] = ()) -> Done:
        """Run a florc command on the desk's program."""
        return self._run(["-m", "florc", command, *options, *at.program.target, *args], at, None)

    def _run(self, argv: list[str], at: Desk, extra: Mapping[str, str] | None) -> Done:
        env = environment({**at.program.env, **(extra or {})})
        can_warm = argv[0].endswith(".py") or argv[1] == "florc"
        runner: Warm | Cold = self._warm if self._warm is not None and can_warm else self._cold
        return runner.run(argv, at.home, env, TIMEOUT_S)


def prepare(
    swept: Swept,
    work: Path,
    bench: Bench,
    other: Bench,
    pick: Callable[[list[Spot]], list[Spot]] | None = None,
) -> Sweep:
    """Find the positions, survey what each can print, and get the truth; SweepError where it is none.

    other: gets the truth once more: what is not the same there, chance decides, and no probe shows it.
    pick: takes the positions that are wanted; by default all of them are.    """
    home = desk(swept.program, work / "original").home
    sources = {file: _read(home / file) for file in swept.files}
    bare = _number(sources) if pick is None else pick(_number(sources))
    plain = _must(bench.python(desk(swept.program, work / "plain")), "the program")
    found = _survey(swept, work, bench, Sweep(swept, sources, tuple(bare), ""), plain)
    spots = tuple(_with_probe(spot, found.get(str(spot.number))) for spot in bare)
    spots = tuple(_compiling(spot, sources[spot.file]) for spot in spots)
    sweep = Sweep(swept, sources, spots, "")
    truth = _probed(sweep, work / "truth", bench)
    by_chance = _differing(truth, _probed(sweep, work / "again", other))
    if by_chance:  # generators before they are seeded, clock readings: no plain run tells what they were
        sweep = replace(sweep, spots=tuple(_steady(spot, by_chance) for spot in spots))
        truth = _probed(sweep, work / "steady", bench)
    sweep = replace(sweep, truth=truth)
    if sweep.expected(frozenset()) != plain:
        raise SweepError(f"{swept.name}: with the probes the program itself prints something else")
    return sweep


def _probed(sweep: Sweep, home: Path, bench: Bench) -> str:
    """What plain Python prints with all probes."""
    probed = desk(sweep.swept.program, home)
    lay(probed.home, sweep.sources_with(sweep.spots))
    return _must(bench.python(probed), "the program with all probes")


def _differing(one: str, other: str) -> dict[int, set[int]]:
    """Position -> which of the values that its probe shows are not the same in both."""
    found: dict[int, set[int]] = {}
    for left, right in zip(TAG.finditer(one), TAG.finditer(other), strict=False):
        if left.group(0) != right.group(0):
            a, b = (tag.group(0).split(BETWEEN) for tag in (left, right))
            number = int(left.group(1))
            if len(a) != len(b) or number != int(right.group(1)):
                raise SweepError(f"two plain runs of position {number} are too different to be compared")
            here = (i for i, (x, y) in enumerate(zip(a, b, strict=True)) if x != y)
            found.setdefault(number, set()).update(here)
    return found


def _steady(spot: Spot, by_chance: Mapping[int, set[int]]) -> Spot:
    """The spot, without the values that chance decides."""
    differing = by_chance.get(spot.number, ())
    return replace(spot, shown=tuple(text for i, text in enumerate(spot.shown, 1) if i not in differing))


def _read(path: Path) -> str:
    return path.read_bytes().decode()


def lay(home: Path, sources: Mapping[str, str]) -> None:
    """Write the program's files."""
    for file, text in sources.items():
        (home / file).write_bytes(text.encode())


def _number(sources: Mapping[str, str]) -> list[Spot]:
    places = [(file, place) for file in sources for place in positions(sources[file])]
    return [
        Spot(number, file, place)
        for number, (file, place) in enumerate(places, 1)
    ]


def _survey(swept: Swept, work: Path, bench: Bench, bare: Sweep, plain: str) -> dict[str, Any]:
    at = desk(swept.program, work / "survey")
    lay(at.home, bare.sources_with(bare.spots, lambda spot: f'__import__("{SURVEYOR}").look({spot.number})'))
    target = swept.program.target
    beside = at.home if target[0] == "-m" else (at.home / target[0]).parent
    shutil.copyfile(SURVEY, beside / f"{SURVEYOR}.py")
    told = work / "survey.json"
    extra = {"SWEEP_SURVEY": str(told), "SWEEP_HOME": str(at.home)}
    if _must(bench.python(at, extra), "the surveyed program") != plain:
        raise SweepError(f"{swept.name}: surveyed, the program prints something else")
    found: dict[str, Any] = json.loads(told.read_text())
    return found


def _must(done: Done, what: str) -> str:
    if done.code != 0:
        raise SweepError(f"{what} exits with {done.code}: {done.err.decode()[-800:]}")
    return done.out.decode()


def _with_probe(spot: Spot, found: Mapping[str, Any] | None) -> Spot:
    """The probe for a position: a print of what is there at each visit; of its tag, where nobody comes."""
    visits, expressions = (found["visits"], found["expressions"]) if found else (0, [])
    if visits > ISOLATED_VISITS_MAX:
        expressions = [text for text in expressions if not _is_isolated(text)]
    most = 0 if visits > VISITS_MAX else PRINTED_MAX
    if visits:
        most = min(most, max(PRINTED_MIN, PRINTED_IN_ALL // visits))
    return replace(spot, visits=visits, shown=tuple(_spread(expressions, most, spot.number)))


def _is_isolated(text: str) -> bool:
    """True for a call that may change state, for all that its name tells: a generator's own method."""
    return any(f".{word}()" in text for word in STATE_WORDS) and not text.startswith(PURE_STARTS)


def _spread(expressions: Sequence[str], most: int, seed: int) -> list[str]:
    """So many of them, evenly spread, begun at a place that the position's number gives."""
    if len(expressions) <= most:
        return list(expressions)
    step = len(expressions) / most if most else 0
    picked = sorted({int(i * step + seed) % len(expressions) for i in range(most)})
    return [expressions[i] for i in picked]


def _compiling(spot: Spot, source: str) -> Spot:
    """The spot, with its tag alone where what it shows would not compile there (before a `global`, say)."""
    try:
        compile(insert(source, [(spot.place, spot.probe)]), spot.file, "exec")
    except SyntaxError:
        return replace(spot, shown=())
    return spot


@dataclass(frozen=True)
class Recorded:
    """A program recorded at a desk of its own; every replay edits the files there."""

    sweep: Sweep
    desk: Desk
    overhead: str


def record(sweep: Sweep, work: Path, bench: Bench, overhead: str) -> Recorded:
    """Record the program; SweepError if that prints something else than plain Python."""
    at = desk(sweep.swept.program, work / f"user-{overhead or 'default'}")
    options = ("--overhead", overhead) if overhead else ()
    out = _must(bench.florc(at, "record", *options, args=at.program.args), "record")
    if out != sweep.expected(frozenset()):
        raise SweepError(f"{sweep.swept.name}: recorded, the program prints something else")
    return Recorded(sweep, at, overhead or "default")


def replay(recorded: Recorded, spots: Sequence[Spot], bench: Bench) -> Verdict:
    """Replay with the probes of these positions, and hold it against the truth."""
    sweep, at = recorded.sweep, recorded.desk
    numbers = frozenset(spot.number for spot in spots)
    lay(at.home, sweep.edited(numbers))
    summary_file = at.home.with_name(f"{at.home.name}.summary.json")
    summary_file.unlink(missing_ok=True)
    done = bench.florc(at, "replay", "--summary", str(summary_file))
    summary = json.loads(summary_file.read_text()) if summary_file.exists() else {}
    verdict, reason = _judge(done, summary, sweep.expected(numbers))
    loops = summary.get("main_loops", ())
    return Verdict(
        program=sweep.swept.name,
        overhead=recorded.overhead,
        positions=tuple(sorted(numbers)),
        labels=tuple(spot.label for spot in spots),
        verdict=verdict,
        reason=reason,
        restarted=summary.get("started_again", ""),
        executed=sum(len(loop["executed"]) for loop in loops),
        iterations=sum(loop["iterations"] for loop in loops),
        seconds=round(done.seconds, 2),
        detail={"visits": [spot.visits for spot in spots], "notes": summary.get("notes", ())},
    )


def _judge(done: Done, summary: Mapping[str, Any], expected: str) -> tuple[str, str]:
    out, err = done.out.decode("utf-8", "replace"), done.err.decode("utf-8", "replace")
    same = "" if out == expected else _first_difference(out, expected)
    if done.code == REFUSED:
        return ("wrong", f"refused, and printed {out[:80]!r}") if out else ("refused", err.strip()[-600:])
    if done.code == INEXACT:
        problems = "; ".join(summary.get("problems", ())) or err.strip()[-400:]
        return "told", f"{problems}{f' [{same}]' if same else ' [the text is right]'}"
    if done.code != 0:
        return "wrong", f"exits with {done.code}: {err.strip()[-600:]}"
    if same:
        return "wrong", same
    return ("right", "") if summary.get("exact") is True else ("wrong", "the summary does not say exact")


def _first_difference(got: str, want: str) -> str:
    left, right = got.split("\n"), want.split("\n")
    for number, (a, b) in enumerate(zip(left, right, strict=False), 1):
        if a != b:
            at = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
            at = max(0, at - 30)
            return f"line {number}: got {a[at : at + 110]!r}, want {b[at : at + 110]!r}"
    return f"got {len(left)} lines, want {len(right)}"
