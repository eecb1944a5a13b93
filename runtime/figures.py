"""What a recording kept and left out, in figures: the last field of the journal's end event."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Outcome = Literal["taken", "refused", "behind", "blind"]


@dataclass
class Chances:
    """Places of a loop at which its state might have been kept, by what came of them.

    taken: it was. refused: by the policy. behind: the disk was still busy with earlier ones.
    blind: florc could not see all of the state.
    """

    taken: int = 0
    refused: int = 0
    behind: int = 0
    blind: int = 0

    def saw(self, outcome: Outcome) -> None:
        setattr(self, outcome, getattr(self, outcome) + 1)


@dataclass(frozen=True)
class Figures:
    """What a recording kept, and what that took.

    logical: bytes asked to be kept, equal ones as often as they were. written: bytes given to the disk.
    spent: seconds. loops: by id. stalls: by id, the seconds that the training lately stood still for an entry
    state, and for a checkpoint; of earlier recordings none.
    """

    logical: int
    written: int
    spent: float
    loops: dict[str, Chances] = field(default_factory=dict)
    stalls: dict[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def checkpoints(self) -> int:
        return sum(loop.taken for loop in self.loops.values())

    def packed(self) -> dict[str, Any]:
        """As plain values."""
        stalls = {block: [round(part, 6) for part in parts] for block, parts in self.stalls.items()}
        return {**asdict(self), "spent": round(self.spent, 6), "stalls": stalls}

    @classmethod
    def of(cls, packed: dict[str, Any]) -> Figures:
        """From plain values of the right shape (see events.py); what this version does not know is left."""
        loops = {
            block: Chances(**{name: counts[name] for name in Chances.__dataclass_fields__})
            for block, counts in packed["loops"].items()
        }
        stalls = {block: (parts[0], parts[1]) for block, parts in packed.get("stalls", {}).items()}
        return cls(packed["logical"], packed["written"], float(packed["spent"]), loops, stalls)
