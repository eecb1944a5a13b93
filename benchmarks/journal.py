"""What the branch journal alone costs on each workload: `python -m benchmarks.journal`. Writes journal.md.

Too little to be seen in pairs of runs. So it is added up: how often a mark is set, times what one takes; and
the time that recording spends beside the program where it takes no checkpoints (`--overhead 0`).
"""
from __future__ import annotations

import argparse
import json
import statistics
import sys
import timeit
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from . import catalog, measuring, variants
from .catalog import Workload
from .desk import Desk
from .report import number, table

RECORD = ("-m", "florc", "record", "--overhead", "0")
EPOCHS = 2  # of the workloads that have epochs; what a second holds of them is always the same
ROUNDS = 3  # of the plain run, and of the one whose seconds are told


class CountedMarks(bytearray):
    """Marks that count how often one is set."""

    hits = 0

    def __setitem__(self, key: Any, value: Any) -> None:
        if type(key) is int:
            CountedMarks.hits += 1
        bytearray.__setitem__(self, key, value)


def watched(what: str, command: Sequence[str]) -> int:
    """In a child: run florc's command, and write to standard error what it did.

    what: "marks" counts them; "seconds" adds up what the recorder takes of the program's thread.
    """
    import florc.__main__
    from florc.runtime.project import Project
    from florc.runtime.recording import Recorder

    told: dict[str, float] = {"seconds": 0.0, "end": 0.0}
    if what == "marks":
        Project.new_marks = (  # type: ignore[method-assign]
            lambda self, file, count: self.marks.setdefault(file, CountedMarks(count)))
    else:
        _add_up(Recorder, told)
    sys.argv = ["florc", *command]
    try:
        florc.__main__.main()
    finally:
        print(json.dumps(told | {"hits": CountedMarks.hits}), file=sys.__stderr__)
    return 0


def _add_up(recorder: Any, told: dict[str, float]) -> None:
    """Time all that goes through the recorder's doors, once where one leads to another."""
    inside = [False]

    def timed(method: Any, what: str) -> Any:
        def run(*args: Any) -> Any:
            if inside[0]:
                return method(*args)
            inside[0], started = True, perf_counter()
            try:
                return method(*args)
            finally:
                told[what] += perf_counter() - started
                inside[0] = False

        return run

    recorder._safely, recorder.loop = timed(recorder._safely, "seconds"), timed(recorder.loop, "seconds")
    recorder.finish = timed(recorder.finish, "end")


def nanoseconds_a_mark() -> float:
    """What setting a mark takes, as instrumented code does it, less an empty loop."""
    names = {"marks": bytearray(64)}
    count = 1_000_000

    def best(statement: str) -> float:
        code = f"def run(n):\n    for _ in range(n):\n        {statement}"
        exec(code, names)
        run: Any = names["run"]
        return min(timeit.repeat(lambda: run(count), number=1, repeat=5))

    return (best("marks[7] = 1") - best("pass")) / count * 1e9


def measure(workload: Workload, nanoseconds: float) -> list[str]:
    """A row of the table."""
    args = (workload.count, str(EPOCHS)) if workload in catalog.PAPER else ()
    desk = Desk.fresh(f"journal/{workload.name}")
    desk.lay(workload, variants.script(workload, "plain"))
    plain = statistics.median(desk.run(workload.script, *args).loop_wall or 0.0 for _ in range(ROUNDS))
    told = {what: [_told(desk, what, (*RECORD[2:], workload.script, *args)) for _ in range(rounds)]
            for what, rounds in (("marks", 1), ("seconds", ROUNDS))}
    hits = told["marks"][0]["hits"]
    spent, end = (statistics.median(one[part] for one in told["seconds"]) for part in ("seconds", "end"))
    marking = hits * nanoseconds * 1e-9
    return [workload.name, number(plain, 2), f"{hits:.0f}", number(100 * marking / plain, 4),
            number(1000 * spent, 1), number(100 * (marking + spent) / plain, 2), number(1000 * end, 1)]


def _told(desk: Desk, what: str, command: Sequence[str]) -> dict[str, float]:
    usage = desk.run("-m", "benchmarks.journal", "--watch", what, *command)
    if usage.code:
        raise RuntimeError(usage.err)
    found: dict[str, float] = json.loads(usage.err.splitlines()[-1])
    return found


def page(nanoseconds: float, rows: Sequence[Sequence[str]]) -> str:
    head = ("workload", "loop, s", "marks set", "marks, %", "recorder, ms", "both, % of the loop",
            "at the end, ms")
    return f"""# What the branch journal costs

Written by `python -m benchmarks.journal`: {EPOCHS} epochs of the first eight scripts, the whole of the
others, recorded with `--overhead 0`, which keeps the journal alone. A mark takes {number(nanoseconds, 1)} ns.
*recorder*: what the program's thread spends in it: loops entered and left, iterations, output, clocks and
files. *at the end*: the last write to the disk, which a run has once, however long it is.

{table(head, rows)}"""


def main(argv: Sequence[str] | None = None) -> int:
    if argv is None and sys.argv[1:2] == ["--watch"]:
        return watched(sys.argv[2], sys.argv[3:])
    parser = argparse.ArgumentParser(prog="python -m benchmarks.journal", description=__doc__)
    parser.add_argument("--workloads", default="", metavar="A,B", help="only these")
    options = parser.parse_args(argv)
    measuring.adopt_orphans()
    nanoseconds = nanoseconds_a_mark()
    rows = []
    for name in filter(None, options.workloads.split(",")) if options.workloads else catalog.BY_NAME:
        rows.append(measure(catalog.BY_NAME[name], nanoseconds))
        print("  ".join(rows[-1]), flush=True)
    Path(__file__).with_name("journal.md").write_text(page(nanoseconds, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
