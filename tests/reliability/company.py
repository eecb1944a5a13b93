"""Several commands on one store at once, and a store that is taken away or copied in the middle of things."""

from __future__ import annotations

import re
import shutil
import time
from dataclasses import replace
from random import Random

from tests.harness import Outcome, check

from .bench import (
    CUT_OFF,
    INEXACT,
    NOTHING,
    OWN_FRAME,
    PREFIX,
    REFUSED,
    SHOWN,
    TOLD,
    WHOLE,
    Bench,
    Fault,
    begun,
    ended,
    judged,
)

DENSE = ("--overhead", "1")
VERSIONS = ("outer.py", "inner.py")
RECORD = ("-m", "florc", "record", *DENSE, "train.py")
REPLAY = ("-m", "florc", "replay", "-q", "train.py")


def two_records(bench: Bench, chance: Random) -> str:
    """Two or three records of one script at once."""
    bench.lay()
    names = [f"run-{number}" for number in range(chance.choice([2, 2, 3]))]
    started = [bench.command(*RECORD[:-1], "--name", name, RECORD[-1]) for name in names]
    records = {name: ended(process) for name, process in zip(names, started, strict=True)}
    plain = bench.truth()
    for done in records.values():
        if done.out == plain.out:
            _same(done, plain, "record")
        else:
            _raced(done, plain)
    runs = sorted(path.name for path in (bench.store / "runs").iterdir())
    check(runs == names, f"{names} made the runs {runs}")
    name, version = chance.choice(names), chance.choice(VERSIONS)
    # they wrote the same files at the same time, so the replay may find what it cannot follow, and say so
    return bench.replayed(
        version, lambda done: _as_recorded(done, records[name], bench.truth(version)), "--run", name
    )


def _raced(done: Outcome, plain: Outcome) -> None:
    """Plain Python's text but for the last line: the file it is read from is another record's by now.

    So it is with plain Python: the other may have written its weights of another epoch, or be about to.
    """
    shown = done.out.splitlines()
    loop = plain.out.splitlines()[:-1]
    check(shown[: len(loop)] == loop and len(shown) <= len(loop) + 1, f"record: {done.out[-SHOWN:]!r}")
    caught_half_written = done.code == 1 and re.search(r"EOFError|UnpicklingError", done.err)
    check(bool(caught_half_written) or (done.code, done.err) == (0, ""), f"{done.code}: {done.err[-SHOWN:]}")
    check(not OWN_FRAME.search(done.err), f"a traceback of florc's own: {done.err[-SHOWN:]}")


def _as_recorded(done: Outcome, record: Outcome, truth: Outcome) -> str:
    """The verdict on the replay of a record whose last line may be another's, or that died of reading it."""
    lines = truth.out.splitlines(keepends=True)
    last = next(number for number, line in enumerate(lines) if line.startswith("best "))
    if not record.code:
        lines[last] = record.out.splitlines(keepends=True)[-1]
        return judged(done, replace(record, out="".join(lines)), record.out)
    return judged(_unnumbered(done), replace(_unnumbered(record), out="".join(lines[:last])), record.out)


def _unnumbered(done: Outcome) -> Outcome:
    """Without the lines' numbers in a traceback: the probes have moved them."""
    return replace(done, err=re.sub(r'", line \d+', '"', done.err))


def two_records_of_one_name(bench: Bench, chance: Random) -> str:
    """Two records with the same --name: one of them is made, the other refused before it starts."""
    bench.lay()
    named = ("-m", "florc", "record", "--name", "same", "train.py")
    done = [ended(process) for process in [bench.command(*named), bench.command(*named)]]
    codes = sorted(one.code for one in done)
    check(codes == [0, 2], f"they exit {codes}: {done[0].err[-SHOWN:]} {done[1].err[-SHOWN:]}")
    return bench.judge("outer.py", bench.truth().out)


def replays_at_once(bench: Bench, chance: Random) -> str:
    """Two to five replays of one run at once."""
    bench.lay()
    _same(bench.record(options=DENSE), bench.truth(), "record")
    version = chance.choice(VERSIONS)
    bench.put(version)
    processes = [bench.command(*REPLAY) for _ in range(chance.choice([2, 5]))]
    for done in [ended(process) for process in processes]:
        _same(done, bench.truth(version), "replay")
    return bench.judge(version, bench.truth().out)


def record_while_replaying(bench: Bench, chance: Random) -> str:
    """A record of the same script while its run is replayed."""
    bench.lay()
    _same(bench.record(options=("--name", "first")), bench.truth(), "record")
    replay = bench.command("-m", "florc", "replay", "-q", "--run", "first", "train.py")
    time.sleep(chance.uniform(0, 0.6))
    record = bench.command(*RECORD)
    for done, what in [(ended(replay), "replay"), (ended(record), "record")]:
        if what == "replay" and done.code == INEXACT:
            check("not exact:" in done.err, f"65 without a reason: {done.err[-SHOWN:]}")
            continue  # it has seen files that the record was changing
        _same(done, bench.truth(), what, silent=what == "record")  # or it saw them, and started again
    return bench.judge("outer.py", bench.truth().out)


def copied_while_recording(bench: Bench, chance: Random) -> str:
    """The store is copied while a record writes to it, and the copy is replayed."""
    bench.lay()
    process = bench.command(*RECORD)
    begun(bench, process)
    time.sleep(chance.uniform(0, 0.6))
    shutil.copytree(bench.store, bench.work / "copy")
    _same(ended(process), bench.truth(), "record")
    shutil.rmtree(bench.store)
    shutil.move(bench.work / "copy", bench.store)
    return bench.judge(chance.choice(VERSIONS), "")


def removed_while_replaying(bench: Bench, chance: Random) -> str:
    """`florc runs rm` takes the run away that is being replayed."""
    bench.lay()
    _same(bench.record(options=DENSE), bench.truth(), "record")
    version = chance.choice(VERSIONS)
    bench.put(version)
    replay = bench.command(*REPLAY)
    time.sleep(chance.uniform(0.2, 1.2))
    removed = bench.do("-m", "florc", "runs", "rm", bench.run.name)
    check(removed.code == 0, f"runs rm exits {removed.code}: {removed.err}")
    return _whole_or_told(ended(replay), bench.truth(version))


def removed_while_recording(bench: Bench, chance: Random) -> str:
    """The store is removed under a record."""
    bench.lay()
    process = bench.command(*RECORD)
    begun(bench, process)
    time.sleep(chance.uniform(0, 0.5))
    shutil.rmtree(bench.store)
    done = ended(process)
    _same(done, bench.truth(), "record", silent=False)
    check(done.err.count("\n") <= 1, f"more than one line: {done.err}")
    return bench.judge("outer.py", "")


def replayed_while_recording(bench: Bench, chance: Random) -> str:
    """A run is replayed while it is still being recorded."""
    bench.lay()
    process = bench.command(*RECORD)
    begun(bench, process)
    time.sleep(chance.uniform(0, 0.4))
    replay = bench.replay()
    _same(ended(process), bench.truth(), "record")
    if replay.code == REFUSED:
        check(replay.out == "", f"refused, though it printed {replay.out!r}")
        return NOTHING
    if replay.code == 0 and replay.out != bench.truth().out:
        check(bench.truth().out.startswith(replay.out), f"wrong in silence: {replay.out[-200:]!r}")
        check(any(word in replay.err for word in CUT_OFF), f"cut off in silence: {replay.err!r}")
        return PREFIX
    return _whole_or_told(replay, bench.truth())


def _whole_or_told(done: Outcome, truth: Outcome) -> str:
    if done.code == INEXACT:
        check("not exact:" in done.err or "error:" in done.err, f"65 without a reason: {done.err[-SHOWN:]}")
        return TOLD
    if done.code == REFUSED:
        check(done.out == "", f"refused, though it printed {done.out[:200]!r}: {done.err[-SHOWN:]}")
        return NOTHING
    _same(done, truth, "replay", silent=False)
    return WHOLE


def _same(done: Outcome, want: Outcome, what: str, silent: bool = True) -> None:
    check(
        (done.code, done.out) == (want.code, want.out), f"{what}: {done.code} {done.out[-200:]!r} {done.err}"
    )
    check(not silent or not done.err, f"{what} has something to say: {done.err[-SHOWN:]}")
    check("Traceback" not in done.err, f"{what}: {done.err[-SHOWN:]}")


FAULTS = [
    Fault("two-records", "two or three records at once", "started together", two_records, most=20),
    Fault("one-name", "two records of one name at once", "started together", two_records_of_one_name,
          most=10),
    Fault("replays-at-once", "two to five replays of one run at once", "started together", replays_at_once,
          most=20),
    Fault("record-and-replay", "a record while the script's run is replayed", "started at a random moment",
          record_while_replaying, most=20),
    Fault("copied", "the store is copied while a run is recorded, the copy replayed", "at a random moment",
          copied_while_recording),
    Fault("removed-replaying", "the run is removed while it is replayed", "florc runs rm at a random moment",
          removed_while_replaying, most=30),
    Fault("removed-recording", "the store is removed while a run is recorded", "at a random moment",
          removed_while_recording, most=30),
    Fault("replayed-early", "a run is replayed while it is recorded", "at a random moment",
          replayed_while_recording, most=30),
]  # fmt: skip
