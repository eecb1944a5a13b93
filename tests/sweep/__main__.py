"""`python -m tests.sweep`: sweep the programs, a warm server for each worker; exit 1 if any replay was wrong.

Every replay's verdict goes to DIR/verdicts.jsonl as it comes, the tables to DIR/table.md at the end.
"""

from __future__ import annotations

import argparse
import hashlib
import pickle
import random
import shutil
import sys
import tempfile
import threading
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.warm import TORCH, Warm

from . import results
from .programs import ROOT, Swept, programs
from .sweeping import Bench, Spot, Sweep, Verdict, prepare, record, replay

HERE = Path(__file__).parent
SHARD = 40  # replays on one record: few enough to keep all workers busy to the end
GROUPED = (2, 3)  # how many probes a replay of the grouped pass has
PRELOAD = (*TORCH, "sklearn.datasets", "sklearn.model_selection", "sklearn.preprocessing")


@dataclass(frozen=True)
class Task:
    """A part of the positions of one program, at one overhead ("": florc's default)."""

    sweep: Sweep
    overhead: str
    groups: tuple[tuple[Spot, ...], ...]


def main() -> int:
    """Parse, prepare, sweep, report."""
    options = _options()
    out: Path = options.out
    out.mkdir(parents=True, exist_ok=True)
    names = options.programs or sorted(programs())
    with ThreadPoolExecutor(options.workers, initializer=_begin) as pool:
        prepared = pool.map(partial(_prepare, kept=out / "prepared"), names)
        sweeps = [sweep for sweep in prepared if sweep is not None]
        tasks = [task for sweep in sweeps for task in _tasks(sweep, options)]
        replays = sum(len(task.groups) for task in tasks)
        print(f"{len(sweeps)} programs, {replays} replays", file=sys.stderr, flush=True)
        verdicts: list[Verdict] = []
        with open(out / "verdicts.jsonl", "w", encoding="utf-8") as stream:
            for found in pool.map(_sweep, tasks):
                verdicts += found
                stream.writelines(v.as_json() + "\n" for v in found)
                stream.flush()
    for warm in _servers:
        warm.close()
    verdicts.sort(key=lambda v: (v.program, v.overhead, v.positions))
    (out / "table.md").write_text(results.table(verdicts) + "\n")
    print(results.unexplained(verdicts))
    print(results.table(verdicts))
    lost = len(names) - len(sweeps) + replays - len(verdicts)
    if lost:
        print(f"{lost} programs or replays could not be swept")
    return int(bool(lost) or any(v.verdict == "wrong" for v in verdicts))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.sweep", description=__doc__)
    parser.add_argument("programs", nargs="*", help="which programs (all of them)")
    parser.add_argument("--out", type=Path, default=ROOT / "sweep-results", help="folder of the results")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--overheads", nargs="*", default=["1", ""], help="a pass for each ('': florc's own default)"
    )
    parser.add_argument("--grouped", action="store_true", help="two or three random probes a replay")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="take each N-th position")
    parser.add_argument("--only", type=int, nargs="*", help="these positions of the programs named")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def _tasks(sweep: Sweep, options: argparse.Namespace) -> Iterator[Task]:
    spots = [s for s in sweep.spots if not options.only or s.number in options.only]
    spots = spots[options.seed % options.every :: options.every]
    groups = _grouped(spots, options.seed) if options.grouped else [(spot,) for spot in spots]
    for overhead in options.overheads:
        for start in range(0, len(groups), SHARD):
            yield Task(sweep, overhead, tuple(groups[start : start + SHARD]))


def _grouped(spots: Sequence[Spot], seed: int) -> list[tuple[Spot, ...]]:
    draw, left, groups = random.Random(seed), list(spots), []
    draw.shuffle(left)
    while left:
        size = draw.choice(GROUPED)
        groups.append(tuple(left[:size]))
        del left[:size]
    return groups


# --- in a worker thread: what takes time runs in processes of its own ---------------------------------------

_mine = threading.local()
_servers: list[Warm] = []


def _begin() -> None:
    _mine.warm = Warm(PRELOAD)
    _servers.append(_mine.warm)


def _prepare(name: str, kept: Path) -> Sweep | None:
    """Prepare a program, or take what an earlier sweep of the very same kept."""
    swept = programs()[name]
    file = kept / f"{name}-{_fingerprint(swept)}.pickle"
    if file.exists():
        earlier: Sweep = pickle.loads(file.read_bytes())
        return earlier
    work = Path(tempfile.mkdtemp(prefix=f"sweep-{name}-"))
    try:
        sweep = prepare(swept, work, Bench(_mine.warm), Bench(None))
        kept.mkdir(parents=True, exist_ok=True)
        file.write_bytes(pickle.dumps(sweep))
        return sweep
    except Exception as error:
        print(f"{name}: {error}", file=sys.stderr, flush=True)
        return None
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _fingerprint(swept: Swept) -> str:
    """Of all that a preparation depends on: the program, its arguments, and this folder."""
    folder = swept.program.folder
    files = [path for name in swept.program.files or ("",) for path in _all_files(folder / name)]
    files += [HERE / name for name in ("positions.py", "survey.py", "sweeping.py")]
    parts = [repr((swept, sys.version)).encode(), *(path.read_bytes() for path in files)]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def _all_files(path: Path) -> list[Path]:
    found = [path] if path.is_file() else sorted(path.rglob("*"))
    return [file for file in found if file.is_file() and "__pycache__" not in file.parts]


def _sweep(task: Task) -> list[Verdict]:
    work = Path(tempfile.mkdtemp(prefix=f"sweep-{task.sweep.swept.name}-"))
    found: list[Verdict] = []
    try:
        recorded = record(task.sweep, work, Bench(_mine.warm), task.overhead)
        for group in task.groups:
            verdict = replay(recorded, group, Bench(_mine.warm))
            if verdict.verdict == "wrong":  # only what a process of its own gets wrong as well counts
                verdict = replay(recorded, group, Bench(None))
            found.append(verdict)
    except Exception:
        traceback.print_exc()
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return found


if __name__ == "__main__":
    sys.exit(main())
