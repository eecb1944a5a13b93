"""Make every fault happen, many times, and write down what came out.

    python -m tests.reliability.trials [--trials 50] [--workers 2] [--json FILE] [NAME...]

The random choices of trial n of a fault depend on its name and n alone; a failure names both.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from random import Random

from . import company, damage, disks, endings, kills, limits, signals
from .bench import Bench, Fault

MODULES = (kills, signals, endings, disks, company, limits, damage)
FAULTS: dict[str, Fault] = {fault.name: fault for module in MODULES for fault in module.FAULTS}


def try_once(name: str, number: int) -> str:
    """One trial; its verdict. AssertionError, with the trial's number, where something is wrong."""
    with tempfile.TemporaryDirectory(prefix="reliability-") as work:
        try:
            return FAULTS[name].trial(Bench(Path(work)), Random(f"{name} {number}"))
        except AssertionError as fault:
            raise AssertionError(f"{name}, trial {number}: {fault}") from None


def _outcome(task: tuple[str, int]) -> tuple[str, str, str]:
    name, number = task
    try:
        return name, try_once(name, number), ""
    except Exception as fault:
        return name, "fault", f"{type(fault).__name__}: {fault}"


class Results:
    """Counts of verdicts by fault, added to those that a file already holds, and written as they come."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        there = file is not None and file.exists()
        self.all = json.loads(file.read_text()) if file and there else {"trials": {}, "skipped": {}}
        self.now: dict[str, Counter[str]] = {}

    def add(self, name: str, verdict: str) -> None:
        self.now.setdefault(name, Counter())[verdict] += 1
        counts = self.all["trials"].setdefault(name, {})
        counts[verdict] = counts.get(verdict, 0) + 1
        self._write()

    def skip(self, name: str, why: str) -> None:
        print(f"{name}: not here: {why}")
        self.all["skipped"][name] = why
        self._write()

    def _write(self) -> None:
        if self._file is not None:
            self._file.write_text(json.dumps(self.all, indent=1, sort_keys=True) + "\n")


def main(args: list[str]) -> int:
    """Run the trials; 1 if one of them found a fault."""
    options = _parser().parse_args(args)
    results = Results(options.json)
    tasks = []
    for name in options.names or FAULTS:
        why = FAULTS[name].needs()
        if why:
            results.skip(name, why)
            continue
        count = min(options.trials, FAULTS[name].most or options.trials)
        tasks += [(number, name) for number in range(options.first, options.first + count)]
    with ProcessPoolExecutor(options.workers) as pool:
        trials = [pool.submit(_outcome, (name, number)) for number, name in sorted(tasks)]
        for trial in as_completed(trials):
            name, verdict, words = trial.result()
            results.add(name, verdict)
            if words:
                print(f"FAULT {words}", flush=True)
    for name, counts in sorted(results.now.items()):
        print(f"{name}: " + ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common()))
    return int(any("fault" in counts for counts in results.now.values()))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--trials", type=int, default=50, help="trials of each fault (default: 50)")
    parser.add_argument("--first", type=int, default=0, help="number of the first trial (default: 0)")
    parser.add_argument("--workers", type=int, default=2, help="trials at once (default: 2)")
    parser.add_argument("--json", type=Path, help="file that the counts are added to")
    parser.add_argument("names", nargs="*", help="faults (default: all)")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
