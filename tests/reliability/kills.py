"""Processes that end from one instant to the next."""

from __future__ import annotations

import signal
from random import Random

from tests.harness import check

from .bench import OWN_FRAME, SHOWN, WHOLE, Bench, Fault, begun, killed_after

VERSIONS = ("outer.py", "inner.py")
DENSE = ("--overhead", "1")


def _options(chance: Random) -> tuple[str, ...]:
    return chance.choice([(), DENSE])


def kill_record(bench: Bench, chance: Random) -> str:
    """SIGKILL at a random moment of a record."""
    return _cut(bench.lay(), chance, signal.SIGKILL)


def terminate_record(bench: Bench, chance: Random) -> str:
    """SIGTERM at a random moment of a record."""
    return _cut(bench.lay(), chance, signal.SIGTERM)


def _cut(bench: Bench, chance: Random, number: int) -> str:
    process = bench.command("-m", "florc", "record", *_options(chance), "train.py")
    begun(bench, process)
    done = killed_after(process, chance.uniform(0, bench.seconds()), number)
    return bench.judge(chance.choice(VERSIONS), done.out)


def kill_at_write(bench: Bench, chance: Random) -> str:
    """SIGKILL before, in the middle of, or after a random write to the store."""
    bench.lay()
    options = _options(chance)
    at = chance.randint(1, bench.store_writes(*options))
    act = chance.choice(["kill-before", "kill-half", "kill-after"])
    done = bench.record(options=options, world={"at": at, "act": act})
    if done.code == 0:  # on a busy machine a record may make fewer writes
        bench.must_be_plain(done)
    else:
        check(done.code == -signal.SIGKILL, f"was not killed: {done.code}")
    listed = bench.do("-m", "florc", "runs", "ls")
    check(listed.code == 0 and "Traceback" not in listed.err, f"runs ls: {listed.err[-SHOWN:]}")
    return bench.judge(chance.choice(VERSIONS), done.out)


def kill_replay(bench: Bench, chance: Random) -> str:
    """SIGKILL at a random moment of a replay; then replay again."""
    bench.lay()
    bench.must_be_plain(bench.record(options=DENSE))
    version = chance.choice(VERSIONS)
    bench.put(version)
    before = bench.files()
    process = bench.command("-m", "florc", "replay", "-q", "train.py")
    done = killed_after(process, chance.uniform(0.2, 1.5) * bench.seconds())
    truth = bench.truth(version).out
    check(truth.startswith(done.out), f"printed {done.out[-200:]!r}")
    check(bench.files() == before, "the killed replay touched the user's files")
    verdict = bench.judge(version, truth)
    check(verdict == WHOLE, f"after a killed replay: {verdict}")
    return verdict


def interrupt_replay(bench: Bench, chance: Random) -> str:
    """Ctrl-C or SIGTERM at a random moment of a replay; the next one is whole."""
    bench.lay()
    bench.must_be_plain(bench.record(options=DENSE))
    version = chance.choice(VERSIONS)
    bench.put(version)
    number = chance.choice([signal.SIGINT, signal.SIGINT, signal.SIGTERM])
    replay = bench.command("-m", "florc", "replay", "-q", "train.py")
    done = killed_after(replay, chance.uniform(0.2, 1.5) * bench.seconds(), number)
    check(done.code in (0, -number), f"exits {done.code}: {done.err[-SHOWN:]}")
    check(bench.truth(version).out.startswith(done.out), f"printed {done.out[-200:]!r}")
    check(not OWN_FRAME.search(done.err), f"a traceback of florc's own: {done.err[-SHOWN:]}")
    if number == signal.SIGINT:
        litter = [path.name for path in bench.temporary.glob("florc*")]
        check(not litter, f"the replay left {litter}")
    verdict = bench.judge(version, bench.truth().out)
    check(verdict == WHOLE, f"after an interrupted replay: {verdict}")
    return verdict


FAULTS = [
    Fault("kill-record", "the record is killed", "SIGKILL at a random moment", kill_record),
    Fault("terminate-record", "the record is terminated", "SIGTERM at a random moment", terminate_record),
    Fault(
        "kill-at-write",
        "the record is killed while it writes to its store",
        "SIGKILL before, within or after a random write",
        kill_at_write,
    ),
    Fault(
        "interrupt-replay",
        "a replay is interrupted, and the next one started",
        "SIGINT or SIGTERM at a random moment",
        interrupt_replay,
    ),
    Fault(
        "kill-replay",
        "a replay is killed, and the next one started",
        "SIGKILL at a random moment",
        kill_replay,
    ),
]
