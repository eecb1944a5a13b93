"""Run the benchmarks: `python -m benchmarks [--pairs N] [--workloads A,B] [--variants V,W] [--quick]`."""
from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import campaign, catalog, measuring
from .desk import BENCH, ROOT


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--pairs", type=int, default=3, help="plain and recorded runs of each workload")
    parser.add_argument("--manual", type=int, default=1, help="runs that save by hand, among these")
    parser.add_argument("--peers", type=int, default=1, help="runs of each installed other recorder")
    parser.add_argument("--replays", type=int, default=2, help="rounds of replays")
    parser.add_argument("--workloads", default="", metavar="A,B", help="only these (startup and stall too)")
    parser.add_argument("--variants", default="", metavar="V,W",
                        help="only these, and plain: florc, manual, replay, a recorder's name")
    parser.add_argument("--keep", action="store_true", help="leave what ran in .bench/work (gigabytes)")
    parser.add_argument("--quick", action="store_true", help="one pair, two epochs: a look, no figures")
    options = parser.parse_args(argv)
    if options.quick:
        options.pairs = options.manual = options.replays = 1
        options.peers = min(options.peers, 1)

    wanted = set(filter(None, options.workloads.split(",")))
    unknown = wanted - {*catalog.BY_NAME, "startup", "stall"}
    if unknown:
        parser.error(f"no workload {', '.join(sorted(unknown))}; there are {', '.join(catalog.BY_NAME)}")
    measuring.adopt_orphans()
    name = time.strftime("%Y%m%d-%H%M%S") + ("-quick" if options.quick else "")
    log = campaign.Log(BENCH / "results" / f"{name}.json", about(options))
    run(log, options, wanted)
    _say(f"results: {log.path}")
    return 0


def run(log: campaign.Log, options: argparse.Namespace, wanted: set[str]) -> None:
    log.about["memory_seconds_per_gb"] = campaign.memory_seconds_per_gb()
    if not wanted or "startup" in wanted:
        campaign.startup(log, 1 if options.quick else campaign.STARTUP_PAIRS, _say)
    if not wanted or "stall" in wanted:
        campaign.stall(log, catalog.BY_NAME["state_heavy"], _say, options.pairs)
        _tidy(options)
    for workload in catalog.ALL:
        if wanted and workload.name not in wanted:
            continue
        iterations = workload.quick if options.quick else workload.iterations
        args = (workload.count, str(iterations))
        campaign.Campaign(log, workload, args, iterations, options.pairs, options.manual, options.replays,
                          _say, frozenset(filter(None, options.variants.split(","))), options.peers).run()
        _tidy(options)
    log.about["took"] = time.time() - log.about["started"]
    log.save()


def _tidy(options: argparse.Namespace) -> None:
    """Remove what the runs left: a full disk would be measured, too."""
    if not options.keep:
        shutil.rmtree(BENCH / "work", ignore_errors=True)


def about(options: argparse.Namespace) -> dict[str, Any]:
    """What the results were made on, and how."""
    import numpy
    import torch

    model = [line.split(":", 1)[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
             if line.startswith("model name")]
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True,
                            text=True, check=False).stdout.strip()
    return {"started": time.time(), "command": "python -m benchmarks " + " ".join(sys.argv[1:]),
            "cpu": model[0] if model else platform.processor(), "cores": os.cpu_count(),
            "memory_gb": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30,
            "system": platform.platform(), "python": platform.python_version(), "torch": torch.__version__,
            "numpy": numpy.__version__, "florc": commit, "load_before": os.getloadavg()[0],
            "pairs": options.pairs, "quick": options.quick}


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
