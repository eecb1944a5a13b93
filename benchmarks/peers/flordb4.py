"""flordb 4: loops are named, files that the script saves are kept; a replay runs from the first iteration."""
from __future__ import annotations

from benchmarks import variants
from benchmarks.catalog import Workload

from .peer import Peer, wrap_loop


def _write(workload: Workload) -> str:
    text = variants.importing(workload.text, "import flordb as flor", "import torch")
    text = wrap_loop(text, "epoch loop", 'flor.loop("epoch", ', ")")
    text = wrap_loop(text, "step loop", 'flor.loop("step", ', ")")
    return variants.fill(text, "epoch end", f'torch.save(dict({workload.states}), "saved.pt")',
                         'flor.log("done", 1)')


FLORDB4 = Peer("flordb 4.0.1", ("flordb==4.0.1",), _write, (),
               lambda epochs: ("--replay_flor", "--iter", "epoch=all"), (".flor", ".git"))
