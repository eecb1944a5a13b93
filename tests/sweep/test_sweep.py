"""A sample of the sweep: a few positions of some programs, one of each kind of body."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sweep.programs import programs
from tests.sweep.sweeping import Bench, Spot, prepare, record, replay
from tests.warm import Warm

# program -> florc's --overhead
SAMPLE = {"main_functions": "1", "project_package": "1", "hidden_state": "", "two_optimizers": ""}
KINDS = 5  # kinds of bodies that are sampled in each


@pytest.fixture(scope="module")
def warm() -> Iterator[Warm]:
    with Warm() as server:
        yield server


def one_of_each_kind(spots: list[Spot], most: int) -> list[Spot]:
    """The middle one of each kind of body, ends of bodies apart, of the first so many kinds."""
    kinds: dict[tuple[str, bool], list[Spot]] = {}
    for spot in spots:
        kinds.setdefault((spot.place.body, spot.place.after), []).append(spot)
    return [found[len(found) // 2] for found in list(kinds.values())[:: max(1, len(kinds) // most)]][:most]


@pytest.mark.program
@pytest.mark.parametrize("name", SAMPLE)
def test_a_probe_anywhere_shows_what_python_shows(name: str, warm: Warm, tmp_path: Path) -> None:
    bench = Bench(warm)
    # one server for all: torch's own start state is the same in the truth and the record
    sweep = prepare(programs()[name], tmp_path, bench, bench, lambda spots: one_of_each_kind(spots, KINDS))
    recorded = record(sweep, tmp_path, bench, SAMPLE[name])
    found = [replay(recorded, [spot], bench) for spot in sweep.spots]
    assert len(found) == KINDS
    assert [(v.labels, v.verdict, v.reason) for v in found if v.verdict != "right"] == []
    assert any(spot.visits for spot in sweep.spots)


@pytest.mark.program
def test_the_sweep_tells_a_wrong_replay(warm: Warm, tmp_path: Path) -> None:
    """A truth that is another must not pass: else the sweep would show nothing."""
    bench = Bench(warm)
    sweep = prepare(programs()["epoch_mlp"], tmp_path, bench, bench, lambda spots: spots[-1:])
    recorded = record(sweep, tmp_path, bench, "1")
    assert replay(recorded, sweep.spots, bench).verdict == "right"
    other = dataclasses.replace(sweep, truth=sweep.truth.replace("|@>", " |@>"))
    assert replay(dataclasses.replace(recorded, sweep=other), sweep.spots, bench).verdict == "wrong"
