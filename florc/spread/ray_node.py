"""What runs on a node of a Ray cluster: one worker's process, watched, and read piece by piece.

Ray gets this class by its source, so that a node without florc can still say so. It uses the standard library
alone, takes and gives plain values, and nothing of Ray's own variables reaches the process.
"""

from __future__ import annotations

import fcntl
import glob
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from typing import Any

CHUNK = 64 * 1024  # bytes of a text in an answer: what is below 100 kB Ray sends without its object store
HOLD_S = 0.5  # an answer waits so long for news: few questions, and none that a stop has to wait for
POLL_S = 0.02  # between looks at the process meanwhile
GRACE_S = 2.0  # a program that handles SIGTERM may tidy up for so long, then it is killed
TIDY_S = 5.0  # for what the ended process had no time to take away
TIDY = "from florc import overlays; overlays.sweep()"
CHECK_S = 60.0  # importing florc takes a tenth of a second, from a slow shared file system some more

# what a machine has its own of; all else in the worker's environment is the master's
OWN = ("HOME", "HOSTNAME", "LD_LIBRARY_PATH", "LOGNAME", "PATH", "SHELL", "TEMP", "TMP", "TMPDIR", "USER")
DEVICES = "CUDA_VISIBLE_DEVICES"  # those that Ray has set aside for this worker, if it was asked for any

Order = dict[str, Any]
# what was written since to the two streams; when all was told, the exit code and the summary
News = tuple[bytes, bytes, "int | None", "bytes | None"]


class Node:
    """One worker, on the node that Ray has chosen."""

    def __init__(self) -> None:
        self._folder = ""
        self._held: int | None = None  # the lock of the folder
        self._environment: dict[str, str] = {}
        self._process: subprocess.Popen[bytes] | None = None

    def begin(self, order: Order) -> tuple[str, str, str]:
        """Start the process; (the node's id, its name, why the process was not started or "").

        order: options (of the interpreter), words, folder, script ("" for a module), host, version (of the
        master's florc), environment, variable and share (what tells the worker), prefix, gpus.
        """
        here = (os.environ.get("RAY_NODE_ID", ""), platform.node())
        environment = surroundings(order, here[1])
        why = missing(order) or other_florc(order, environment)
        if why:
            return (*here, f"the node {here[1]} {why}")
        self._settle(order["prefix"])
        self._environment = environment
        share = {**order["share"], "summary": self._path("json"), "parent": os.getpid()}
        with open(self._path("out"), "wb") as out, open(self._path("err"), "wb") as err:
            self._process = subprocess.Popen(
                [sys.executable, *order["options"], "-m", "florc", *order["words"]],
                cwd=order["folder"],
                env={**environment, order["variable"]: json.dumps(share)},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,  # so that what it starts can be ended with it
            )
        return (*here, "")

    def _settle(self, prefix: str) -> None:
        """Make a folder, its lock held; those whose actors were killed are taken away."""
        for other in glob.glob(os.path.join(tempfile.gettempdir(), prefix + "*")):
            lock = _lock(other)
            if lock is not None:
                shutil.rmtree(other, ignore_errors=True)
                os.close(lock)
        self._folder = tempfile.mkdtemp(prefix=prefix)
        self._held = _lock(self._folder)

    def more(self, out: int, err: int) -> News:
        """What it has written from these bytes on; waits a moment for something to tell."""
        assert self._process is not None
        end = time.monotonic() + HOLD_S
        while True:
            code = self._process.poll()  # before the look at what it wrote
            texts = self._read("out", out), self._read("err", err)
            if any(texts):
                return (*texts, None, None)
            if code is not None:
                return (b"", b"", code, self._read("json", 0, None))
            if time.monotonic() > end:
                return (b"", b"", None, None)
            time.sleep(POLL_S)

    def stop(self) -> None:
        """End the process and what it has started, and take its files away."""
        process = self._process
        if process is not None and process.poll() is None:
            _signal(process, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(GRACE_S)
            _signal(process, signal.SIGKILL)
            process.wait()
            with suppress(subprocess.TimeoutExpired):
                subprocess.run([sys.executable, "-c", TIDY], env=self._environment, timeout=TIDY_S,
                               stdin=subprocess.DEVNULL, capture_output=True, check=False)  # fmt: skip
        elif process is not None:
            _signal(process, signal.SIGKILL)  # what it has left behind
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _path(self, kind: str) -> str:
        return os.path.join(self._folder, f"worker.{kind}")

    def _read(self, kind: str, start: int, size: int | None = CHUNK) -> bytes:
        try:
            with open(self._path(kind), "rb") as stream:
                stream.seek(start)
                return stream.read(-1 if size is None else size)
        except FileNotFoundError:
            return b""


def surroundings(order: Order, host: str) -> dict[str, str]:
    """The master's environment, with what only this machine can know."""
    found = dict(order["environment"])
    own = OWN if host != order["host"] else ()
    for name in (*own, *((DEVICES,) if order["gpus"] else ())):
        found.pop(name, None)
        if name in os.environ:
            found[name] = os.environ[name]
    return found


def missing(order: Order) -> str:
    """What of the master's this node does not see, in words; "" if all is there."""
    if not os.path.isdir(order["folder"]):
        return f"does not see the folder {order['folder']}: it must be shared, under the same path"
    script = os.path.join(order["folder"], order["script"])
    if order["script"] and not os.path.isfile(script):
        return f"does not see the script {script}: it must be shared, under the same path"
    return ""


def other_florc(order: Order, environment: dict[str, str]) -> str:
    """Why florc cannot run here as it does where the replay began, in words; "" if it can."""
    code = "import florc; print(florc.__version__)"
    try:
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=order["folder"], env=environment, text=True, timeout=CHECK_S,
            stdin=subprocess.DEVNULL, capture_output=True, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"took more than {CHECK_S:.0f} s to import florc"
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        return f"cannot import florc ({last}): install it for {sys.executable}"
    if done.stdout.strip() != order["version"]:
        return f"has florc {done.stdout.strip()}, not {order['version']}: install the same version everywhere"
    return ""


def _lock(folder: str) -> int | None:
    """Hold a folder; None if another process does, or it is none of this user's."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(descriptor).st_uid == os.geteuid():
            return descriptor
    os.close(descriptor)
    return None


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    """Send a signal to the process and those it has started."""
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):
        pass  # none of them is there any more
