"""What of an iteration's values is written down."""

from __future__ import annotations

import pytest

from florc.runtime.noted import Noted

# the values of x at the iterations' beginnings (... for unbound), and what is written down of them
CHANGES = [
    ([1, 2, 3], [{"x": 1}, {"x": 2}, {"x": 3}]),
    ([1, 2.5, 3], [{"x": 1}, {"x": None}, {"x": 3}]),
    ([1, ..., "a"], [{"x": 1}, {"x": None}, {"x": "a"}]),
    ([1, True, 1], [{"x": 1}, {"x": None}, {"x": 1}]),
    ([2.5, 1], [{}, {"x": 1}]),
    (["a" * 61, "a"], [{}, {"x": "a"}]),
]


def bound(value):
    return {} if value is ... else {"x": value}


@pytest.mark.parametrize("values, written", CHANGES)
def test_changes_are_noted_and_what_is_plain_no_more_is_said_to_be(values, written):
    noted, of_function = Noted(), Noted()
    assert [noted.of_module(bound(value), i) for i, value in enumerate(values)] == written
    assert [of_function.of_function(["x"], bound(value)) for value in values] == written


def test_a_module_s_name_that_first_changes_late_is_noted_then():
    noted = Noted()
    values = [0.1, "warm", "warm", "warm", "warm", "warm", "cold", 0.5, 0.5, "warm"]
    found = [noted.of_module({"phase": value, "__file__": "a"}, i) for i, value in enumerate(values)]
    changes = {1: "warm", 6: "cold", 7: None, 9: "warm"}
    assert found == [{"phase": changes[i]} if i in changes else {} for i in range(10)]


def test_a_function_s_values_are_all_written_every_time():
    noted = Noted()
    assert noted.of_function(["a", "b"], {"a": 1, "b": 2}) == {"a": 1, "b": 2}
    assert noted.of_function(["a", "b"], {"a": 1, "b": [2]}) == {"a": 1, "b": None}
    assert noted.of_function(["a", "b"], {"a": 1, "b": [2]}) == {"a": 1}


class Trainer:
    """Its own attributes are looked at where they lie: nothing of it is asked."""

    def __init__(self):
        self.epoch, self.rate = 0, 0.5
        self.name: str | None = "a"

    def __getattr__(self, name):
        raise AssertionError(name)


def test_of_a_method_s_object_the_changes_are_noted():
    trainer, noted = Trainer(), Noted()
    values = {"self": trainer, "a": 1}
    assert noted.of_function(["a"], values) == {"a": 1, "self.epoch": 0, "self.name": "a"}
    trainer.epoch += 1
    assert noted.of_function(["a"], values) == {"a": 1, "self.epoch": 1}
    trainer.name = None
    assert noted.of_function(["a"], values) == {"a": 1, "self.name": None}
    assert noted.of_function(["a"], values) == {"a": 1}


@pytest.mark.parametrize("owner", [object(), [], 3, Trainer])
def test_what_has_no_attributes_of_its_own_has_none_noted(owner):
    assert Noted().of_function([], {"self": owner}) == {}
