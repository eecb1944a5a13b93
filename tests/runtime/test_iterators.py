"""Iterators are moved forward to where the record's stood, or given up soon."""

from __future__ import annotations

import itertools
import sys
import weakref
from collections.abc import Callable, Iterator
from time import monotonic
from typing import Any

import pytest

from florc.runtime.errors import CannotRestore
from florc.runtime.iterators import Iterator as Kind
from florc.runtime.iterators import held_by, position, set_variables, variables


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


def test_a_generator_that_was_sent_values_is_brought_there_with_its_variables() -> None:
    there, here = total(), total()
    next(there)
    there.send(5)  # type: ignore[attr-defined]
    Kind.advance(here, position(there))
    set_variables(here, variables(there))
    assert there.send(2) == here.send(2) == 7 and variables(here) == variables(there)  # type: ignore[attr-defined]


def test_variables_that_the_other_does_not_have_become_unbound() -> None:
    def counted() -> Iterator[int]:
        for number in itertools.count():
            if number % 2:
                odd = number
            yield number
            if number % 2:
                del odd

    there, here = counted(), counted()
    for _ in range(3):
        next(there)
    for _ in range(2):
        next(here)
    assert variables(here) == {"number": 1, "odd": 1} and variables(there) == {"number": 2}
    if sys.version_info < (3, 13):
        set_variables(here, variables(there))
        assert variables(here) == {"number": 2}
    assert variables(iter([1])) == {}


@pytest.mark.parametrize(("here", "there"), [(1, 3), (3, 1), (4, 0)])
def test_what_runs_over_a_list_goes_back_too(here: int, there: int) -> None:
    def runs(items: list[int]) -> Iterator[int]:
        while True:
            yield from items

    one, other = runs([10, 11, 12, 13, 14]), runs([10, 11, 12, 13, 14])
    for _ in range(here + 1):
        next(one)
    for _ in range(there + 1):
        next(other)
    Kind.advance(one, position(other))
    assert position(one) == position(other)
    assert [next(one) for _ in range(8)] == [next(other) for _ in range(8)]


def test_looking_at_a_generator_leaves_nothing_in_it() -> None:
    """A dict of its variables, which Python would keep, holds what it let go of."""
    class Held:
        pass

    def give() -> Iterator[int]:
        held = Held()
        yield id(held)
        del held
        yield 0

    one = give()
    next(one)
    before = len(held_by(one))
    seen = weakref.ref(variables(one)["held"])
    assert len(held_by(one)) == before and seen() is not None
    next(one)
    assert seen() is None



def test_plain_values_tell_the_place_where_what_is_run_over_does_not() -> None:
    def pairs() -> Iterator[tuple[int, str]]:
        for number, letter in itertools.product(range(9), "abc"):
            step = number, letter
            yield step

    there, here = pairs(), pairs()
    for _ in range(17):
        next(there)
    Kind.advance(here, position(there))
    assert [next(here) for _ in range(3)] == [next(there) for _ in range(3)]


def test_plain_values_are_no_part_of_the_place_else() -> None:
    def drawn(values: list[int]) -> Iterator[int]:
        for value in values:
            doubled = 2 * value
            yield doubled

    one, other = drawn([1, 2, 3]), drawn([7, 8, 9])
    next(one), next(other)
    assert position(one) == position(other)


def test_two_yields_on_one_line_are_two_places() -> None:
    def two() -> Iterator[int]:
        n = 0
        while True:
            n += 1; yield n; yield -n  # noqa: E702

    there, here = two(), two()
    for _ in range(4):
        next(there)
    next(here)
    assert position(here) != position(there)
    Kind.advance(here, position(there))
    set_variables(here, variables(there))
    assert [next(here) for _ in range(3)] == [next(there) for _ in range(3)]


def test_one_that_has_not_begun_stands_elsewhere_than_at_its_yield() -> None:
    def short() -> Iterator[int]: yield 1; yield 2  # noqa: E702

    begun = short()
    next(begun)
    assert position(begun) != position(short())


def test_a_list_that_is_counted_goes_on_in_step() -> None:
    """Set to its end at once, it would end the generator before the count is there."""
    def counted(items: list[str]) -> Iterator[tuple[int, str]]:
        yield from ((number, item) for number, item in enumerate(items))

    there, here = counted(["a", "b", "c"]), counted(["a", "b", "c"])
    for _ in range(3):
        next(there)
    Kind.advance(here, position(there))
    assert position(here) == position(there) and list(here) == list(there) == []
