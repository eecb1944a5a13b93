"""An event that a recording writes is one that a replay takes; one of another shape is refused."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from florc.runtime import events

VERSION, WORDS, GAUSS = random.Random(0).getstate()  # the same in every test worker
CHANCES = {"taken": 1, "refused": 0, "behind": 0, "blind": 0}
FIGURES = {"logical": 5, "written": 3, "spent": 0.5, "loops": {"train.py::for#0": CHANCES}}
NUMPY = ["MT19937", [1] * 624, 624, 0, 0.0]

GOOD: list[list[Any]] = [
    ["R", "random", [VERSION, list(WORDS), GAUSS]],
    ["R", "numpy", NUMPY],
    ["R", "torch", 67280421310721],  # torch's own default
    ["R", "torch", 2**64 - 1],
    ["R", "torch", -(2**63)],
    ["R", "another library's", {"a": 1}],
    ["L", "train.py::for#0"],
    ["L", "train.py::main/for#0", {"epoch": 3}],
    ["L", "train.py::for#0", {}, 2.5],
    ["I", 3, {"epoch": 3}, None, 0],
    ["I", 3, {"epoch": 3}, None, 0, 12.000125],
    ["E", 0, False, 3],
    ["E", 0, False, 3, FIGURES],
    ["E", 0, False, 3, FIGURES, None],
    ["E", 0, False, 3, FIGURES, 7],
    ["E", 0, False, 3, {**FIGURES, "of tomorrow": 1}],
    ["E", 0, False, 3, FIGURES, 7, 71.25],
    ["E", 0, False, 3, {**FIGURES, "stalls": {"train.py::for#0": [0.5, 0.25]}}],
    ["a tag of tomorrow", 1],
]
BAD: list[list[Any]] = [
    ["R", "random", 5],
    ["R", "random", NUMPY],
    ["R", "random", [VERSION, list(WORDS)[:-1], GAUSS]],
    ["R", "numpy", [*NUMPY[:2], 625, 0, 0.0]],
    ["R", "numpy", 1],
    ["R", "torch", NUMPY],
    ["R", "torch", 2**64],
    ["R", "torch", True],
    ["R", "torch"],
    ["L", 1],
    ["L", "train.py::for#0", 3],
    ["L", "train.py::for#0", {}, None],
    ["I", 3, {}, None, 0, "long"],
    ["I", 3, {}, None, 0, -1.0],
    ["I", 3, {}, None, 0, float("inf")],
    ["E", 0, False, 3, FIGURES, 7, float("nan")],
    ["B", "no hash"],
    ["E", 0, False],
    ["E", 0, False, 3, None],
    ["E", 0, False, 3, FIGURES, -1],
    ["E", 0, False, 3, {**FIGURES, "logical": -1}],
    ["E", 0, False, 3, {**FIGURES, "stalls": {"train.py::for#0": [0.5]}}],
    ["E", 0, False, 3, {**FIGURES, "spent": "long"}],
    ["E", 0, False, 3, {**FIGURES, "loops": [CHANCES]}],
    ["E", 0, False, 3, {**FIGURES, "loops": {"train.py::for#0": {"taken": 1}}}],
]


@pytest.mark.parametrize("event", GOOD, ids=lambda event: str(event)[:40])
def test_what_a_recording_writes_is_an_event(event: list[Any]) -> None:
    assert events.loads(json.dumps(event).encode()) == event


@pytest.mark.parametrize("event", BAD, ids=lambda event: str(event)[:40])
def test_what_no_recording_writes_is_none(event: list[Any]) -> None:
    with pytest.raises(ValueError, match="of a wrong shape"):
        events.loads(json.dumps(event).encode())
