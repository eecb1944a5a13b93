"""Draws from the operating system's entropy go through the session, and can be given again."""

from __future__ import annotations

import os
import random
import secrets
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from florc.runtime.entropy import Entropy

DRAWS: dict[str, Callable[[], Any]] = {
    "os.urandom": lambda: os.urandom(7),
    "uuid4": lambda: uuid.uuid4(),
    "secrets": lambda: secrets.token_hex(9),
    "SystemRandom": lambda: random.SystemRandom().random(),
    "Random()": lambda: random.Random().random(),
    "Random.seed()": lambda: _seeded(random.Random(3)),
    "random.seed()": lambda: (random.seed(), random.random()),
    "random.seed(None)": lambda: (random.seed(None), random.random()),
}


def _seeded(generator: random.Random) -> float:
    generator.seed()
    return generator.random()


class Tape:
    """Journals the draws, then gives them again."""

    def __init__(self) -> None:
        self.journal: list[tuple[str, Any]] = []
        self.again: list[tuple[str, Any]] | None = None

    def read(self, name: str, value: Any, frame: Any) -> Any:
        if self.again is None:
            self.journal.append((name, value))
            return value
        noted, recorded = self.again.pop(0)
        assert noted == name
        return recorded

    def rewind(self) -> None:
        self.again = list(self.journal)


@pytest.fixture
def tape() -> Iterator[Tape]:
    found, before = Tape(), random.getstate()
    entropy = Entropy(found.read)
    entropy.install()
    try:
        yield found
    finally:
        entropy.remove()
        random.setstate(before)


@pytest.mark.parametrize("name", DRAWS)
def test_a_draw_is_journalled_and_given_again(tape, name):
    first = DRAWS[name]()
    assert tape.journal
    assert DRAWS[name]() != first
    tape.rewind()
    assert DRAWS[name]() == first


def test_numpy_and_torch_that_seed_themselves_are_journalled_and_given_again():
    np, torch = pytest.importorskip("numpy"), pytest.importorskip("torch")
    np.random.default_rng()  # numpy.random is imported on first use, and seeds a generator of its own then
    tape, before, state = Tape(), random.getstate(), torch.get_rng_state()
    entropy = Entropy(tape.read)
    entropy.install()
    entropy.on_torch(torch)
    try:

        def draw() -> Any:
            return np.random.default_rng().random(), torch.seed(), torch.rand(1).item(), torch.random.seed()

        first = draw()
        tape.rewind()
        assert draw() == first
    finally:
        entropy.remove()
        random.setstate(before)
        torch.set_rng_state(state)


def test_what_is_seeded_is_left_alone(tape):
    random.seed(5)
    values = random.random(), random.Random(7).random()
    assert tape.journal == []
    assert values == (random.Random(5).random(), random.Random(7).random())


def test_everything_is_put_back():
    before = os.urandom, random.Random.seed, random.seed, vars(random)["_urandom"]
    entropy = Entropy(lambda name, value, frame: value)
    entropy.install()
    assert os.urandom is not before[0]
    entropy.remove()
    assert (os.urandom, random.Random.seed, random.seed, vars(random)["_urandom"]) == before
