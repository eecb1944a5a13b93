"""Programs that never seed: a replay begins with the generators where the recorded run's began."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.florc.running import florc, lay

EPOCHS = "for epoch in range(2):\n    for _ in range(3):\n        net(torch.ones(1, 4)).sum().backward()\n"
PROGRAM = f"import random\nimport numpy\nimport torch\nnet = torch.nn.Linear(4, 2)\n{EPOCHS}"

DRAWS = {
    "python": ("random.random()", "hash(random.getstate()[1])"),
    "numpy": ("numpy.random.rand()", "hash(numpy.random.get_state()[1].tobytes())"),
    "torch": ("torch.rand(1).item()", "hash(torch.get_rng_state().numpy().tobytes())"),
}


@pytest.mark.program
@pytest.mark.parametrize("name", DRAWS)
def test_a_probe_sees_the_state_that_the_recorded_run_began_with(name: str, tmp_path: Path) -> None:
    draw, state = DRAWS[name]
    recorded = PROGRAM.replace("net =", f"print({state})\nprint({draw})\nnet =")
    lay(tmp_path, {"train.py": recorded + "print(net.weight.sum().item())\n"})
    began, drawn, _ = florc(tmp_path, "record", "train.py").out.splitlines()

    probed = recorded.replace("net =", f"print('probe', {state})\nnet =", 1)
    probed = probed.replace(f"print({state})\n", f"print('probe', {state})\nprint({state})\n", 1)
    weight = "net.weight.sum().item()"
    lay(tmp_path, {"train.py": f"{probed}print('weight', {weight})\nprint({weight})\n"})
    replayed = florc(tmp_path, "replay", "train.py")
    assert replayed.code == 0, replayed.err
    first, again, number, later, probed_weight, last = replayed.out.splitlines()
    assert (first, again, number) == (f"probe {began}", began, drawn)
    assert later.startswith("probe ")
    assert later != first
    assert probed_weight == f"weight {last}"
