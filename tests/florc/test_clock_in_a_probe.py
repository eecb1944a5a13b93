"""What an added line reads of the clock, or of the system's entropy, is not the record's: that is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.florc.running import florc, lay

INEXACT = 65
PROGRAM = """\
import logging, os, time
from datetime import datetime
logging.basicConfig(level=logging.INFO, format="%(message)s")
start = time.time()
total = 0
for epoch in range(3):
    total += epoch
    time.sleep(0.01)
print("took", time.time() - start < 100, total)
"""
LINE = "    total += epoch\n"
READ = {
    "time": 'print("| at", time.time() - start > 0)',
    "perf_counter": 'print("| at", time.perf_counter() > 0)',
    "a date": 'print("| at", datetime.now() is None)',
    "a text of now": 'print("| at", len(time.strftime("%H")))',
    "entropy": 'print("| at", len(os.urandom(4)))',
}


@pytest.mark.program
@pytest.mark.parametrize("probe", READ.values(), ids=READ)
def test_it_is_told(probe: str, tmp_path: Path) -> None:
    lay(tmp_path, {"train.py": PROGRAM})
    florc(tmp_path, "record", "train.py")
    lay(tmp_path, {"train.py": PROGRAM.replace(LINE, f"{LINE}    {probe}\n")})
    done = florc(tmp_path, "replay", "train.py")
    assert done.code == INEXACT and done.out.count("| at") == 3
    what = "draws from the system's entropy" if "urandom" in probe else "reads the clock"
    assert f"train.py:8, an added line, {what}" in done.err


@pytest.mark.program
def test_what_logging_reads_for_a_record_is_not(tmp_path: Path) -> None:
    lay(tmp_path, {"train.py": PROGRAM})
    florc(tmp_path, "record", "train.py")
    lay(tmp_path, {"train.py": PROGRAM.replace(LINE, f'{LINE}    logging.info("total %d", total)\n')})
    done = florc(tmp_path, "replay", "train.py")
    assert done.code == 0 and "total 3\n" in done.err
