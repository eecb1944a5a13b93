"""Programs that end in every other way: each must end under florc as it does under Python."""

from __future__ import annotations

from random import Random

from tests.harness import check

from .bench import PREFIX, SHOWN, TOLD, WHOLE, Bench, Fault

DENSE = ("--overhead", "1")
HOWS = (
    "sys-exit",
    "sys-exit-in-thread",
    "raise-in-thread",
    "os-exit",
    "os-exit-in-thread",
    "abort",
    "segfault",
    "sigterm",
    "sigint",
    "sigint-twice",
    "sighup",
    "exec",
    "raise",
    "recursion",
    "memory",
    "stdout-closed",
    "descriptors-closed",
    "fork-and-exit",
    "fork-and-go-on",
)


def ending(bench: Bench, chance: Random, how: str) -> str:
    """The program ends, or goes on, after something unusual."""
    bench.lay("endings")
    done = bench.record(how, options=chance.choice([(), DENSE]))
    plain = bench.truth("train.py", how)
    check(
        done.out == plain.out,
        f"{how}: record prints {done.out[-200:]!r}, Python {plain.out[-200:]!r}; {done.err}",
    )
    check(
        done.code == plain.code, f"{how}: record exits {done.code}, Python {plain.code}: {done.err[-SHOWN:]}"
    )
    verdict = bench.judge("outer.py", plain.out, how)
    check(verdict in (WHOLE, PREFIX, TOLD), f"{how}: {verdict}")
    return verdict


def _each(how: str) -> Fault:
    return Fault(
        f"ends-{how}",
        f"the program: {how.replace('-', ' ')}",
        "by the program itself, in epoch 5 of 8",
        lambda bench, chance: ending(bench, chance, how),
        most=2,
    )


FAULTS = [_each(how) for how in HOWS]
