"""Whole programs, one folder each in tests/cases: record, add the probes, replay, compare with plain Python.

A new case is a new folder there; `harness` says what its case.json may ask.
"""

from pathlib import Path

import pytest

from tests.harness import check_case, read_case

CASES = sorted(path.parent for path in Path(__file__).with_name("cases").glob("*/case.json"))


@pytest.mark.program
@pytest.mark.parametrize("folder", CASES, ids=lambda folder: folder.name)
def test_florc_gives_what_plain_python_gives(folder: Path, tmp_path: Path) -> None:
    check_case(read_case(folder), tmp_path)
