"""pyflor 2: the inner loop is a skip block; on replay the objects handed to it are loaded instead."""
from __future__ import annotations

from benchmarks import variants
from benchmarks.catalog import Workload

from .peer import Peer, wrap_loop


def _write(workload: Workload) -> str:
    text = variants.importing(workload.text, "from flor import MTK")
    text = wrap_loop(text, "epoch loop", "MTK.loop(", ")")
    text = wrap_loop(text, "step loop", "MTK.loop(", ")")
    return variants.fill(text, "loop begin", "MTK.checkpoints(model, optimizer, scheduler)")


# What it forgets to require: apted, and a bidict of its time.
PYFLOR = Peer("pyflor 2.5.6", ("pyflor==2.5.6", "apted", "bidict==0.21.3", "pandas<3"), _write,
              ("--flor", "bench"), lambda epochs: ("--replay_flor",), (".flor", "../user/.flor"),
              branch="flor.shadow.bench")
