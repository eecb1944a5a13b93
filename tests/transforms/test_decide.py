"""What a test comes to for known values: (test, what is known, whether it may show, its last number)."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from florc.transforms import Target, When, last_showing, may_show

NEVER = -math.inf
TARGETS = (Target("epoch", ("a.py::for#0",), False), Target("step", ("a.py::for#0/for#0",), True))
E3: dict[str, Any] = {"epoch": 3}
NOTHING: dict[str, Any] = {}


def when(*tests: tuple[str, ...], otherwise: bool = False) -> When:
    return When(tests, otherwise, TARGETS)


# operands of one test, what is known, may it show, the last step at which it may
TABLE: list[tuple[tuple[str, ...], dict[str, Any], bool, float | None]] = [
    (("epoch == 3",), E3, True, None),
    (("epoch == 4",), E3, False, NEVER),
    (("epoch == 4",), NOTHING, True, None),
    (("epoch != 3",), E3, False, NEVER),
    (("not epoch",), E3, False, NEVER),
    (("step == 7",), NOTHING, True, 7),
    (("7 == step",), NOTHING, True, 7),
    (("step < 7",), NOTHING, True, 7),
    (("7 > step",), NOTHING, True, 7),
    (("7 >= step",), NOTHING, True, 7),
    (("step <= 7.5",), NOTHING, True, 7.5),
    (("step > 7",), NOTHING, True, None),
    (("7 < step",), NOTHING, True, None),
    (("step != 7",), NOTHING, True, None),
    (("not step == 7",), NOTHING, True, None),
    (("step in (3, 9, 5)",), NOTHING, True, 9),
    (("step in [3, 'a', None]",), NOTHING, True, 3),
    (("step in ()",), NOTHING, True, NEVER),
    (("step not in (3, 9)",), NOTHING, True, None),
    (("3 <= step < 9",), NOTHING, True, 9),
    (("step % 5 == 0",), NOTHING, True, None),
    (("step % 5 == 0", "step < 20"), NOTHING, True, 20),
    (("step == 7 or step == 9",), NOTHING, True, 9),
    (("step == 7 or step % 9 == 0",), NOTHING, True, None),
    (("(step == 7 or step == 9) and step < 8",), NOTHING, True, 8),
    (("step == 2 * epoch + 1",), E3, True, 7),
    (("step == 2 * epoch + 1",), NOTHING, True, None),
    (("epoch == 3", "step == 7"), E3, True, 7),
    (("epoch == 4", "step == 7"), E3, False, NEVER),
    (("step == 7", "epoch == 4"), E3, False, NEVER),
    (("step == 7", "epoch == 4"), NOTHING, True, None),
    (("epoch == 4", "step == 7"), NOTHING, True, None),
    (("step // 0 == 1", "epoch == 4"), E3, True, None),
    (("step % step == 1", "epoch == 4"), E3, True, None),
    (("step < 'a'", "epoch == 4"), E3, True, None),
    (("step == 'a'", "epoch == 4"), E3, False, NEVER),
    (("step in 'abc'", "epoch == 4"), E3, True, None),
    (("epoch < 'a'",), E3, True, None),
    (("epoch // 0 == 1",), E3, True, None),
    (("epoch in ([3], 4)",), E3, True, None),
    (("[epoch] != (3,)",), E3, True, None),
    (("(step and 'a') < 3", "epoch == 4"), E3, True, None),
    (("(step == 1) + 'a'", "epoch == 4"), E3, True, None),
    (("epoch - 3",), E3, False, NEVER),
    (("-epoch == -3",), E3, True, None),
    (("'ar' in epoch",), {"epoch": "warm"}, True, None),
    (("'ar' in epoch",), {"epoch": "cool"}, False, NEVER),
    (("epoch * 1000000000 == 'a'",), {"epoch": "cool"}, True, None),
    (("'%9999999999d' % epoch == 'a'",), E3, True, None),
]


@pytest.mark.parametrize(("operands", "known", "may", "last"), TABLE)
def test_a_test_is_false_only_where_that_is_certain(operands, known, may, last):
    assert may_show(when(operands), known) is may
    if may:
        assert last_showing(when(operands), known, "step") == last


STEPS = range(-2, 12)
NAMES = st.sampled_from(["epoch", "step"])
CONSTANTS = st.sampled_from(["0", "1", "3", "7", "-2", "2.5", "'a'", "None", "True"])
NUMBERS = st.recursive(
    NAMES | CONSTANTS,
    lambda inner: st.builds("({} {} {})".format, inner, st.sampled_from(["+", "-", "*", "//", "%"]), inner)
    | st.builds("(-{})".format, inner),
    max_leaves=3,
)
LISTS = st.lists(CONSTANTS | NAMES, max_size=3).map(lambda parts: f"[{', '.join(parts)}]")
COMPARISONS = st.one_of(
    st.builds("{} {} {}".format, NUMBERS, st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), NUMBERS),
    st.builds("{} < {} <= {}".format, NUMBERS, NUMBERS, NUMBERS),
    st.builds("{} {} {}".format, NUMBERS, st.sampled_from(["in", "not in"]), LISTS),
    NUMBERS,
)
TESTS = st.recursive(
    COMPARISONS,
    lambda inner: st.builds("({} {} {})".format, inner, st.sampled_from(["and", "or"]), inner)
    | st.builds("(not {})".format, inner),
    max_leaves=4,
)


def outcome(test: str, epoch: int, step: int) -> Any:
    """What Python makes of a test: its truth, or the exception."""
    try:
        return bool(eval(test, {"epoch": epoch, "step": step}))
    except (TypeError, ZeroDivisionError) as error:
        return type(error)


@given(TESTS, st.integers(-2, 8), st.booleans())
@settings(max_examples=600, deadline=None)
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_nothing_is_claimed_that_python_does_otherwise(test, epoch, is_known):
    known = {"epoch": epoch} if is_known else {}
    epochs = [epoch] if is_known else list(range(-2, 9))
    outcomes = {step: {outcome(test, e, step) for e in epochs} for step in STEPS}
    if not may_show(when((test,)), known):
        assert all(found == {False} for found in outcomes.values())
    last = last_showing(when((test,)), known, "step")
    if last is not None:
        assert all(found == {False} for step, found in outcomes.items() if step > last)
        assert all(type(one) is bool for found in outcomes.values() for one in found)


def test_an_elif_counts_where_all_before_it_are_false():
    both = when(("epoch == 1",), ("step == 5",))
    assert may_show(both, {"epoch": 1}) and may_show(both, {"epoch": 2})
    assert last_showing(both, {"epoch": 2}, "step") == 5
    assert last_showing(both, {"epoch": 1}, "step") is None
    assert not may_show(when(("epoch == 1",), ("epoch == 2",)), {"epoch": 3})


def test_an_elif_of_which_nothing_is_known_may_show():
    assert may_show(when(("epoch == 1",), ()), {"epoch": 2})
    assert last_showing(when(("step == 1",), ()), {}, "step") is None


def test_an_else_shows_where_all_tests_are_false():
    assert may_show(when(("epoch == 1",), otherwise=True), {"epoch": 2})
    assert last_showing(when(("step == 1",), otherwise=True), {}, "step") is None
