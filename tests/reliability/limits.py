"""Too little memory, too few files, pipes that break or fill up, clocks that go back, workers that die."""

from __future__ import annotations

import os
import resource
import subprocess
import time
from random import Random
from typing import Any

from tests.harness import check

from .bench import INEXACT, SHOWN, TIMEOUT_S, TOLD, WHOLE, Bench, Fault, ended, excused

DENSE = ("--overhead", "1")
VERSIONS = ("outer.py", "inner.py")
MIB = 1 << 20
RECORD = ("-m", "florc", "record", *DENSE, "train.py")
REPLAY = ("-m", "florc", "replay", "-q", "train.py")


def memory(bench: Bench, chance: Random) -> str:
    """A record may have little more memory than plain Python needs."""
    bench.lay()
    size = chance.randint(60, 160) * MIB
    done = bench.record(
        options=DENSE, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size))
    )
    if "MemoryError" in done.err and "florc: " not in done.err:
        return "cannot start"  # not even florc's own modules find room: nothing of the program has run
    check((done.code, done.out) == (0, bench.truth().out), f"exits {done.code}: {done.err[-SHOWN:]}")
    return bench.judge(chance.choice(VERSIONS), "")


def files(bench: Bench, chance: Random) -> str:
    """A record may have few open files."""
    bench.lay()
    most = chance.randint(6, 14)
    done = bench.record(
        options=DENSE, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    )
    bench.must_be_plain(done)
    return bench.judge(chance.choice(VERSIONS), "")


def replay_files(bench: Bench, chance: Random) -> str:
    """A replay may have few open files."""
    bench.lay()
    bench.must_be_plain(bench.record(options=DENSE))
    most = chance.randint(6, 14)
    version = chance.choice(VERSIONS)
    bench.put(version)
    done = bench.replay(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most)))
    verdict = excused(done)
    if verdict:
        return verdict
    check((done.code, done.out) == (0, bench.truth(version).out), f"exits {done.code}: {done.err[-SHOWN:]}")
    return bench.judge(version, bench.truth().out)


def first_line_only(bench: Bench, chance: Random) -> str:
    """`florc record train.py | head -1`, and the same for the replay: as `python train.py | head -1`."""
    bench.lay()
    plain = _into_head(bench, "train.py")
    bench.clear()
    recorded = _into_head(bench, *RECORD)
    check(recorded == plain, f"record {recorded}, python {plain}")
    # a program that died of its broken pipe wrote no more files than plain Python's
    bench.put("outer.py")
    out, code, _ = _into_head(bench, *REPLAY)
    check(out == bench.truth("outer.py").out.splitlines(keepends=True)[0], f"the first line is {out!r}")
    return TOLD if code == INEXACT else WHOLE


def _into_head(bench: Bench, *argv: str) -> tuple[str, int, str]:
    """(what head shows, exit code, the last line on stderr) of a command whose reader goes after a line."""
    command = bench.command(*argv)
    assert command.stdout is not None and command.stderr is not None
    line = command.stdout.readline()
    command.stdout.close()
    err = command.stderr.read()
    code = command.wait(TIMEOUT_S)
    return line, code, err.splitlines()[-1] if err else ""


def closed_streams(bench: Bench, chance: Random) -> str:
    """Standard output, standard error or both are closed from the start."""
    bench.lay()
    closing = chance.choice(([1], [2], [1, 2], [0, 1, 2]))

    def close() -> None:
        for number in closing:
            os.close(number)

    null = subprocess.DEVNULL
    nowhere: dict[str, Any] = {"stdout": null, "stderr": null, "preexec_fn": close}
    want = bench.command("train.py", **nowhere).wait(TIMEOUT_S)
    bench.clear()
    code = bench.command(*RECORD, **nowhere).wait(TIMEOUT_S)
    check(code == want, f"record without {closing} exits {code}, python {want}")
    return bench.judge("outer.py", "" if 1 in closing else bench.truth().out)


def slow_reader(bench: Bench, chance: Random) -> str:
    """Nobody reads standard output for a while, and the pipe is small."""
    bench.lay()
    read, write = os.pipe()
    process = bench.command(*RECORD, stdout=write)
    os.close(write)
    time.sleep(chance.uniform(0, 1.5))
    with os.fdopen(read) as stream:
        out = stream.read()
    done = ended(process)
    check((done.code, out, done.err) == (0, bench.truth().out, ""), f"{done.code} {out[-100:]!r} {done.err}")
    return bench.judge(chance.choice(VERSIONS), out)


def clock(bench: Bench, chance: Random) -> str:
    """The clock jumps back during a record, and again before the next one."""
    bench.lay()
    back = chance.choice([0.5, 3600.0, 86_400.0 * 400])
    bench.must_be_plain(bench.record(options=(*DENSE, "--name", "first"), world={"back": 0.5, "every": 3}))
    for name in bench.files():
        (bench.home / name).unlink()
    bench.put("outer.py")  # the newer run is of this version
    world = {"back": back, "every": chance.choice([1, 1, 5])}
    done = bench.record(options=(*DENSE, "--name", "second"), world=world)
    check((done.code, done.out, done.err) == (0, bench.truth("outer.py").out, ""), f"{done.code}: {done.err}")
    replay = bench.replay()
    check(
        (replay.code, replay.out) == (0, done.out), f"not the newer run: {replay.code} {replay.err[-SHOWN:]}"
    )
    return WHOLE


def workers(bench: Bench, chance: Random) -> str:
    """A loader's worker is killed in mid-epoch; the program catches what torch raises."""
    bench.lay("workers")
    how = chance.choice(["kill", "kill", "none"])
    done = bench.record(how)
    check(done.code == 0 and "florc:" not in done.err, f"exits {done.code}: {done.err[-SHOWN:]}")
    check(done.out == bench.truth("train.py", how).out, f"prints {done.out!r}")
    return bench.judge("outer.py", done.out, how)


FAULTS = [
    Fault("memory", "hardly any memory", "RLIMIT_AS of 60 to 160 MiB", memory),
    Fault("files", "hardly any open files, when recorded", "RLIMIT_NOFILE of 6 to 14", files),
    Fault("replay-files", "hardly any open files, when replayed", "RLIMIT_NOFILE of 6 to 14", replay_files),
    Fault("head", "the reader of standard output goes away", "as | head -1", first_line_only, most=10),
    Fault("closed", "standard streams are closed", "from the start", closed_streams, most=10),
    Fault("slow-reader", "nobody reads standard output", "for up to 1.5 s", slow_reader, most=10),
    Fault("clock", "the clock goes back", "half a second to 400 days, again and again", clock, most=20),
    Fault("workers", "a loader's worker is killed", "SIGKILL in mid-epoch; the program goes on", workers,
          most=10),
]  # fmt: skip
