"""Fuzz for some minutes: `python -m tests.fuzz.campaign --minutes 60 --seed 1`.

Every seed gives a program and some sets of probes. What goes wrong is made sure of in real processes, made
small and kept in the output folder, as a file that belongs into tests/fuzz/corpus once it is understood.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.warm import NUMPY, TORCH, Cold, Warm

from .oracle import REFUSED, RESTARTED, RIGHT, TOLD, VOID, WRONG, Runner, Verdict, check, record, replay
from .probing import Prober
from .programs import ProgramMaker
from .shrink import shrink
from .text import Program, parse

SETS = 3  # of probes for each program: a recording is dearer than a replay
THIN = 0.15  # of the programs are recorded within the usual bound, the rest with all checkpoints
AUDITED = 0.2  # of them with the audit, which takes longer than all the rest
PROGRESS_S = 60
RENEW = 400  # programs after which servers are started anew


@dataclass
class Totals:
    """What came of it so far."""

    programs: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    executed: int = 0
    restored: int = 0
    blocks_skipped: int = 0
    blocks_executed: int = 0
    blocks_left: int = 0
    unconfirmed: int = 0

    def add(self, verdict: Verdict) -> None:
        self.outcomes[verdict.outcome] += 1
        if verdict.outcome in (RESTARTED, TOLD, REFUSED):
            self.reasons[f"{verdict.outcome}: {verdict.why}"] += 1
        if verdict.summary:
            self.blocks_skipped += verdict.summary["blocks"]["skipped"]
            self.blocks_executed += verdict.summary["blocks"]["executed"]
            self.blocks_left += verdict.summary["blocks"]["left_early"]
            self.executed += sum(len(loop["executed"]) for loop in verdict.summary["main_loops"])
            self.restored += sum(len(loop["restored"]) for loop in verdict.summary["main_loops"])

    def line(self) -> str:
        count = self.outcomes
        parts = [f"{word} {count[word]}" for word in (RIGHT, RESTARTED, TOLD, REFUSED, WRONG, VOID)]
        return (f"programs {self.programs}  {'  '.join(parts)}  iterations executed {self.executed} restored "
                f"{self.restored}  blocks executed {self.blocks_executed} skipped {self.blocks_skipped} "
                f"left early {self.blocks_left}")

    def as_json(self) -> dict[str, Any]:
        reasons = dict(self.reasons.most_common())
        return {**vars(self), "outcomes": dict(self.outcomes), "reasons": reasons}


class Servers:
    """The warm servers: one for programs with torch, one for the others."""

    def __init__(self) -> None:
        self._servers = {True: Warm(TORCH), False: Warm(NUMPY)}

    def of(self, program: Program) -> Runner:
        return self._servers[program.needs_torch]

    def close(self) -> None:
        for server in self._servers.values():
            server.close()


def programs(seed: int) -> list[Program]:
    """The programs of one seed: the same, with different probes."""
    rng = random.Random(seed)
    maker = ProgramMaker(rng)
    maker.make()
    prober = Prober(rng, maker)
    record: tuple[str, ...] = () if rng.random() < THIN else ("--overhead", "1")
    record += () if rng.random() < AUDITED else ("--audit", "off")
    return [prober.program(record) for _ in range(SETS)]


def same_fault(program: Program, why: str, runner: Runner, folder: Path) -> bool:
    return any(found.outcome == WRONG and found.why == why for found in check(program, runner, folder))


def keep(program: Program, fault: Verdict, seed: int, servers: Servers, out: Path) -> bool:
    """Confirm, make small and write a failing program; False if real processes do not show the fault."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as work:
        folder = Path(work)
        if not same_fault(program, fault.why, Cold(), folder):
            (out / f"unconfirmed-{seed}.txt").write_text(f"# {fault.why}\n{program.text()}")
            return False
        wanted = program if fault.options is None else replace(program, replays=(fault.options,))
        small = wanted  # of one that hangs each trial would take a minute
        if "hangs" not in fault.why:
            small = shrink(wanted, lambda one: same_fault(one, fault.why, servers.of(one), folder))
        sure = "" if same_fault(small, fault.why, Cold(), folder) else " (small: warm only)"
    detail = "".join(f"#   {line}\n" for line in fault.detail.splitlines())
    (out / f"found-{seed}.txt").write_text(f"# {fault.why}{sure}\n{detail}{small.text()}")
    (out / f"found-{seed}.whole").write_text(program.text())
    return True


def run_seed(seed: int, servers: Servers, totals: Totals, out: Path) -> None:
    """Record the program of a seed and replay it with each set of probes."""
    sets = programs(seed)
    runner = servers.of(sets[0])
    with tempfile.TemporaryDirectory(prefix="fuzz-") as work:
        recorded = record(sets[0], runner, Path(work))
        for program in sets if recorded is None else sets[:1]:
            totals.programs += 1
            verdicts = replay(program, runner, Path(work)) if recorded is None else [recorded]
            for verdict in verdicts:
                totals.add(verdict)
            fault = next((one for one in verdicts if one.outcome == WRONG), None)
            if fault is not None:
                totals.reasons[f"{WRONG}: {fault.why}"] += 1
                print(f"seed {seed}: {fault.why}\n{fault.detail}", flush=True)
                totals.unconfirmed += not keep(program, fault, seed, servers, out)
                return


def main(words: Sequence[str]) -> int:
    asked = argparse.ArgumentParser(prog="fuzz", description=__doc__.split("\n")[0])
    asked.add_argument("--minutes", type=float, default=60)
    asked.add_argument("--seed", type=int, default=1, help="the first one; each program takes the next")
    asked.add_argument("--out", type=Path, default=Path("fuzz-results"))
    asked.add_argument("--again", type=Path, nargs="*", help="run these files instead, in real processes")
    options = asked.parse_args(words)
    if options.again:
        return again(options.again)
    options.out.mkdir(parents=True, exist_ok=True)
    totals, seed, servers = Totals(), options.seed, Servers()
    began = told = time.monotonic()
    try:
        while time.monotonic() - began < options.minutes * 60:
            run_seed(seed, servers, totals, options.out)
            seed += 1
            if time.monotonic() - told > PROGRESS_S:
                told = time.monotonic()
                write_summary(options, totals, seed, (told - began) / 60)
                print(f"[{(told - began) / 60:5.1f} min] {totals.line()}", flush=True)
            if (seed - options.seed) % RENEW == 0:
                servers.close()
                servers = Servers()
    finally:
        servers.close()
    minutes = (time.monotonic() - began) / 60
    write_summary(options, totals, seed, minutes)
    print(f"[{minutes:5.1f} min] {totals.line()}", flush=True)
    return int(totals.outcomes[WRONG] > 0)


def write_summary(options: argparse.Namespace, totals: Totals, seed: int, minutes: float) -> None:
    summary = {"minutes": round(minutes, 1), "seeds": [options.seed, seed - 1], **totals.as_json()}
    (options.out / f"summary-{options.seed}.json").write_text(json.dumps(summary, indent=1) + "\n")


def again(files: Sequence[Path]) -> int:
    """Check kept programs in real processes."""
    failed = False
    for file in files:
        with tempfile.TemporaryDirectory(prefix="fuzz-") as work:
            for verdict in check(parse(file.read_text()), Cold(), Path(work)):
                failed |= verdict.outcome == WRONG
                print(f"{file.name}: {verdict.outcome} {verdict.options} {verdict.why}\n{verdict.detail}",
                      flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
