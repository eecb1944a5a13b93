"""What instrumented code links against: guards, checkpoints, store, journal.

Enters: calls from instrumented text (`loop`, `marks`). Leaves: while recording, a run in the store;
while replaying, the recorded state and output where nothing has to run, and the program's own
where something does. Nothing here imports torch or numpy unless the program has.

    session.py     the one session of a process; start, finish, what stands in for streams and clocks
    recording.py   guards that write the journal and take checkpoints   (policy.py decides when)
    replaying.py   guards that skip, restore, jump                      (replay_loop.py, script.py, route.py)
    following.py   the program's text and values held against the journal           (lockstep.py)
    guards.py      what both have in common; the stack of open loops
    graph.py       the walk over everything reachable: nodes, paths, contents
    kinds.py       how each kind of object is read, written, made (tensors.py, modules.py: torch's, arrays.py:
                   NumPy's; iterators.py: what is moved and set; device.py: bytes on an accelerator)
    checkpoint.py  taking, comparing, restoring a checkpoint             (restore.py, process.py, lost.py,
                   lives.py: objects whose end the program can see; cells.py: closures)
    owed.py        what a restore need not put back until someone looks  (sole.py: who can look; behind.py)
    store.py       blobs (staging.py: where a snapshot waits, background.py: the thread that writes it,
                   large.py: large ones, which runs share)
    journal.py     events (events.py: their shapes; figures.py: what was kept, in figures; noted.py: values of
                   iterations); runs.py: runs
    key.py         the user's key; seal.py: the MACs of one run; description.py: run.json; private.py: modes
    files.py       user files: noted when recording, an overlay when replaying  (files_left.py: all but these)
    collector.py   rest for Python's collector during a walk
    handlers.py    the program's atexit handlers
    shown.py       what the program is shown of its own names
    plain.py       a value as plain data; context.py: the loops around it; answers.py: what replays have noted
    children.py    child processes: what they ran, whether they may write
    output.py      captured text; emitter.py: text given out; clocks.py: readings of the clock
"""

from __future__ import annotations

from .session import listed, loop, marks, probe, snapshot

__all__ = ["listed", "loop", "marks", "probe", "snapshot"]
