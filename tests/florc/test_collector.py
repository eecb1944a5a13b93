"""Python's collector does not look through torch again and again; the program's own garbage it collects."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.florc.running import alike, florc, lay

pytest.importorskip("torch")

PROGRAM = """\
import gc, weakref
import torch

class Node:
    pass

def ring():
    node = Node()
    node.me, node.data = node, torch.zeros(4)
    return weakref.ref(node)

print(gc.isenabled(), gc.get_threshold())
ended = ring()
gc.collect()
print(ended() is None)
"""
KEPT = """\
import gc
before = gc.get_freeze_count()
import torch
print(gc.get_freeze_count() - before > 100_000)
"""
OFF = "import gc\ngc.disable()\nimport torch\nprint(gc.isenabled())\n"


@pytest.mark.program
def test_the_programs_garbage_goes_as_under_python(tmp_path: Path) -> None:
    lay(tmp_path, {"train.py": PROGRAM})
    assert alike(tmp_path, "train.py").out.endswith("\nTrue\n")


@pytest.mark.program
def test_one_that_has_the_collector_off_has_it_off_after_the_import(tmp_path: Path) -> None:
    lay(tmp_path, {"train.py": OFF})
    assert alike(tmp_path, "train.py").out == "False\n"


@pytest.mark.program
@pytest.mark.parametrize("command", ["record", "replay"])
def test_what_torch_is_made_of_is_left_out(command: str, tmp_path: Path) -> None:
    lay(tmp_path, {"train.py": KEPT})
    florc(tmp_path, "record", "train.py")
    assert florc(tmp_path, command, "train.py").out == "True\n"
