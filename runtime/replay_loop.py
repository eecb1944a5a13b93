"""The guards of a replay: of a loop, and around added lines that may change what they observe."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .checkpoint import LiveState
from .graph import ITERATOR
from .guards import OpenLoop
from .isolation import Isolated, NoProbe
from .leaving import counts_and_may_be_dropped
from .script import LoopRun
from .signals import calm

if TYPE_CHECKING:
    from .replaying import Replayer


class ReplayLoop(OpenLoop):
    """A loop that is being replayed, at depth 0 or 1."""

    __slots__ = (
        "replayer",
        "run",
        "number",
        "wanted",
        "state",
        "iterator",
        "skippable",
        "ran_block",
        "early",
        "entry_values",
        "entry_names",
    )

    def __init__(
        self, replayer: Replayer, run: LoopRun, names: tuple[str, ...], frame: Any, depth: int
    ) -> None:
        super().__init__(run.block, names, frame, depth)
        self.replayer = replayer
        self.run = run
        self.number = -1
        self.wanted: list[int] = []
        self.state: LiveState | None = None
        self.iterator: Any = None
        self.skippable = True
        self.ran_block = False
        self.early = False  # it is left once nothing in it can show any more
        self.entry_values: dict[str, Any] | None = None
        self.entry_names: dict[str, Any] = {}

    def fresh(self, now: dict[str, Any]) -> set[str]:
        """Names that are bound otherwise than when the loop was entered."""
        before = self.entry_names
        return {name for name, value in now.items() if before.get(name, self) is not value}

    def over(self, iterable: Any) -> Any:
        if self.depth:
            if self.early and not counts_and_may_be_dropped(iterable):
                self.early = self.live = False
            return iterable
        self.iterator = iter(iterable)
        with calm:
            self.replayer.start(self)
        return self.iterator

    def boundary(self) -> bool:
        if self.frame is None or self.replayer.off:
            return False
        if not self.depth:
            return self.replayer.boundary(self)
        return self.replayer.end_early(self) if self.early else self.replayer.inner(self)

    def leave(self) -> bool:
        self.iterator = None  # it ends here, as it would without a guard
        if self.frame is not None:
            with calm:
                self.replayer.leave(self, {})
        return (self.skipped or self.done) and self.run.outcome == "return"

    def returning(self, value: Any) -> Any:
        if self.frame is not None:
            with calm:
                self.replayer.leave(self, {"return": value})
        return value

    def bind(self, values: dict[str, Any]) -> None:
        """As always, but the probes' own names keep what they hold."""
        own = self.replayer.own_of(self.frame).intersection(self.names) if self.frame is not None else ()
        if own:
            now = self.locals()
            values = {**values, **{name: now[name] for name in own if name in now}}
        super().bind(values)

    def let_go(self) -> None:
        """Hold nothing of the program's any more."""
        self.frame = self.state = self.iterator = self.entry_values = None
        self.entry_names = {}

    def all_names(self) -> dict[str, Any]:
        return self.locals() | ({} if self.iterator is None else {ITERATOR: self.iterator})


class ProbeGuard(NoProbe):
    """Around a probe that may change what it observes. A name stays bound to it: it lets go of the rest."""

    def __init__(self, replayer: Replayer, where: str, isolated: Isolated) -> None:
        self._replayer, self._where, self._isolated = replayer, where, [isolated]
        self._values, self._unbound = isolated.values, isolated.unbound

    @property
    def values(self) -> tuple[Any, ...]:  # type: ignore[override]
        """What the names held before; given once."""
        values, self._values = self._values, ()
        return values

    def leave(self) -> None:
        with calm:
            self._replayer.probed(self._where, self._isolated.pop())

    def lacks(self, name: str) -> bool:
        return name in self._unbound
