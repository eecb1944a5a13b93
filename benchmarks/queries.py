"""What questions of different kinds cost, asked of 40 epochs: `python -m benchmarks.queries [--epochs N]`.

Writes queries.md. The script is the squeeze-type image classifier; each answer is compared with what plain
Python prints on the script with that line in it.
"""
from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import catalog, checking, measuring, variants
from .desk import Desk
from .measuring import Usage
from .report import number, table
from .variants import INNER, OUTER

WORKLOAD = catalog.BY_NAME["image_squeeze"]
RARE = "| rare"
RARE_PLACE = "            best = accuracy\n"  # taken in the epochs that are better than all before
ALL_STEPS, TWO = "a line in all steps", ", 2 workers"
ROUNDS = 1  # takes nine minutes
AT_EPOCH, AT_STEP = 20, 17  # counted from 0


def rare(text: str) -> str:
    """The text with a line in the branch that few epochs take."""
    return text.replace(RARE_PLACE, f'{RARE_PLACE}            print("{RARE}", epoch, best)\n', 1)


def truth_text() -> str:
    """The script with all the questions' lines in it."""
    text = variants.fill(WORKLOAD.text, "inner probe", variants.inner_probe(WORKLOAD))
    return variants.strip(rare(variants.fill(text, "outer probe", variants.outer_probe(WORKLOAD))))


def asked(out: str, probe: str) -> str:
    """What the script would print with this line alone added."""
    for other in {OUTER, INNER, RARE} - {probe}:
        out = checking.without(out, other)
    return out


def one_step(truth: str) -> str:
    """The inner line of one step of one epoch."""
    return checking.iteration(truth, AT_EPOCH, True)[AT_STEP] + "\n"


@dataclass(frozen=True)
class Query:
    """A question: the script's new text, the replay's options, and what plain Python answers."""

    name: str
    text: str
    options: tuple[str, ...]
    answer: Callable[[str], str]


@dataclass(frozen=True)
class Outcome:
    """What one replay took and did."""

    seconds: float
    estimate: float
    epochs: int
    loops: int
    right: bool

    @classmethod
    def of(cls, usage: Usage, told: dict[str, Any], right: bool) -> Outcome:
        training = max(told["main_loops"], key=lambda loop: loop["iterations"])  # others only build the model
        epochs = len(training["executed"])
        return cls(usage.wall, told["seconds"]["estimate"], epochs, told["blocks"]["executed"], right)


def queries() -> list[Query]:
    inner = variants.script(WORKLOAD, "inner")
    return [
        Query("a line at the end of every epoch", variants.script(WORKLOAD, "outer"), (),
              lambda truth: asked(truth, OUTER)),
        Query("a line in a branch that few epochs take", variants.strip(rare(WORKLOAD.text)), (),
              lambda truth: asked(truth, RARE)),
        Query("a line in one step of one epoch", inner,
              ("--new", "--at", f"{AT_EPOCH}, batch={AT_STEP}"), one_step),
        Query(ALL_STEPS, inner, ("--workers", "1"), lambda truth: asked(truth, INNER)),
        Query(ALL_STEPS + TWO, inner, ("--workers", "2"), lambda truth: asked(truth, INNER)),
    ]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.queries", description=__doc__)
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of all questions; medians are told")
    options = parser.parse_args(argv)
    measuring.adopt_orphans()
    args = (WORKLOAD.count, str(options.epochs))

    truth_desk, desk = Desk.fresh("queries/truth"), Desk.fresh("queries/florc")
    truth_desk.lay(WORKLOAD, truth_text())
    desk.lay(WORKLOAD, variants.script(WORKLOAD, "plain"))
    truth = truth_desk.run(WORKLOAD.script, *args)
    plain_desk = Desk.fresh("queries/plain")
    plain_desk.lay(WORKLOAD, variants.script(WORKLOAD, "plain"))
    plain = [plain_desk.run(WORKLOAD.script, *args).wall for _ in range(options.rounds)]
    recorded = desk.run("-m", "florc", "record", WORKLOAD.script, *args)
    if recorded.code or truth.code:
        print(recorded.err + truth.err, file=sys.stderr)
        return 1

    found: dict[str, list[Outcome]] = {}
    for query in queries() * options.rounds:
        desk.edit(WORKLOAD, query.text)
        summary = desk.home.parent / "summary.json"
        usage = desk.run("-m", "florc", "replay", *query.options, "--summary", str(summary), WORKLOAD.script)
        right = not usage.code and usage.out == query.answer(truth.out)
        outcome = Outcome.of(usage, json.loads(summary.read_text()), right)
        found.setdefault(query.name, []).append(outcome)
        print(f"{query.name}: {outcome}", flush=True)
    Path(__file__).with_name("queries.md").write_text(page(options.epochs, plain, found))
    return 0 if all(outcome.right for outcomes in found.values() for outcome in outcomes) else 1


def page(epochs: int, plain: Sequence[float], found: dict[str, list[Outcome]]) -> str:
    whole = statistics.median(plain)
    seconds = {name: statistics.median(one.seconds for one in outcomes) for name, outcomes in found.items()}
    lines = []
    for name, outcomes in found.items():
        estimate = statistics.median(one.estimate for one in outcomes)
        lines.append([name, f"{outcomes[0].epochs} of {epochs}", str(outcomes[0].loops),
                      number(seconds[name], 1), number(whole / seconds[name], 1),
                      number(estimate, 1), number(estimate / seconds[name]),
                      "right" if all(one.right for one in outcomes) else "WRONG"])
    head = ("added line", "epochs executed", "loops in them run", "seconds", "times quicker", "estimate",
            "estimate / seconds", "values")
    return f"""# What a question costs

Written by `python -m benchmarks.queries`: the squeeze-type image classifier of [workloads](workloads), one
thread, {epochs} epochs, {number(whole, 1)} s under plain Python; recorded once, then asked. Wall seconds of
whole commands, medians of {len(plain)}. *times quicker*: than plain Python. *estimate*: what the replay says
before it starts. An epoch is executed where its body runs, be it for the added line alone: the two loops in
it may be put back.

{table(head, lines)}
Two workers are {number(seconds[ALL_STEPS] / seconds[ALL_STEPS + TWO])} times as quick as one.
"""


if __name__ == "__main__":
    sys.exit(main())
