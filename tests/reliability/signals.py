"""Signals that come while florc is at work: the program gets them whole, and the record stays right."""

from __future__ import annotations

import signal
from random import Random

from tests.harness import Outcome, check

from .bench import DENSE, PROBE, SHOWN, WHOLE, Bench, Fault, cut_off, excused, without_probes

ACTS = ("signal-before", "signal-after")


def interrupt(bench: Bench, chance: Random) -> str:
    """Ctrl-C at a random write to the store, and nothing catches it."""
    bench.lay("regression")
    at = chance.randint(3, bench.store_writes(*DENSE) - 3)
    done, happened = bench.record_until(at, chance.choice(ACTS), signal="SIGINT")
    if not happened:
        bench.must_be_plain(done)
        return bench.judge(chance.choice(("outer.py", "inner.py")), done.out)
    check(done.code == -signal.SIGINT, f"exits {done.code}, as no interrupted program: {done.err[-SHOWN:]}")
    check("KeyboardInterrupt" in done.err, f"no traceback of the program's: {done.err[-SHOWN:]}")
    check("/runtime/" not in done.err, f"frames of florc's in the program's traceback: {done.err[-SHOWN:]}")
    return bench.judge(chance.choice(("outer.py", "inner.py")), done.out)


def stop_flag(bench: Bench, chance: Random) -> str:
    """The program's own handler of Ctrl-C sets a flag that ends the loop."""
    return _handled(bench, chance, "flag")


def timeout(bench: Bench, chance: Random) -> str:
    """A handler raises an exception that the program catches around its epoch."""
    return _handled(bench, chance, "timeout", may_end=True)


def caught(bench: Bench, chance: Random) -> str:
    """The program catches KeyboardInterrupt around its loop, and goes on."""
    return _handled(bench, chance, "caught")


def _handled(bench: Bench, chance: Random, mode: str, may_end: bool = False) -> str:
    """Record with a signal at a random write to the store; the replay must tell the same story."""
    bench.lay("interrupts")
    at = chance.randint(8, 60)
    done, _ = bench.record_until(at, chance.choice(ACTS), mode, signal="SIGINT")
    ends = may_end and "Timeout" in done.err  # it came where the program does not catch it
    check(done.code in (0, 1) if ends else done.code == 0, f"exits {done.code}: {done.err[-SHOWN:]}")
    check("florc:" not in done.err, f"florc has something to say: {done.err[-SHOWN:]}")
    return bench.replayed("outer.py", lambda replay: told_alike(replay, done))


def timer(bench: Bench, chance: Random) -> str:
    """A timer's handler runs at any moment of the record, and of the replay."""
    bench.lay("timer")
    done = bench.record(options=chance.choice([(), DENSE]))
    plain = bench.truth()
    check(
        (done.code, done.out, done.err) == (0, plain.out, ""), f"{done.code} {done.out[-200:]!r} {done.err}"
    )
    return bench.judge("outer.py", done.out)


def told_alike(replay: Outcome, record: Outcome) -> str:
    """The verdict where no other run can be the truth: the probes repeat what the program itself prints."""
    verdict = excused(replay)
    if verdict:
        return verdict
    if replay.code != record.code or without_probes(replay.out) != record.out:
        return cut_off(replay, _with_probes(record.out), record.out)
    lines = replay.out.splitlines()
    for number, line in enumerate(lines):
        if line.startswith(PROBE):
            check(
                line == f"{PROBE}: {lines[number - 1]}",
                f"a probe prints {line!r} after {lines[number - 1]!r}",
            )
    return WHOLE


def _with_probes(text: str) -> str:
    return "".join(f"{line}\n{PROBE}: {line}\n" for line in text.splitlines())


FAULTS = [
    Fault(
        "timer", "a timer's handler runs all the time", "each millisecond, record and replay", timer, most=20
    ),
    Fault(
        "interrupt",
        "Ctrl-C while florc writes",
        "SIGINT before or after a random write to the store",
        interrupt,
    ),
    Fault(
        "stop-flag",
        "Ctrl-C sets the program's own flag",
        "the same; the handler sets a flag and prints",
        stop_flag,
    ),
    Fault(
        "timeout", "a signal handler raises, the program catches it", "the same; the handler raises", timeout
    ),
    Fault(
        "caught", "Ctrl-C is caught around the loop", "the same; the program goes on after the loop", caught
    ),
]
