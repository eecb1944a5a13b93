"""Two commands measured at the same time: each gets its own account."""

import os
import sys
from functools import partial

import pytest

from benchmarks import measuring

BUSY = """
import os, sys, time
while time.process_time() < float(sys.argv[1]):
    pass
print(os.sched_getaffinity(0))
"""


def measured(folder, text, *args):
    folder.mkdir()
    return partial(measuring.run, [sys.executable, "-c", text, *args], folder, dict(os.environ))


def test_each_work_gets_its_own_seconds_and_output_in_the_order_asked_for(tmp_path):
    works = [measured(tmp_path / "one", BUSY, "0.05"), measured(tmp_path / "two", BUSY, "0.5")]
    short, long = measuring.together(works)
    assert 0.05 <= short.cpu < 0.5 <= long.cpu
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) > 1:
        assert [short.out, long.out] == [f"{{{cores[0]}}}\n", f"{{{cores[1]}}}\n"]


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core")
def test_the_cores_can_be_changed(tmp_path):
    cores = sorted(os.sched_getaffinity(0))
    found = measuring.together([measured(tmp_path / name, BUSY, "0") for name in "ab"], first=1)
    assert [usage.out for usage in found] == [f"{{{cores[1]}}}\n", f"{{{cores[2 % len(cores)]}}}\n"]


def test_a_work_that_fails_is_told(tmp_path):
    with pytest.raises(RuntimeError, match="broke off"):
        measuring.together([partial(measuring.run, [str(tmp_path / "none")], tmp_path, {})] * 2)
