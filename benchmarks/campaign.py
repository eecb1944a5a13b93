"""Which runs are made, in which order: recordings, each beside a plain run, then replays against the truth.

Every run becomes one row of the results, written as it ends; one that printed what it should not have
says so.
"""
from __future__ import annotations

import json
import shutil
import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from . import checking, environments, florc_runs, measuring, variants
from .catalog import PAPER, Workload
from .checking import Verdict
from .desk import BENCH, Desk
from .measuring import Usage
from .peers import PEERS, Peer
from .variants import INNER, OUTER

FLORC = ("-m", "florc")
STOPPED = "recording stops here"  # florc when it gives up: such a run shows no overhead, and must not count
PAUSE = 0.2  # seconds after each of these, for the disk: it is the copy that the training cannot but wait for
DENSE_ITERATIONS = 120  # of the state-heavy script, each with a checkpoint: the first ones weigh little
STARTUP_PAIRS = 9
STARTUP_SCRIPT = 'import torch\n\nfor number in range(3):\n    print(torch.arange(number))\n'
_QUARTERS = 4


@dataclass
class Log:
    """The results' file: what it was made on, and a row for every run."""

    path: Path
    about: dict[str, Any]
    rows: list[dict[str, Any]] = field(default_factory=list)

    def save(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps({"about": self.about, "rows": self.rows}, indent=1))

    def add(self, usage: Usage, say: Callable[[str], None], **more: Any) -> None:
        """Note a run, write the file, say a line."""
        row = {**more, "code": usage.code, "wall": usage.wall, "cpu": usage.cpu, "start_cpu": usage.start_cpu,
               "loop_cpu": usage.loop_cpu, "loop_wall": usage.loop_wall, "main_in_loop": usage.main_in_loop,
               "cpu_in_loop": usage.cpu_in_loop,
               "wall_in_loop": usage.wall_in_loop, "memory": quarters(usage.memory)}
        if usage.code:
            row["err"] = usage.err[-1500:]
        self.rows.append(row)
        self.save()
        bad = ""
        if row.get("wrong") or row.get("note"):
            bad = f"  WRONG {row['wrong']}/{row['wanted']} {row['note']}"
        say(f"{row['workload']:18} {row['variant']:16} {row['step']:7} loop {_s(usage.loop_cpu)} cpu, start "
            f"{_s(usage.start_cpu)} cpu, all {_s(usage.cpu)} cpu {_s(usage.wall)} wall"
            f"{f', exit {usage.code}' if usage.code else ''}{bad}")


def _s(seconds: float | None) -> str:
    return "    -" if seconds is None else f"{seconds:5.2f}"


def quarters(memory: Iterable[float]) -> list[float]:
    """The largest memory in each quarter of the run."""
    samples = list(memory)
    size = len(samples) // _QUARTERS
    return [max(samples[i * size:(i + 1) * size]) for i in range(_QUARTERS)] if size else []


# what is measured, and what to do with what it used
Work = tuple[Callable[[], Usage], Callable[[Usage], None]]
# where a recording runs, with which arguments, and what to look at when it has ended
Recording = tuple[Desk, tuple[str, ...], Callable[[Usage], tuple[Verdict, dict[str, Any]]]]


@dataclass
class Campaign:
    """All runs of one workload.

    Args:
        pairs: how often `florc record` runs, beside a plain run.
        manual: how often saving by hand does.
        replays: rounds of floor beside `florc replay`, and of loading.
    """

    log: Log
    workload: Workload
    args: tuple[str, ...]
    iterations: int
    pairs: int
    manual: int
    replays: int
    say: Callable[[str], None]
    chosen: frozenset[str] = frozenset()  # variants to run; empty: all
    peers: int = 0  # how often each other recorder that is installed runs, beside a plain run
    out: str = ""  # what the plain script prints

    def wants(self, variant: str) -> bool:
        return not self.chosen or variant in self.chosen

    def run(self) -> None:
        self.record()
        if self.wants("replay"):
            self.replay()

    # -- recording -----------------------------------------------------------------------------------

    def record(self) -> None:
        """Each recorder, and saving by hand, beside a plain run; cores are changed every round."""
        for number in range(self.pairs):
            self._beside_plain(number, "florc", self._florc_records)
            if number < self.manual:
                self._beside_plain(number, "manual", self._by_hand)
            for peer in PEERS if number < self.peers and self.workload in PAPER else ():
                if environments.python(peer) is not None:
                    self._beside_plain(number, peer.name, partial(self._peer_records, peer))

    def _beside_plain(self, number: int, variant: str, prepare: Callable[[], Recording]) -> None:
        """One pair: the plain run and a recording; both must print what the first plain run printed."""
        if not self.wants(variant):
            return
        desk, command, look = prepare()
        plain = self.desk("plain", "plain")
        usages = measuring.together([partial(plain.run, self.workload.script, *self.args),
                                     partial(desk.run, *command)], first=number % 2)
        self.out = self.out or usages[0].out
        pair = number if variant == "florc" else f"{variant} {number}"
        self.note(usages[0], "plain", "record", pair, checking.whole(usages[0].out, self.out))
        verdict, kept = look(usages[1])
        self.note(usages[1], variant, "record", pair, verdict, **kept)

    def desk(self, variant: str, text: str) -> Desk:
        desk = Desk.fresh(f"{self.workload.name}/{variant}")
        desk.lay(self.workload, variants.script(self.workload, text))
        return desk

    def note(self, usage: Usage, variant: str, step: str, pair: int | str, verdict: Verdict | None = None,
             **more: Any) -> None:
        if verdict is not None:
            more.update(wrong=verdict.wrong, wanted=verdict.wanted, note=verdict.note)
        self.log.add(usage, self.say, workload=self.workload.name, variant=variant, step=step, pair=pair,
                     **more)

    def _florc_records(self) -> Recording:
        desk = self.desk("florc", "plain")

        def look(usage: Usage) -> tuple[Verdict, dict[str, Any]]:
            verdict = checking.whole(usage.out, self.out)
            if STOPPED in usage.err:
                verdict = replace(verdict, note="recording stopped")
            return verdict, _kept(desk)

        return desk, (*FLORC, "record", self.workload.script, *self.args), look

    def _by_hand(self) -> Recording:
        desk = self.desk("manual", "manual")

        def look(usage: Usage) -> tuple[Verdict, dict[str, Any]]:
            saved = list((desk.home / "saved").glob("*.pt"))
            return checking.whole(usage.out, self.out), {"stored": desk.stored("saved"),
                                                         "checkpoints": len(saved)}

        return desk, (self.workload.script, *self.args), look

    def _peer_desk(self, peer: Peer) -> Desk | None:
        interpreter = environments.python(peer)
        if interpreter is None or not self.wants(peer.name):
            return None
        return Desk(self._home(peer.name.replace(" ", "-")), str(interpreter))

    def _peer_records(self, peer: Peer) -> Recording:
        """Under another recorder; only what the plain run prints, too, is compared."""
        desk = self._peer_desk(peer)
        assert desk is not None  # it is installed and wanted
        desk.clear()
        desk.lay(self.workload, peer.script(self.workload, self.args, probed=False), peer.branch)
        before = desk.stored(*peer.stores)

        def look(usage: Usage) -> tuple[Verdict, dict[str, Any]]:
            wanted = self.out.splitlines()
            kept = "".join(f"{line}\n" for line in usage.out.splitlines() if line in wanted)
            return checking.whole(kept, self.out), {"stored": desk.stored(*peer.stores) - before}

        return desk, (self.workload.script, *peer.record), look

    # -- replaying -----------------------------------------------------------------------------------

    def replay(self) -> None:
        """The truth once; then floor, loading whole checkpoints, and florc, in turns."""
        truth = self.desk("truth", "truth").run(self.workload.script, *self.args)
        self.note(truth, "truth", "truth", 0)
        touched = self._home("truth").parent / "touched"
        outer = checking.without(truth.out, INNER)
        for number in range(self.replays):
            works = [self._values_alone("floor", number, truth.out, touched)]
            if self.wants("florc"):
                works.append(self._florc(number, "outer", checking.whole, outer))
            self._together(works, number)
            if self.wants("manual") and number < self.manual:
                saved = self._home("manual") / "saved"
                self._together([self._values_alone("load", number, truth.out, saved)])
        for peer in PEERS if self.peers and self.workload in PAPER else ():
            self._replay_peer(peer, checking.lines_of(truth.out, OUTER))
        if self.workload.inner and self.wants("florc"):
            at = min(self.workload.at, self.iterations - 1)
            wanted = checking.iteration(truth.out, at, self.workload.outer_in_loop)
            check = partial(_inner_values, wanted=wanted)
            self._together([self._florc(0, "inner", check, "", "--at", str(at))])
        shutil.rmtree(touched, ignore_errors=True)

    def _home(self, variant: str) -> Path:
        return BENCH / "work" / self.workload.name / variant / "home"

    def _together(self, works: list[Work],
                  first: int = 0) -> None:
        """Do works at the same time, then note each."""
        usages = measuring.together([work for work, _ in works], first % 2)
        for (_, note), usage in zip(works, usages, strict=True):
            note(usage)

    def _values_alone(self, variant: str, number: int, truth: str, states: Path) -> Work:
        desk = self.desk(variant, variant)
        place = desk.home.parent / "touched" if variant == "floor" else desk.home / "saved"
        place.symlink_to(states)
        wanted = checking.lines_of(truth, OUTER)

        def note(usage: Usage) -> None:
            self.note(usage, variant, "outer", number, checking.values(usage.out, wanted, OUTER))

        return partial(desk.run, self.workload.script, *self.args), note

    def _replay_peer(self, peer: Peer, wanted: list[str]) -> None:
        desk = self._peer_desk(peer)
        if desk is None:
            return
        desk.edit(self.workload, peer.script(self.workload, self.args, probed=True))
        usage = desk.run(self.workload.script, *peer.replay(self.iterations))
        self.note(usage, peer.name, "outer", 0, checking.values(usage.out, wanted, OUTER))

    def _florc(self, number: int, probe: str, check: Callable[[str, str], Verdict], truth: str,
               *options: str) -> Work:
        home = self._home("florc")
        desk = Desk(home)
        desk.edit(self.workload, variants.script(self.workload, probe))
        summary = home.parent / "summary.json"
        summary.unlink(missing_ok=True)

        def note(usage: Usage) -> None:
            told = json.loads(summary.read_text()) if summary.exists() else {}
            loops = told.get("main_loops", [])
            self.note(usage, "florc", probe, number, check(usage.out, truth), exact=told.get("exact"),
                      executed=sum(len(loop["executed"]) for loop in loops))

        command = (*FLORC, "replay", *options, "--summary", str(summary), self.workload.script)
        return partial(desk.run, *command), note


def _inner_values(out: str, _: str, wanted: list[str]) -> Verdict:
    return checking.values(out, wanted, INNER)


def startup(log: Log, pairs: int, say: Callable[[str], None]) -> None:
    """What florc adds to a script that does nothing but import torch, once its text is cached."""
    commands = {"plain": ("hello.py",), "florc record": (*FLORC, "record", "hello.py"),
                "florc replay": (*FLORC, "replay", "hello.py")}
    alone, recorded = Desk.fresh("startup/plain"), Desk.fresh("startup/florc")
    for desk in (alone, recorded):
        (desk.home / "hello.py").write_text(STARTUP_SCRIPT)
    desks = {"plain": alone, "florc record": recorded, "florc replay": recorded}
    for variant, command in commands.items():
        desks[variant].run(*command)  # warms the caches
    for number in range(pairs):  # in turns: imports wait for the system, which has one core it likes best
        for variant in commands if number % 2 == 0 else reversed(commands):
            log.add(desks[variant].run(*commands[variant]), say, workload="startup", variant=variant,
                    step="startup", pair=number)


def stall(log: Log, workload: Workload, say: Callable[[str], None], pairs: int) -> None:
    """A checkpoint in every iteration of the state-heavy script: what the training thread loses a GB."""
    args = (workload.count, str(DENSE_ITERATIONS), "--pause", str(PAUSE))
    for number in range(pairs):
        for variant, command in (("plain", ()), ("florc dense", (*FLORC, "record", "--overhead", "1"))):
            desk = Desk.fresh(f"stall/{variant.replace(' ', '-')}")
            desk.lay(workload, variants.script(workload, "marked"))
            usage = desk.run(*command, workload.script, *args)
            waits = usage.between("iteration-end", "iteration-start")
            more = {"waits": [statistics.median(column) for column in zip(*waits, strict=True)],
                    **(_kept(desk) if command else {})}
            log.add(usage, say, workload="stall", variant=variant, step="stall", pair=number, **more)


def _kept(desk: Desk) -> dict[str, Any]:
    """What florc stored there."""
    kept = florc_runs.kept(desk.run(*florc_runs.SHOW).out)
    return {"stored": desk.stored(".florc/runs"), "checkpoints": kept and kept.checkpoints,
            "states": kept and kept.states}


def memory_seconds_per_gb() -> dict[str, float]:
    """Seconds to read a GB, and to copy one: together the floor of a stall.

    Before each the training's step writes to the memory, as before a checkpoint.
    """
    import time

    import torch

    torch.set_num_threads(1)
    source, target = torch.ones(12_500_000), torch.ones(12_500_000)

    def seconds(action: Callable[[], Any]) -> float:
        taken = []
        for _ in range(20):
            source.mul_(0.999)
            start = time.perf_counter()
            action()
            taken.append(time.perf_counter() - start)
        return statistics.median(taken) / (source.numel() * source.element_size() / 1e9)

    return {"read": seconds(source.sum), "copy": seconds(lambda: target.copy_(source))}
