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
from concurrent.futures import ProcessPoolExecutor
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


def _write(file: Path, found: dict[str, Counter[str]], skipped: dict[str, str]) -> None:
    """Put the counts into a file of results; those of other faults stay."""
    results = json.loads(file.read_text()) if file.exists() else {"trials": {}, "skipped": {}}
    results["trials"].update(found)
    results["skipped"].update(skipped)
    file.write_text(json.dumps(results, indent=1) + "\n")


def main(args: list[str]) -> int:
    """Run the trials; 1 if one of them found a fault."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--trials", type=int, default=50, help="trials of each fault (default: 50)")
    parser.add_argument("--first", type=int, default=0, help="number of the first trial (default: 0)")
    parser.add_argument("--workers", type=int, default=2, help="trials at once (default: 2)")
    parser.add_argument("--json", type=Path, help="file for the counts")
    parser.add_argument("names", nargs="*", help="faults (default: all)")
    options = parser.parse_args(args)
    found: dict[str, Counter[str]] = {}
    skipped: dict[str, str] = {}
    tasks = []
    for name in options.names or FAULTS:
        fault = FAULTS[name]
        why = fault.needs()
        if why:
            skipped[name] = why
            print(f"{name}: not here: {why}")
            continue
        count = min(options.trials, fault.most or options.trials)
        tasks += [(name, number) for number in range(options.first, options.first + count)]
    with ProcessPoolExecutor(options.workers) as pool:
        for name, verdict, words in pool.map(_outcome, tasks):
            found.setdefault(name, Counter())[verdict] += 1
            if words:
                print(f"FAULT {words}", flush=True)
    for name, counts in found.items():
        print(f"{name}: " + ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common()))
    if options.json is not None:
        _write(options.json, found, skipped)
    return int(any("fault" in counts for counts in found.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
