"""Tell whoever measures a run that it reached a place; in a run by hand, do nothing.

Goes to an inherited pipe, so that no file is written and no clock of the program's is read: whoever
holds the other end knows the time, and the kernel knows the CPU seconds.
"""
import os
import resource
from contextlib import suppress


def bench_mark(place):
    """Write the place, CPU seconds of process, main thread and ended children, and the peak KiB."""
    pipe = os.environ.get("BENCH_MARKS")
    if pipe:
        use = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_THREAD,
                                                   resource.RUSAGE_CHILDREN)]
        cpu = " ".join(f"{u.ru_utime + u.ru_stime:.6f}" for u in use)
        with suppress(OSError):  # a worker of a replay has not inherited it
            os.write(int(pipe), f"{place} {cpu} {use[0].ru_maxrss}\n".encode())
