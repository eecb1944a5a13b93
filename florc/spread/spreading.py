"""A replay that others carry out: cut into shares, run in its place, reported as one."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING, BinaryIO

from florc import messages, summary
from florc.handing import carried
from florc.notes import answering
from florc.plans import outlook
from florc.runtime.window import Window

from . import apart, shares, stopping, workers
from .local import Local
from .places import Place
from .where import LOCAL

if TYPE_CHECKING:
    from florc.options import ReplayOptions
    from florc.replaying import Prepared

WORTH = 0.1  # of the seconds: twice as many processes that spare less are not started


def spread(prepared: Prepared, options: ReplayOptions, clock: summary.Clock) -> int | None:
    """Replay with several processes; None if this one should do it alone. FlorcError if the place is none."""
    with stopping.orderly():
        if options.on.kind == LOCAL:
            parts = fitting(prepared, options, clock.seconds())
            return _run(parts, Local(), prepared, options, clock, sys.stdout.buffer) if parts else None
        from . import on_ray

        script = "" if options.target.is_module else options.target.name
        needs = on_ray.Needs(options.cpus, options.gpus)
        with apart.own_output() as out, on_ray.connected(options.on, needs, script) as place:
            # one worker on the cluster, where spreading gains nothing: its machines are asked for
            parts = windows(prepared, options.workers or place.slots()) or [prepared.window]
            if not options.quiet:
                messages.say(f"{len(parts)} worker{'s' * (len(parts) != 1)} on {place.words}")
            return _run(parts, place, prepared, options, clock, out)


def look(prepared: Prepared, parts: list[Window], told: set[str]) -> workers.Outcome:
    """Replay each part in a process of this machine, all at once; their text is printed nowhere."""
    with stopping.orderly():
        return workers.each(_tasks(parts, prepared), Local(), told, None)


def fitting(prepared: Prepared, options: ReplayOptions, spent: float) -> list[Window]:
    """What each process of this machine replays, as it was asked for; [] where one should do it alone."""
    if options.on.kind != LOCAL or options.workers is not None:
        return windows(prepared, options.workers or 1)
    return quickest(prepared, spent)


def quickest(prepared: Prepared, spent: float) -> list[Window]:
    """What each of as many processes replays as make it quicker, and this machine has cores for.

    spent: what this one has taken to come here.
    """
    if carried(prepared.matches, prepared.folder, prepared.script):
        return []
    found: list[Window] = []
    least = outlook.seconds(prepared.plans([prepared.window], spent))
    for count in _counts(room(prepared)):
        parts = windows(prepared, count)
        if parts and (seconds := outlook.seconds(prepared.plans(parts, spent))) < (1 - WORTH) * least:
            found, least = parts, seconds
    return found


def room(prepared: Prepared, place: Place | None = None) -> int:
    """How many processes with as many threads as the run had a place (this machine) has cores for."""
    return max((place or Local()).slots() // (prepared.run.threads or 1), 1)


def _counts(most: int) -> list[int]:
    """Numbers of processes to be looked at: to plan with each of them would take its time."""
    doubled = [2**power for power in range(1, most.bit_length())]
    return sorted({*doubled, most}) if most > 1 else []


def windows(prepared: Prepared, count: int) -> list[Window]:
    """What each of at most so many workers replays; [] where spreading gains nothing."""
    if count < 2:
        return []
    found = shares.windows(prepared.script, prepared.edits, prepared.window, count)
    return found if len(found) > 1 else []


def _tasks(parts: list[Window], prepared: Prepared) -> list[workers.Task]:
    replay, run = answering.new_id(), prepared.run.run
    made = [shares.Share.of(part, run, replay, prepared.fingerprint) for part in parts]
    return [workers.Task(share, share.words(prepared.script)) for share in made]


def _run(
    parts: list[Window],
    place: Place,
    prepared: Prepared,
    options: ReplayOptions,
    clock: summary.Clock,
    out: BinaryIO,
) -> int:
    """Let the workers replay; the exit code."""
    plans = prepared.plans(parts, clock.seconds())
    estimate = outlook.seconds(plans, room(prepared, place))
    if not options.quiet:
        messages.say(outlook.in_short(plans, estimate))
    done = workers.each(_tasks(parts, prepared), place, set(), out)
    merged = done.merged()
    if options.summary is not None and merged:
        merged["seconds"] |= {"total": round(clock.seconds(), 4), "estimate": round(estimate, 4)}
        summary.write(merged, options.summary)
    if not options.quiet:
        summary.took(clock.seconds(), estimate)
    if done.code == -signal.SIGINT:  # the recorded run ended so, and the replay does
        raise KeyboardInterrupt
    return done.code
