"""Results -> results.md, overhead.svg, replay.svg: `python -m benchmarks.report [RESULTS.json ...]`."""
from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import catalog, figures, svg
from .desk import BENCH
from .figures import Row, Spread, median_of, overheads, select, spread, state_bytes, wrongs
from .peers import PEERS

HERE = Path(__file__).resolve().parent
MB = 1e6
OTHERS = tuple(peer.name for peer in PEERS)
RECORDERS = ("florc", "manual", *OTHERS)
TITLES = {"manual": "torch.save"}
REPLAYS = ("florc", "floor", "load", *OTHERS)
REPLAY_TITLES = {"florc": "florc replay", "load": "load all"}
OVERHEAD_AXIS, REPLAY_AXIS = 0.25, 1.2  # the plots' ends: what is more is cut, its figure stands there
NOTHING = "-"
SAME = ("florc", "cpu", "cores", "python", "torch", "numpy", "pairs")  # in all results of one campaign


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown: the first column is text, the others figures."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def number(value: float | None, digits: int = 2) -> str:
    return NOTHING if value is None else f"{value:.{digits}f}"


def percent(found: Spread | None, interval: bool = True) -> str:
    if found is None:
        return NOTHING
    text = f"{found.median * 100:.1f} %"
    return f"{text} ({found.low * 100:.1f} to {found.high * 100:.1f})" if interval and found.n > 1 else text


def measured(rows: list[Row]) -> list[catalog.Workload]:
    names = {row["workload"] for row in rows}
    return [workload for workload in catalog.ALL if workload.name in names]


def recording(rows: list[Row]) -> str:
    """Overhead, checkpoints, bytes."""
    lines = []
    for workload in measured(rows):
        name = workload.name
        plain = median_of(select(rows, workload=name, variant="plain", step="record"), "cpu_in_loop")
        state = state_bytes(rows, name)
        florc = select(rows, workload=name, variant="florc", step="record")
        kept = median_of(florc, "checkpoints")
        stored = median_of(florc, "stored")
        states = median_of(florc, "states")
        ratio = stored / (kept * state) if stored and kept and state else None
        lines.append([name, number(plain, 1), number(state and state / MB, 1),
                      percent(spread(overheads(rows, name, "florc"))),
                      percent(spread(overheads(rows, name, "florc", "wall")), interval=False),
                      number(kept, 0), number(states, 0), number(stored and stored / MB, 1), number(ratio),
                      percent(spread(overheads(rows, name, "manual")), interval=False),
                      wrongs(rows, name, "florc", "record") or "same"])
    return table(("workload", "plain loop, CPU s", "state, MB", "florc, CPU (95 % interval)", "florc, wall",
                  "checkpoints", "states", "stored, MB", "of torch.save", "torch.save, CPU", "output"),
                 lines)


def together(rows: list[Row]) -> str:
    """The geometric mean over the paper's workloads."""
    groups = [overheads(rows, workload.name, "florc") for workload in catalog.PAPER]
    found = figures.geometric_mean(groups)
    if found is None or not all(groups):
        return "Not all of the first eight were measured.\n"
    return f"Geometric mean over the first eight: {percent(found)}.\n{unrest(rows)}"


def unrest(rows: list[Row]) -> str:
    """How far equal plain runs lie apart: what recorders differ by less says little."""
    found = []
    for workload in measured(rows):
        plain = select(rows, workload=workload.name, variant="plain", step="record")
        seconds = [row["cpu_in_loop"] for row in plain if row.get("cpu_in_loop")]
        if len(seconds) > 1:
            found.append((max(seconds) / min(seconds) - 1) * 100)
    if not found:
        return ""
    apart = f"{statistics.median(found):.0f} % apart (median of the scripts; {max(found):.0f} % at most)"
    return f"How unsteady the machine was: a script's plain runs, of different pairs, lie {apart}.\n"


def recording_peers(rows: list[Row]) -> str:
    lines = []
    for workload in measured(rows):
        cells = []
        for peer in PEERS:
            found = select(rows, workload=workload.name, variant=peer.name, step="record")
            stored = median_of(found, "stored")
            text = percent(spread(overheads(rows, workload.name, peer.name)), interval=False)
            failed = wrongs(rows, workload.name, peer.name, "record")
            cells.append(failed or (text if stored is None else f"{text}, {stored / MB:.0f} MB"))
        if any(cell != NOTHING for cell in cells):
            florc = percent(spread(overheads(rows, workload.name, "florc")), interval=False)
            lines.append([workload.name, florc, *cells])
    return table(("workload", "florc", *(peer.name for peer in PEERS)), lines) if lines else "Not measured.\n"


def replaying(rows: list[Row]) -> str:
    lines = []
    for workload in measured(rows):
        name = workload.name
        plain = median_of(select(rows, workload=name, variant="plain", step="record"), "cpu")
        cells = [name, number(plain, 1)]
        floor = median_of(select(rows, workload=name, variant="floor", step="outer"), "cpu")
        for variant in REPLAYS:
            seconds = median_of(select(rows, workload=name, variant=variant, step="outer"), "cpu")
            cells.append(" ".join(filter(None, (number(seconds), wrongs(rows, name, variant, "outer")))))
        florc = select(rows, workload=name, variant="florc", step="outer")
        seconds = median_of(florc, "cpu")
        cells.insert(3, number(seconds / plain if seconds and plain else None))
        cells.insert(4, number(seconds / floor if seconds and floor else None))
        cells.append(number(median_of(florc, "wall")))
        loop = median_of(select(rows, workload=name, variant="plain", step="record"), "wall_in_loop")
        replayed = median_of(florc, "wall_in_loop")
        cells.append(f"{loop / replayed:.0f}" if loop and replayed else NOTHING)
        cells.append(number(median_of(florc, "executed"), 0))
        lines.append(cells)
    others = (REPLAY_TITLES.get(name, name) for name in REPLAYS[1:])
    return table(("workload", "plain", "florc", "of plain", "of floor", *others, "florc, wall s",
                  "loop, times faster", "executed"), lines)


def inner(rows: list[Row]) -> str:
    lines = []
    for workload in measured(rows):
        name = workload.name
        found = select(rows, workload=name, variant="florc", step="inner")
        plain = select(rows, workload=name, variant="plain", step="record")
        whole, loop = median_of(plain, "cpu"), median_of(plain, "cpu_in_loop")
        floor = median_of(select(rows, workload=name, variant="floor", step="outer"), "cpu")
        least = floor + loop / workload.iterations if floor and loop else None
        verdict = wrongs(rows, name, "florc", "inner")
        if found or verdict:
            lines.append([name, str(workload.at), number(whole, 1), number(median_of(found, "cpu")),
                          number(least), number(median_of(found, "executed"), 0), verdict or "right"])
    return table(("workload", "iteration", "plain, CPU s", "florc, CPU s", "floor + one iteration",
                  "iterations executed", "values"), lines)


def starting(rows: list[Row]) -> str:
    lines = []
    plain = select(rows, step="startup", variant="plain")
    for variant in ("florc record", "florc replay"):
        cells = [variant]
        for what in ("cpu", "wall"):
            pairs = {row["pair"]: row[what] for row in plain}
            found = select(rows, step="startup", variant=variant)
            more = spread([row[what] - pairs[row["pair"]] for row in found if row["pair"] in pairs])
            cells.append(number(more.median if more else None))
        lines.append(cells)
    lines.append(["plain", number(median_of(plain, "cpu")), number(median_of(plain, "wall"))])
    for workload in measured(rows):
        more_cpu = figures.start_more(rows, workload.name, "florc")
        lines.append([f"{workload.name}, first record", number(more_cpu), ""])
    return table(("added to start-up", "CPU s", "wall s"), lines)


def stalling(rows: list[Row], about: dict[str, Any]) -> str:
    found = figures.stall(rows, state_bytes(rows, "state_heavy") or 50e6)
    read, copy = about["memory_seconds_per_gb"]["read"], about["memory_seconds_per_gb"]["copy"]
    floor = read + copy
    if found is None:
        return f"Not measured. To read memory: {read:.3f} s/GB, to copy it: {copy:.3f} s/GB\n"
    return table(("a checkpoint in every iteration", "s/GB", "of a read and a copy"), [
        *([words, number(seconds, 3), number(seconds / floor, 2)] for words, seconds in (
            ("a checkpoint (median): training thread waits", found.one_wall),
            ("a checkpoint (median): training thread, CPU", found.one_cpu),
            ("all, with what is done once: training thread waits", found.wall),
            ("all, with what is done once: training thread, CPU", found.main_cpu),
            ("all, with what is done once: all threads, CPU, until written", found.all_cpu))),
        ["memory read once (torch's sum)", number(read, 3), number(read / floor, 1)],
        ["memory copied once", number(copy, 3), number(copy / floor, 1)]])


def remembering(rows: list[Row]) -> str:
    lines = []
    for variant in ("plain", "florc"):
        for row in select(rows, workload="state_heavy", variant=variant, step="record"):
            lines.append([variant, *(f"{peak:.0f}" for peak in row["memory"])])
    return table(("state_heavy, 1,000 iterations", "1st quarter, MiB", "2nd", "3rd", "4th"), lines)


def provenance(about: dict[str, Any]) -> str:
    """Where, when and how the figures were made."""
    quick = "**A quick look, not figures to quote.** " if about["quick"] else ""
    day = time.strftime("%Y-%m-%d", time.gmtime(about["started"]))
    return "\n".join([
        f"{quick}Measured on {day} by `{about['command'].strip()}`",
        f"in {about.get('took', 0) / 60:.0f} minutes,",
        f"florc {about['florc']}, on {about['cores']} cores ({about['cpu']}), {about['memory_gb']:.0f} GB,",
        f"{about['system']}, Python {about['python']}, torch {about['torch']} with one thread,",
        f"NumPy {about['numpy']}; load before the run {about['load_before']:.1f}."])


def _others_at(about: dict[str, Any]) -> str:
    commit = about.get("others_at")
    if not commit:
        return ""
    return f"Measured, as is torch.save, with the scripts of florc {commit}, on the same machine and day.\n"


def page(results: dict[str, Any]) -> str:
    """The whole page."""
    about, rows = results["about"], results["rows"]
    return f"""# What recording costs, what replays take

{provenance(about)}
Written by `python -m benchmarks.report`. The scripts are in [workloads](workloads); the first eight are small
pictures of the paper's. CPU seconds are the kernel's for all processes and threads; medians.

## Recording

What a run uses more than the plain run beside it ({about['pairs']} pairs; the two runs of a pair have a core
each, which they change with the next pair), from the loop's start until everything is written, over the plain
run's loop. glibc's allocator is kept from adapting itself: one of two equal runs would have twice the page
faults of the other, and a cost of a percent could not be seen. For the same reason free memory is used, and
given back, before each pair: the host of a virtual machine takes it away meanwhile. *states*: checkpoints of
the loop that has most. *of torch.save*: bytes stored, against a torch.save of model, optimizer and scheduler
for each checkpoint (florc's hold the gradients as well). *torch.save, CPU*: the overhead of saving these by
hand every epoch. A figure may lie below zero: florc keeps Python's collector from looking through what torch
is made of, again and again, which the plain run pays for.

{recording(rows)}
{together(rows)}
![overhead](overhead.svg)

### Other recorders

{_others_at(about)}CPU overhead and bytes stored.
flordb 4 keeps what the script saves itself, so its script saves every epoch.

{recording_peers(rows)}
## Replaying a probe at epoch level

CPU seconds of the whole process; a line that prints the norm of all weights and the learning rate after every
epoch (after the loop in state_heavy and flat_steps). Each output is compared with plain Python's on the same
script: WRONG n/m. *floor*: start-up, florc's imports, the script up to its loop, then only the bytes that the
line reads. *load all*: torch.load and load_state_dict of what was saved by hand. *loop, times faster*: the
plain run's loop over the replay's, wall, start-up apart.

{replaying(rows)}
![replay](replay.svg)

## Replaying a probe in the inner loop, for one iteration of the main loop

{inner(rows)}
## Start-up

Of a script that imports torch and prints, with florc's caches warm; then, per workload, CPU seconds until the
loop when recorded for the first time.

{starting(rows)}
## What the training thread loses to a checkpoint

{stalling(rows, about)}
## Memory

Most resident memory in each quarter of the run.

{remembering(rows)}"""


def overhead_plot(rows: list[Row]) -> str:
    groups = []
    for workload in measured(rows):
        found = [spread(overheads(rows, workload.name, name)) for name in RECORDERS]
        groups.append((workload.name, [svg.Bar(one.median if one else None, percent(one, interval=False))
                                       for one in found]))
    return svg.bars("CPU overhead of recording, of the plain run's loop",
                    [TITLES.get(name, name) for name in RECORDERS], groups, OVERHEAD_AXIS)


def replay_plot(rows: list[Row]) -> str:
    groups = []
    for workload in measured(rows):
        plain = median_of(select(rows, workload=workload.name, variant="plain", step="record"), "cpu")
        found = []
        for name in REPLAYS:
            seconds = median_of(select(rows, workload=workload.name, variant=name, step="outer"), "cpu")
            wrong = wrongs(rows, workload.name, name, "outer")
            found.append(svg.Bar(seconds / plain if seconds and plain else None,
                                 f"{seconds:.1f} s {wrong}" if seconds else wrong))
        groups.append((workload.name, found))
    return svg.bars("CPU seconds of a replay, as a share of the plain run's",
                    [REPLAY_TITLES.get(name, name) for name in REPLAYS], groups, REPLAY_AXIS)


def joined(results: list[dict[str, Any]]) -> dict[str, Any]:
    """One campaign of several, each of other workloads; ValueError if code or machine differ.

    Of results of another commit those of other recorders and of saving by hand are taken: florc has no part
    in them.
    """
    about = dict(results[0]["about"])
    rows: list[Row] = []
    theirs = set()
    for one in results:
        mine = one["about"]["florc"] == about["florc"]
        for name in SAME if mine else set(SAME) - {"florc", "pairs"}:
            if one["about"][name] != about[name]:
                raise ValueError(f"not one campaign: {name} is {about[name]} and {one['about'][name]}")
        rows += [row for row in one["rows"] if mine or _is_of_others(row)]
        if not mine:
            theirs.add(one["about"]["florc"])
    about["command"] = "`, `".join(dict.fromkeys(one["about"]["command"].strip() for one in results))
    about["load_before"] = max(one["about"]["load_before"] for one in results)
    about["quick"] = any(one["about"]["quick"] for one in results)
    about["took"] = sum(one["about"].get("took", 0.0) for one in results)
    about["others_at"] = ", ".join(sorted(theirs))
    return {"about": about, "rows": rows}


def _is_of_others(row: Row) -> bool:
    """True for runs under another recorder or with saving by hand, and the plain runs beside them."""
    names = (*OTHERS, "manual", "load")
    return any(name in (row["variant"], str(row["pair"]).rpartition(" ")[0]) for name in names)


def main(argv: Sequence[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    found = sorted((BENCH / "results").glob("*.json"), key=lambda path: path.stat().st_mtime)
    if not arguments and not found:
        print("no results yet: python -m benchmarks", file=sys.stderr)
        return 1
    results = joined([json.loads(Path(file).read_text()) for file in arguments or found[-1:]])
    # a quick look must not take the place of the figures that are kept
    folder = BENCH / "quick" if results["about"]["quick"] else HERE
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.md").write_text(page(results))
    (folder / "overhead.svg").write_text(overhead_plot(results["rows"]))
    (folder / "replay.svg").write_text(replay_plot(results["rows"]))
    print(folder / "results.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
