"""Iterators are moved forward to where the record's stood, or given up soon."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from time import monotonic
from typing import Any

import pytest

from florc.runtime.errors import CannotRestore
from florc.runtime.live import Iterator as Kind
from florc.runtime.live import held_by, position


def total() -> Iterator[int]:
    summed = 0
    while True:
        got = yield summed
        summed += got or 0


def blinking() -> Iterator[int]:
    while True:
        yield 1
        yield 2


def slow() -> Iterator[int]:
    """Most of its turns change nothing that can be seen."""
    n = 0
    for turn in itertools.count():
        if turn % 50 == 0:
            n += 1
        yield n


MAKERS: list[tuple[str, Callable[[], Any], int]] = [
    ("a range", lambda: iter(range(9000)), 8500),
    ("a count", itertools.count, 9000),
    ("a cycle, on its third turn", lambda: itertools.cycle("abcdefg"), 17),
    ("a generator that seldom moves", slow, 4000),
    ("one that counts another", lambda: enumerate(iter(range(900))), 300),
]


@pytest.mark.parametrize(("name", "make", "steps"), MAKERS, ids=[name for name, *_ in MAKERS])
def test_an_iterator_is_brought_to_where_the_other_stood(
    name: str, make: Callable[[], Any], steps: int
) -> None:
    there, here = make(), make()
    for _ in range(steps):
        next(there)
    Kind.advance(here, position(there))
    assert [next(here) for _ in range(3)] == [next(there) for _ in range(3)]


@pytest.mark.parametrize("make", [lambda: zip([1, 2, 3], "abc", strict=False), lambda: enumerate("abc")])
def test_the_tuple_kept_for_reuse_is_no_state(make: Callable[[], Any]) -> None:
    """It is another one if somebody holds what came out last."""
    here, there = make(), make()
    kept = [next(here), next(here)]
    next(there)
    next(there)
    assert [position(one) for one in held_by(here)] == [position(one) for one in held_by(there)]
    assert not any(type(one) is tuple for one in held_by(here))
    assert len(kept) == 2


@pytest.mark.parametrize("make", [total, blinking])
def test_a_generator_that_goes_round_in_a_circle_is_given_up_at_once(make: Callable[[], Any]) -> None:
    here = make()
    began = monotonic()
    with pytest.raises(CannotRestore, match="cannot be brought"):
        Kind.advance(here, (-1, ()))
    assert monotonic() - began < 5  # a million steps take half a minute


def test_a_generator_that_was_sent_values_is_told_not_to_be_brought_there() -> None:
    there, here = total(), total()
    next(there)
    there.send(5)  # type: ignore[attr-defined]
    with pytest.raises(CannotRestore):
        Kind.advance(here, position(there))
