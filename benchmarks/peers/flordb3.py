"""flordb 3: checkpoints of named objects after each iteration of the outer loop, loaded by the replay.

It loads modules and optimizers; given a scheduler, its replay ends with an error. The replay gets the options
that its own `flor replay` gives for a statement in the outer loop.
"""
from __future__ import annotations

from benchmarks import variants
from benchmarks.catalog import Workload

from .peer import Peer, in_context, wrap_loop


def _write(workload: Workload) -> str:
    text = variants.importing(workload.text, "import flordb as flor")
    text = wrap_loop(text, "epoch loop", 'flor.loop("epoch", ', ")")
    text = wrap_loop(text, "step loop", 'flor.loop("step", ', ")")
    text = variants.fill(text, "epoch end", 'flor.log("done", 1)')
    return in_context(text, "flor.checkpointing(model=model, optimizer=optimizer)")


def _replay(epochs: int) -> tuple[str, ...]:
    return "--replay_flor", "outer", "epoch=" + "".join(f"{number}," for number in range(epochs))


FLORDB3 = Peer("flordb 3.4.12", ("flordb==3.4.12", "pandas<3"), _write, (), _replay,
               ("../user/.flor", ".git"))
