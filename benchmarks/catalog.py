"""The workloads: how each is started, what its probes look at, and how one would save it by hand."""
from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "workloads"
_STATES = "model=model.state_dict(), optimizer=optimizer.state_dict(), scheduler=scheduler.state_dict()"
LR = "optimizer.param_groups[0]['lr']"
_NORM = "torch.stack([p.detach().norm() for p in {model}.parameters()]).norm().item()"
_GRADIENT = "torch.stack([p.grad.norm() for p in {model}.parameters() if p.grad is not None]).norm().item()"


@dataclass(frozen=True)
class Workload:
    """A training script of `workloads/`.

    Attributes:
        shape: of what in the paper it is a small picture, or why it is here.
        outer: an expression, printed at the end of every epoch (where `outer_in_loop`) or after the loop.
        inner: an expression, printed in every step; "" if there is no inner loop to look into.
        states: keyword arguments of what one would save by hand.
        restores: statements that put `saved` (a dict of these) back.
        touched: an expression for the tensors or arrays that the outer probe reads.
        number: the number that it reads beside them; a target one can assign to.
        outer_in_loop: the outer probe stands in the main loop; else after it, and looks at the last state.
        at: the main-loop iteration that the inner probe is asked about.
        count: the option that sets the number of main-loop iterations; quick: its value for a quick look.
        save_every: by hand one saves every so many iterations of the main loop.
    """

    name: str
    shape: str
    outer: str
    inner: str
    states: str = _STATES
    restores: str = ("model.load_state_dict(saved['model']); optimizer.load_state_dict(saved['optimizer']); "
                     "scheduler.load_state_dict(saved['scheduler'])")
    touched: str = "[p.detach() for p in model.parameters()]"
    number: str = LR
    outer_in_loop: bool = True
    at: int = 2
    count: str = "--epochs"
    quick: int = 2
    save_every: int = 1

    @property
    def iterations(self) -> int:
        """The main loop's iterations when its option is not given: the script's own default."""
        return int(re.search(rf'"{self.count}", type=int, default=([\d_]+)', self.text)[1])  # type: ignore[index]

    @property
    def script(self) -> str:
        return f"{self.name}.py"

    @property
    def text(self) -> str:
        return (FOLDER / self.script).read_text()


def _trained(name: str, shape: str, at: int) -> Workload:
    return Workload(name, shape, at=at, inner=_GRADIENT.format(model="model"),
                    outer=f"{_NORM.format(model='model')}, {LR}")


PAPER = (
    _trained("finetune_frozen", "RTE: fine-tuning, most layers frozen", 4),
    _trained("finetune_full", "CoLA: fine-tuning, all layers", 5),
    _trained("image_residual", "RsNt: residual image classifier", 4),
    _trained("image_squeeze", "Cifr: squeeze-type image classifier", 6),
    _trained("masked_lm", "Wiki: masked language model", 5),
    _trained("speech_conv", "Jasp: convolutional speech model", 5),
    _trained("image_large_epoch", "ImgN: few long epochs", 2),
    _trained("translator", "RnnT: recurrent translator with attention", 5),
)
OWN = (
    Workload("state_heavy", "50 MB that all change in every iteration of 5 ms, 1,000 iterations",
             outer="model.cells.norm().item(), model.mean", inner="", outer_in_loop=False,
             states="cells=model.cells, mean=model.mean",
             restores="model.cells.copy_(saved['cells']); model.mean = saved['mean']",
             touched="[model.cells]", number="model.mean", at=500, quick=100, save_every=100),
    Workload("flat_steps", "one flat loop of 20,000 tiny steps", count="--steps",
             outer=f"{_NORM.format(model='model')}, average", inner=_GRADIENT.format(model="model"),
             states="model=model.state_dict(), optimizer=optimizer.state_dict(), average=average",
             restores="model.load_state_dict(saved['model']); optimizer.load_state_dict(saved['optimizer']); "
                      "average = saved['average']",
             number="average", outer_in_loop=False, at=15_000, quick=2000, save_every=1000),
    Workload("numpy_only", "a network trained with NumPy alone",
             outer="sum((w * w).sum() for w in network.weights) ** 0.5, rate",
             inner="sum((w * w).sum() for w, _ in gradients) ** 0.5",
             states="network=vars(network), rate=rate",
             restores="vars(network).update(saved['network']); rate = saved['rate']",
             touched="network.weights", number="rate", at=12),
)
ALL = (*PAPER, *OWN)
BY_NAME = {workload.name: workload for workload in ALL}
