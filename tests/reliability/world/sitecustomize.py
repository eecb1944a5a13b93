"""A world in which things go wrong: what FLORC_TRIAL asks for happens to the process it is set for.

FLORC_TRIAL is a JSON object:
    at       the how-manieth write to the store (from 1) something happens to; 0: to none
    act      kill-before, kill-half, kill-after    SIGKILL around that write
             fail                                  that write, half done, and all later ones fail
             fail-once                             that write fails, nothing of it is done
             signal-before, signal-after           the process sends itself `signal`
    errno    with which error writes, opens for writing, renames and syncs fail
    signal   which signal
    slow     seconds that every write and sync of the store takes longer
    late     seconds that each write of another thread than the main one takes longer
    back     seconds by which the clock goes back at each `every`-th reading
    log      file that gets each write to the store: its file's name, its place (-1: the end) and its bytes in
             hexadecimal, a line each
    count    file that gets the number of the store's writes (in a slow world: and syncs) at the end
Only files below a folder named .florc are touched: the program's own files are sound.
"""

import atexit
import errno
import json
import os
import signal
import sys
import threading
import time

TRIAL = json.loads(os.environ.get("FLORC_TRIAL", "null"))
STORE = "/.florc/"
SIGNALS = ("signal-before", "signal-after")
CHANGES = ("os.mkdir", "os.rename", "os.remove", "os.truncate")
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


class World:
    def __init__(self, trial):
        self.act = trial.get("act", "")
        self.at = trial.get("at", 0)
        self.error = getattr(errno, trial.get("errno", "ENOSPC"))
        self.signal = getattr(signal, trial.get("signal", "SIGINT"))
        self.slow, self.late = trial.get("slow", 0.0), trial.get("late", 0.0)
        self.count, self.broken = 0, False
        self.log = open(trial["log"], "w") if "log" in trial else None  # noqa: SIM115
        self.lock = threading.Lock()
        self.process, self.sleep = os.getpid(), time.sleep
        self.write, self.pwrite, self.fsync = os.write, os.pwrite, os.fsync

    def install(self):
        os.write, os.pwrite, os.fsync = self.on_write, self.on_pwrite, self.on_sync
        if self.act == "fail":
            sys.addaudithook(self.on_event)

    def is_ours(self, fd):
        try:
            return os.getpid() == self.process and STORE in os.readlink(f"/proc/self/fd/{fd}")
        except OSError:
            return False

    def fail(self):
        raise OSError(self.error, os.strerror(self.error))

    def on_write(self, fd, data, /):
        return self.on_any(fd, data, lambda part: self.write(fd, part))

    def on_pwrite(self, fd, data, place, /):
        if self.late and threading.get_ident() != threading.main_thread().ident and self.is_ours(fd):
            self.sleep(self.late)
        return self.on_any(fd, data, lambda part: self.pwrite(fd, part, place), place)

    def on_any(self, fd, data, write, place=-1):
        """place: where in the file; -1: at its end."""
        if not self.is_ours(fd):
            return write(data)
        with self.lock:  # checkpoints are written by a thread of their own
            self.count += 1
            now = self.count
            if self.log is not None:
                name = os.readlink(f"/proc/self/fd/{fd}").rpartition("/")[2]
                print(name, place, memoryview(data).hex(), file=self.log, flush=True)
        if self.slow:
            self.sleep(self.slow)
        if self.broken:
            self.fail()
        return self.happen(data, write) if now == self.at else write(data)

    def happen(self, data, write):
        act, half = self.act, memoryview(data).cast("B")[: len(data) // 2]
        if act == "fail-once":
            self.fail()
        if act in ("kill-half", "fail"):
            write(half)
        if act in ("kill-half", "kill-before"):
            os.kill(self.process, signal.SIGKILL)
        if act == "fail":
            self.broken = True
            self.fail()
        if act == "signal-before":
            os.kill(self.process, self.signal)
        done = write(data)
        if act == "kill-after":
            os.kill(self.process, signal.SIGKILL)
        if act == "signal-after":
            os.kill(self.process, self.signal)
        return done

    def on_sync(self, fd):
        if self.is_ours(fd):
            self.count += bool(self.slow)
            self.sleep(self.slow)
            if self.broken:
                self.fail()
        return self.fsync(fd)

    def on_event(self, event, args):
        """A store that has begun to fail takes no new files either."""
        if not self.broken:
            return
        changes = event in CHANGES or (event == "open" and args[2] & WRITING)
        if changes and isinstance(args[0], (str, bytes)) and STORE in os.fsdecode(args[0]):
            self.fail()


def turn_back(seconds, every):
    """Let the wall clock jump back again and again."""
    import datetime

    real, real_ns, readings = time.time, time.time_ns, [0]

    def shift():
        readings[0] += 1
        return seconds * (readings[0] // every)

    class Datetime(datetime.datetime):
        @classmethod
        def now(cls, tz=None):
            return cls.fromtimestamp(time.time(), tz)

    time.time = lambda: real() - shift()
    time.time_ns = lambda: real_ns() - int(shift() * 1e9)
    setattr(datetime, "datetime", Datetime)  # noqa: B010


def note_count(world, file):
    with open(file, "w") as stream:
        stream.write(str(world.count))


if TRIAL is not None:
    world = World(TRIAL)
    if "back" in TRIAL:
        turn_back(TRIAL["back"], TRIAL["every"])
    world.install()
    if "count" in TRIAL:
        atexit.register(note_count, world, TRIAL["count"])
