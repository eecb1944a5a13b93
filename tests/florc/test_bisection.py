"""The search for the first place that shows something new: found, with its neighbour, in few looks."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from florc.plans import bisection


def search(count: int, turn: int | None, at_once: int) -> tuple[int | None, list[list[int]]]:
    """What is found where everything from `turn` on is new, and the looks that it took."""
    looks: list[list[int]] = []

    def look(places: Sequence[int]) -> dict[int, bool]:
        looks.append(list(places))
        return {place: turn is not None and place >= turn for place in places}

    return bisection.first(count, at_once, look), looks


@pytest.mark.parametrize("at_once", [1, 2, 3, 8])
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 16, 17, 100])
def test_every_turn_is_found_with_the_place_before_it_looked_at(count, at_once):
    for turn in [*range(count), None]:
        found, looks = search(count, turn, at_once)
        seen = [place for places in looks for place in places]
        assert found == turn
        assert len(seen) == len(set(seen)), "no place is looked at twice"
        assert len(looks) <= bisection.rounds(count, at_once)
        assert all(len(places) <= max(at_once, 2 if at_once > 1 else 1) for places in looks)
        if turn:
            assert {turn - 1, turn} <= {*seen}


def test_nothing_is_found_among_no_places():
    assert search(0, None, 1) == (None, [])


def test_a_search_of_a_thousand_takes_ten_rounds_after_its_ends():
    assert search(1000, 377, 1)[1][:3] == [[0], [999], [499]]
    assert bisection.rounds(1000, 1) == 12
    assert bisection.rounds(1000, 3) == 6


@given(st.integers(1, 60), st.sets(st.integers(0, 59)), st.integers(1, 4))
def test_what_turns_back_and_forth_still_gives_a_place_whose_neighbour_does_not_show_it(count, new, at_once):
    found = bisection.first(count, at_once, lambda places: {place: place in new for place in places})
    if found is None:
        assert count - 1 not in new
    else:
        assert found in new and (found == 0 or found - 1 not in new)
