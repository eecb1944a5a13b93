"""Workers on a Ray cluster: each the same command, run by an actor on a node, its text pulled from there.

Ray is imported when a replay asks for it, never before. A worker's files stay on its node; of them at most a
piece a worker is in memory. Where no cluster was named and none is at hand, one is started on this machine
and ended with the replay; others are only left.
"""

from __future__ import annotations

import os
import platform
import signal
import socket
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from typing import Any

from florc import __version__, messages
from florc.errors import EXIT_INEXACT, EXIT_REFUSED, EXIT_USAGE, FlorcError

from . import ray_node, shares
from .places import NODE_PREFIX, Ended, Files, Running
from .shares import Share
from .where import Where

WAIT_S = 1.0  # for news of any worker, before Ctrl-C is looked for again
STOP_S = 10.0  # a node that has not ended its worker by then is left to Ray, which ends the actor
STOP_WAITING_S = 2.0  # one that has found no node yet has nothing to end
TOLD_WAITING_S = 15.0  # workers that no node has room for by then are told of
KNOCK_S = 10.0  # for a cluster to answer, far away or busy
MAX_WHY = 300  # characters of what Ray says of a lost actor: it goes on at length
# the store of a Ray of florc's own holds nothing but small answers; Ray takes no less than 75 MB
STORE_BYTES = 80_000_000
ADDRESS = "RAY_ADDRESS"
NEW = "local"  # as an address: one of its own, whatever is at hand


@dataclass(frozen=True)
class Needs:
    """What Ray sets aside for each worker."""

    cpus: float
    gpus: float

    def room_in(self, resources: Mapping[str, float]) -> int:
        """How many workers find room in these resources at once."""
        wanted = [(self.cpus, resources.get("CPU", 0.0)), (self.gpus, resources.get("GPU", 0.0))]
        counts = [int(there / needed + 1e-9) for needed, there in wanted if needed > 0]
        return min(counts) if counts else int(resources.get("CPU", 1.0)) or 1

    @property
    def words(self) -> str:
        return f"{self.cpus:g} CPUs" + (f" and {self.gpus:g} GPUs" if self.gpus else "")


@contextmanager
def connected(where: Where, needs: Needs, script: str) -> Iterator[Cluster]:
    """The cluster that `--on` names. FlorcError if there is none, it gets lost, or Ray is not installed.

    script: that every node has to see, "" for a module.
    """
    environment = dict(os.environ)  # before Ray changes it
    ray = _imported()
    before = signal.getsignal(signal.SIGTERM)
    try:
        own = _connect(ray, where)
        signal.signal(signal.SIGTERM, before)  # Ray has put its own handler there
        yield Cluster(ray, environment, needs, script, own)
    except ray.exceptions.RayError as error:
        why = " ".join(str(error).split())[:MAX_WHY]
        raise FlorcError(f"not exact: the Ray cluster was lost: {why}", exit_code=EXIT_INEXACT) from None
    finally:
        ray.shutdown()


def _imported() -> Any:
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # else it warns of what it will do
    try:
        import ray
    except ImportError as error:
        raise FlorcError(
            f"--on ray needs Ray, which cannot be imported ({error})",
            hint="pip install 'florc[ray]'",
            exit_code=EXIT_USAGE,
        ) from None
    return ray


def _connect(ray: Any, where: Where) -> bool:
    """Connect; True if this has started a Ray of its own."""
    silent = {"logging_level": "ERROR", "log_to_driver": False}
    address = where.address or os.environ.get(ADDRESS, "")
    try:
        if address and address != NEW:
            _knock(address)
            ray.init(address=address, **silent)
            return False
        with suppress(ConnectionError):
            if address != NEW:
                ray.init(address="auto", **silent)
                return False
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # it would tell its makers of a replay
        ray.init(
            address=NEW, include_dashboard=False, object_store_memory=STORE_BYTES, **silent
        )
    except (ConnectionError, ImportError, OSError, RuntimeError, ValueError) as error:
        why = " ".join(str(error).split())
        where_to = address or "this machine"
        raise FlorcError(
            f"cannot reach Ray at {where_to}: {why}",
            hint="is it up, and does it want a token (RAY_AUTH_MODE=token)? --on ray alone starts a Ray here",
            exit_code=EXIT_REFUSED,
        ) from None
    return True


def _knock(address: str) -> None:
    """OSError where nobody answers: Ray itself tries for minutes, and fills the screen meanwhile."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), timeout=KNOCK_S).close()


class Attempt:
    """One attempt of a worker: an actor, and what was pulled from it."""

    def __init__(self, ray: Any, actor: Any, order: ray_node.Order, files: Files) -> None:
        self._ray, self._actor, self.files = ray, actor, files
        self.node, self._host = "", ""  # once it has begun
        self.ended: Ended | None = None
        self.tidied: Any = None  # the answer that its node has tidied up
        self._out = open(files.out, "wb", buffering=0)  # noqa: SIM115  # for as long as it runs
        self._err = open(files.err, "wb", buffering=0)  # noqa: SIM115
        self.pending = actor.begin.remote(order)  # the answer that is awaited

    @property
    def has_begun(self) -> bool:
        return bool(self._host)

    def take(self) -> None:
        """Take in the answer that has come, and ask for what comes next."""
        try:
            answer = self._ray.get(self.pending)
        except self._ray.exceptions.RayError as error:
            why = " ".join(str(error).split())[:MAX_WHY]
            self._end(Ended(None, f"lost on the node {self._host or '(none yet)'}: {why}"))
            return
        if self.has_begun:
            self._news(answer)
        else:
            self._begun(answer)
        if self.ended is None:
            self.pending = self._actor.more.remote(self._out.tell(), self._err.tell())

    def _begun(self, answer: tuple[str, str, str]) -> None:
        self.node, self._host, why = answer
        if why:
            self._err.write(f"florc: error: {why}\n".encode())
            self._end(Ended(EXIT_REFUSED, why))

    def _news(self, news: ray_node.News) -> None:
        out, err, code, summary = news
        self._out.write(out)
        self._err.write(err)
        if code is not None:
            if summary:
                self.files.summary.write_bytes(summary)
            self._end(Ended.with_code(code, f" on the node {self._host}"))

    def _end(self, how: Ended) -> None:
        self.ended = how
        self._out.close()
        self._err.close()
        if how.code is None:
            self.kill()
        self.tidied = self._actor.stop.remote()
        self._actor = None  # with its last handle Ray ends the actor, and has room for another

    def stop(self) -> None:
        """Begin to end it."""
        self.tidied = self._actor.stop.remote()

    def kill(self) -> None:
        """End its actor, and with it the process that hangs on it."""
        with suppress(self._ray.exceptions.RayError):
            self._ray.kill(self._actor)


class Cluster:
    """A Ray cluster that this process is connected to.

    own: it was started for this replay.
    """

    def __init__(self, ray: Any, environment: dict[str, str], needs: Needs, script: str, own: bool) -> None:
        self._ray, self._environment, self._needs, self._script = ray, environment, needs, script
        self._attempts: list[Attempt] = []
        self._idle_since: float | None = time.monotonic()  # nobody has found room since then
        self.words = "a Ray of its own" if own else "the Ray cluster"
        ray.cloudpickle.register_pickle_by_value(ray_node)
        if not self._fitting():
            message = f"no node of the Ray cluster has {needs.words} for a worker"
            if own:
                raise FlorcError(message, hint="ask for less with --cpus-per-worker", exit_code=EXIT_REFUSED)
            messages.say(f"{message}: waiting for one")
            self._idle_since = None

    def slots(self) -> int:
        return max(sum(self._needs.room_in(node["Resources"]) for node in self._fitting()), 1)

    def start(self, share: Share, files: Files, apart_from: Running | None) -> Attempt:
        lost = apart_from.node if isinstance(apart_from, Attempt) else ""
        actor = self._ray.remote(
            num_cpus=self._needs.cpus,
            num_gpus=self._needs.gpus,
            max_restarts=0,  # what was passed on of its text must be looked at first: florc restarts it
            scheduling_strategy=self._elsewhere(lost) or "SPREAD",
        )(ray_node.Node).remote()
        self._attempts.append(Attempt(self._ray, actor, self._order(share), files))
        return self._attempts[-1]

    def wait(self) -> None:
        """Take in the answers that are there, or the first that comes."""
        waiting = {one.pending: one for one in self._attempts if one.ended is None}
        if not waiting:
            return
        self._tell_of_waiting(list(waiting.values()))
        some, _ = self._ray.wait(list(waiting), num_returns=1, timeout=WAIT_S)
        if some:
            some, _ = self._ray.wait(list(waiting), num_returns=len(waiting), timeout=0)
        for answer in some:
            waiting[answer].take()

    def close(self) -> None:
        """End those that still run, each on its node, and wait until they have."""
        running = [one for one in self._attempts if one.ended is None]
        for one in running:
            one.stop()
        for begun, seconds in ((True, STOP_S), (False, STOP_WAITING_S)):
            refs = [one.tidied for one in self._attempts if one.has_begun is begun and one.tidied is not None]
            if refs:
                self._ray.wait(refs, num_returns=len(refs), timeout=seconds)
        for one in running:
            one.kill()

    def _order(self, share: Share) -> ray_node.Order:
        options, words = command(sys.orig_argv, sys.argv)
        return {
            "options": options,
            "words": words,
            "folder": os.getcwd(),
            "script": self._script,
            "host": platform.node(),
            "version": __version__,
            "environment": self._environment,
            "variable": shares.VARIABLE,
            "share": asdict(share),
            "prefix": NODE_PREFIX,
            "gpus": self._needs.gpus > 0,
        }

    def _fitting(self) -> list[dict[str, Any]]:
        """The nodes that have room for a worker when nothing else runs there."""
        nodes = [node for node in self._ray.nodes() if node["Alive"]]
        return [node for node in nodes if self._needs.room_in(node["Resources"])]

    def _elsewhere(self, lost: str) -> Any:
        """Another node than the one where a worker was lost, if there is one; None otherwise."""
        others = [node["NodeID"] for node in self._fitting() if node["NodeID"] != lost] if lost else []
        if not others:
            return None
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        return NodeAffinitySchedulingStrategy(others[0], soft=True)

    def _tell_of_waiting(self, waiting: list[Attempt]) -> None:
        """Say once that nothing moves because the cluster has no room."""
        if any(one.has_begun for one in self._attempts):
            self._idle_since = None
        since = self._idle_since
        if since is not None and time.monotonic() - since > TOLD_WAITING_S:
            self._idle_since = None
            messages.say(f"the cluster has no room yet for any of {len(waiting)} workers: waiting")


def command(original: list[str], arguments: list[str]) -> tuple[list[str], list[str]]:
    """(options of the interpreter, florc's words) of this command, to give it elsewhere. Pure.

    `florc` may lie in another folder there; what runs is `python -m florc`.
    """
    words = arguments[1:]
    head = original[1 : len(original) - len(words)]
    return (head[:-2] if head[-2:] == ["-m", "florc"] else head[:-1]), words
