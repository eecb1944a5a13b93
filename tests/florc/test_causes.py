"""What is told as a likely cause when a replay comes out otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from florc import causes, environment
from florc.runtime.runs import Run


def run(**facts: Any) -> Run:
    """A run recorded here and now, but for these facts."""
    here = {
        "python": environment.python_version(),
        "threads": environment.torch_threads(),
        "env": {"OMP_NUM_THREADS": "1"},
        "more": {"libraries": environment.versions_of_libraries(), "processor": environment.processor()},
    }
    return Run(Path(), "one", "train.py", **{**here, **facts})


def likely(recorded: Run, noticed: list[str] | None = None) -> list[str]:
    return causes.likely(recorded, noticed or [], {"OMP_NUM_THREADS": "1"})


def test_nothing_is_made_up_where_nothing_is_different():
    assert likely(run()) == []


def test_what_the_runtime_noticed_comes_first():
    assert likely(run(python="CPython 2.7.18"), ["data.csv has changed"])[0] == "data.csv has changed"


@pytest.mark.parametrize(
    ("facts", "wanted"),
    [
        ({"python": "CPython 2.7.18"}, f"python {environment.python_version()} here, CPython 2.7.18 then"),
        (
            {"more": {"libraries": {"pytest": "0.1", "gone": "1"}}},
            f"pytest {pytest.__version__} here, 0.1 then",
        ),
        (
            {"env": {"OMP_NUM_THREADS": "4", "PYTHONHASHSEED": "3"}},
            "other environment variables: OMP_NUM_THREADS",
        ),
    ],
)
def test_a_difference_is_named_with_both_sides(facts, wanted):
    assert likely(run(**facts)) == [wanted]


def test_another_processor_is_named():
    wanted = f"another processor: {environment.processor()} here, pdp11 then"
    assert likely(run(more={"processor": "pdp11"})) == [wanted]


def test_another_number_of_threads_is_named():
    torch = pytest.importorskip("torch")
    now = torch.get_num_threads()
    assert likely(run(threads=now + 3)) == [f"torch computes with {now} threads here, with {now + 3} then"]
