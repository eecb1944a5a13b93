"""When to take a checkpoint: the joint invariant of the paper and one budget for the whole run.

Source: Garcia et al., PVLDB 14(4), 2020, section 5.3. With M the seconds to materialize, C the
block's own seconds, c the ratio of restore to materialize, n executions and k checkpoints of the
block so far and eps the user's bound:  materialize iff  M / C < n / (k + 1) * min(1 / (1 + c), eps).
"""

from __future__ import annotations

from dataclasses import dataclass, field

RESTORE_RATIO = 1.38  # c, as the paper measured it
GRACE_SECONDS = 1.0  # a short run keeps its first checkpoints whatever they cost
DEFAULT_OVERHEAD = 1 / 15
DENSE = 1.0  # at this bound every candidate becomes a checkpoint


@dataclass
class BlockCosts:
    """What is known of one block id so far."""

    executions: int = 0
    checkpoints: int = 0
    compute_seconds: float = 0.0
    materialize_seconds: float = 0.0

    @property
    def compute(self) -> float:
        """Mean seconds of one execution; infinite before the first."""
        return self.compute_seconds / self.executions if self.executions else float("inf")

    @property
    def materialize(self) -> float:
        """Mean seconds of one checkpoint; zero before the first."""
        return self.materialize_seconds / max(self.checkpoints, 1)


@dataclass
class Policy:
    """Decides, block by block, within one bound on the run's seconds."""

    overhead: float = DEFAULT_OVERHEAD
    blocks: dict[str, BlockCosts] = field(default_factory=dict)
    spent: float = 0.0

    def costs(self, block: str) -> BlockCosts:
        return self.blocks.setdefault(block, BlockCosts())

    def wants(self, block: str, elapsed: float) -> bool:
        """True if the coming (or just finished) execution of a block deserves a checkpoint.

        Args:
            block: the block's id.
            elapsed: seconds since the run began.
        """
        if self.overhead >= DENSE:
            return True
        if self.overhead <= 0:
            return False
        costs = self.costs(block)
        if self.spent + costs.materialize > GRACE_SECONDS + self.overhead * elapsed:
            return False
        return joint_invariant(costs, self.overhead) or (
            costs.checkpoints == 0 and self.spent < GRACE_SECONDS
        )

    def ran(self, block: str, seconds: float) -> None:
        costs = self.costs(block)
        costs.executions += 1
        costs.compute_seconds += seconds

    def prepared(self, block: str, seconds: float) -> None:
        """A block's entry state was kept: part of what its checkpoint costs."""
        self.costs(block).materialize_seconds += seconds
        self.spent += seconds

    def materialized(self, block: str, seconds: float) -> None:
        costs = self.costs(block)
        costs.checkpoints += 1
        costs.materialize_seconds += seconds
        self.spent += seconds


def joint_invariant(costs: BlockCosts, overhead: float) -> bool:
    """M / C < n / (k + 1) * min(1 / (1 + c), eps), with n counting the coming execution."""
    if costs.compute <= 0:
        return False
    ratio = costs.materialize / costs.compute
    return ratio < (costs.executions + 1) / (costs.checkpoints + 1) * min(1 / (1 + RESTORE_RATIO), overhead)
