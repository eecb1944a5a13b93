"""What `florc.log` keeps of a value: numbers, words and lists of such as they are, of all else the text."""

from __future__ import annotations

import collections
import enum
import math
import sys

import pytest

from florc.runtime.plain import MAX_CHARS, MAX_DEPTH, MAX_ITEMS, as_data, text


class Color(enum.IntEnum):
    RED = 1


class Silent:
    def __repr__(self) -> str:
        raise ValueError("no")


AS_THEY_ARE = [None, True, 0, -(10**300), 1.5, "", "ü\n", [1, [2.0, "a"]], [], {"a": [1]}, {"a": {"b": None}}]


@pytest.mark.parametrize("value", AS_THEY_ARE)
def test_plain_data_is_kept_as_it_is(value):
    assert as_data(value) == (value, "")


def test_a_tuple_is_a_list_and_nan_is_nan():
    assert as_data((1, (2,))) == ([1, [2]], "")
    value, note = as_data(math.nan)
    assert math.isnan(value) and note == ""


def nested(depth: int) -> list[object]:
    found: list[object] = []
    for _ in range(depth):
        found = [found]
    return found


IN_WORDS = [
    (1j, "1j", "complex"),
    ({1, }, "{1}", "set"),
    ({1: 2}, "{1: 2}", "dict"),
    (Color.RED, repr(Color.RED), f"{__name__}.Color"),
    (range(3), "range(0, 3)", "range"),
    ([1, {2}], "[1, {2}]", "list"),
    (collections.OrderedDict(a=1), repr(collections.OrderedDict(a=1)), "collections.OrderedDict"),
    (Silent(), "", f"{__name__}.Silent, which has no text: ValueError"),
    ([0] * (MAX_ITEMS + 1), str([0] * (MAX_ITEMS + 1)), "list"),
    (nested(MAX_DEPTH + 1), str(nested(MAX_DEPTH + 1)), "list"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "words", "note"), IN_WORDS)
def test_what_is_no_plain_data_is_told_in_words_with_its_type(value, words, note):
    assert as_data(value) == (words, note)


def test_a_long_text_is_shortened_and_says_so():
    kept, note = as_data("x" * (MAX_CHARS + 1))
    assert len(kept) == MAX_CHARS and note.startswith("str, shortened from")


def test_a_number_too_long_for_text_is_told_of_and_never_raises():
    kept, note = as_data(10 ** (sys.get_int_max_str_digits() + 10))
    assert (kept, note) == ("", "int, which has no text: ValueError")


def test_numbers_of_numpy_and_torch_are_pythons():
    numpy, torch = pytest.importorskip("numpy"), pytest.importorskip("torch")
    for value, wanted in [
        (numpy.float64(0.5), 0.5), (numpy.int32(3), 3), (numpy.bool_(True), True), (numpy.array(2.5), 2.5),
        (torch.tensor(1.5), 1.5), (torch.tensor(7), 7), (torch.nn.Parameter(torch.tensor(0.25)), 0.25),
        (torch.tensor(0.5, dtype=torch.bfloat16), 0.5), (torch.tensor(True), True),
    ]:  # fmt: skip
        kept, note = as_data(value)
        assert (kept, type(kept), note) == (wanted, type(wanted), "")
    assert as_data([torch.tensor(1.0), numpy.float32(2.0)]) == ([1.0, 2.0], "")
    kept, note = as_data(torch.zeros(2))
    assert (kept, note) == ("tensor([0., 0.])", "torch.Tensor")


def test_equal_values_have_one_text_nan_too():
    assert text(math.nan) == text(float("nan")) and text({"a": 1, "b": 2}) == text({"b": 2, "a": 1})
    assert text(1) != text(1.0) and text(True) != text(1)
