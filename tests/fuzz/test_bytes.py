"""What reads bytes raises nothing but what it declares: real inputs, damaged. `make fuzz-bytes` goes on."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from .byte_targets import TARGETS, edited, seeds

EXAMPLES = {"source": 15, "edit": 25}  # they compile whole programs
MANY = 100
FIXED_SEED = 4
SLICE = 60  # bytes that one step of damage moves at most
FEW = 4  # of the seeds that are dear


@st.composite
def damaged(draw: st.DrawFn, target: str) -> bytes:
    """A real input with bytes flipped, cut, doubled and put in."""
    data = bytearray(draw(st.sampled_from(seeds(target))))
    for _ in range(draw(st.integers(0, 6))):
        at = draw(st.integers(0, len(data)))
        step = draw(st.integers(0, 3))
        if step == 0 and data:
            data[at % len(data)] = draw(st.integers(0, 255))
        elif step == 1:
            del data[at : at + draw(st.integers(1, SLICE))]
        elif step == 2:
            data[at:at] = data[at : at + draw(st.integers(1, SLICE))]
        else:
            data[at:at] = draw(st.binary(max_size=8))
    return bytes(data)


@pytest.mark.parametrize("target", TARGETS)
def test_real_inputs_are_read(target: str) -> None:
    given_inputs = seeds(target)
    assert given_inputs
    for data in given_inputs[:FEW]:
        TARGETS[target](data)


@pytest.mark.parametrize("target", TARGETS)
def test_damaged_inputs_raise_nothing_that_is_not_declared(target: str) -> None:
    @seed(FIXED_SEED)
    @settings(max_examples=EXAMPLES.get(target, MANY), deadline=None, database=None,
              suppress_health_check=list(HealthCheck))
    @given(data=st.binary(max_size=40) if target == "edit" else damaged(target))
    def run(data: bytes) -> None:
        TARGETS[target](data)

    run()


def test_an_edit_of_nothing_is_the_program_itself() -> None:
    old, new = edited(b"\x03")
    assert old == new
    assert edited(b"\x03\x01\x00\x05")[1] != old
