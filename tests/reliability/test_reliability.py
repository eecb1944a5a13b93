"""A fixed sample of the trials; `make faults` makes all of them, many times."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from .bench import PREFIX, VERDICTS, WHOLE, Bench, judged
from .report import table
from .trials import FAULTS, try_once

SAMPLE = [
    ("kill-record", 0),
    ("kill-at-write", 0),
    ("kill-at-write", 3),
    ("kill-replay", 0),
    ("interrupt", 0),
    ("timeout", 0),
    ("failing-writes", 1),
    ("failing-once", 0),
    ("small-disk", 0),
    ("slow-disk", 0),
    ("replays-at-once", 1),
    ("copied", 0),
    ("removed-replaying", 0),
    ("memory", 0),
    ("files", 0),
    ("clock", 0),
    ("flip-journal-jsonl", 0),
    ("cut-data-pack", 0),
    ("ends-os-exit", 0),
    ("ends-segfault", 0),
    ("ends-descriptors-closed", 0),
]


@pytest.mark.program
@pytest.mark.parametrize(("name", "number"), SAMPLE)
def test_nothing_is_wrong_in_silence_nothing_is_lost_and_training_goes_on(name: str, number: int) -> None:
    why = FAULTS[name].needs()
    if why:
        pytest.skip(why)
    assert try_once(name, number) in (*VERDICTS, "cannot start")


@pytest.mark.program
def test_a_trial_sees_a_wrong_line_and_a_lost_one(tmp_path) -> None:
    """The judge itself: it must not find everything right."""
    bench = Bench(tmp_path).lay()
    bench.record()
    truth = bench.truth("outer.py")
    done = bench.replay()
    assert judged(done, done, done.out) == WHOLE
    for wrong in (done.out.replace("loss 1.3", "loss 1.4"), done.out[:-20], ""):
        with pytest.raises(AssertionError):
            judged(replace(done, out=wrong), done, done.out)
    with pytest.raises(AssertionError):
        judged(done, truth, "")  # the probes' lines are missing
    with pytest.raises(AssertionError, match="strange words"):
        judged(replace(done, err="Traceback (most recent call last):"), done, "")
    cut = replace(
        done,
        out=done.out[:100],
        err="florc: the recorded run was interrupted, and the replay ends there",
    )
    assert judged(cut, done, done.out[:90]) == PREFIX
    with pytest.raises(AssertionError, match="lost"):
        judged(cut, done, done.out[:120])


def test_the_table_holds_every_fault_with_its_counts() -> None:
    results = json.loads(
        '{"trials": {"kill-record": {"prefix": 3, "whole": 1}}, "skipped": {"small-disk": "no"}}'
    )
    lines = table(results).splitlines()
    row = next(line for line in lines if "| the record is killed |" in line)
    assert "| 4 |" in row and "3 prefix, 1 whole" in row
    assert any("not here: no" in line for line in lines)
