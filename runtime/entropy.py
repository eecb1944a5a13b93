"""The operating system's entropy as the recorded run drew it.

Programs that never seed, uuid4, secrets, ``default_rng()`` and ``random.Random()`` all draw from it. Like
readings of the clock, the main thread's draws are journalled, with who drew, and a replay gives them again.
"""

from __future__ import annotations

import functools
import os
import random
import sys
import threading
from collections.abc import Callable
from typing import Any

from .patches import Patches

SEED_BYTES = 32  # drawn for a generator that is seeded with None; more than any of them holds apart


class Entropy:
    """Stands in os.urandom and in what seeds generators from C.

    Args:
        read: gets a name, the real value and the drawer's frame; returns what the drawer gets.
    """

    def __init__(self, read: Callable[[str, Any, Any], Any]) -> None:
        self._read = read
        self._thread = threading.get_ident()
        self._patches = Patches()
        self._urandom = os.urandom

    def install(self) -> None:
        """Begin to journal, or to give again."""
        urandom = self._stand_in()
        self._patches.put(os, "urandom", urandom)
        self._patches.put(random, "_urandom", urandom)  # SystemRandom's, and so that of secrets
        seed = random.Random.seed
        self._patches.put(random.Random, "seed", self._seeding(seed))
        hidden = getattr(random.seed, "__self__", None)  # the generator behind the module's functions
        if isinstance(hidden, random.Random):
            self._patches.put(random, "seed", functools.partial(random.Random.seed, hidden))

    def on_torch(self, torch: Any) -> None:
        """torch.seed() draws in C++: what it drew is journalled, and set again."""
        original, read = torch.random.seed, self._mine

        @functools.wraps(original)
        def seed() -> int:
            drawn: int = original()
            given: int = read("torch.seed", drawn, sys._getframe(1))
            if given != drawn:
                torch.manual_seed(given)
            return given

        self._patches.put(torch.random, "seed", seed)
        self._patches.put(torch, "seed", seed)

    def remove(self) -> None:
        self._patches.undo()

    def _mine(self, name: str, value: Any, frame: Any) -> Any:
        return self._read(name, value, frame) if threading.get_ident() == self._thread else value

    def _draw(self, size: int, frame: Any) -> bytes:
        drawn = self._urandom(size)
        given = bytes.fromhex(self._mine("urandom", drawn.hex(), frame))
        return given if len(given) == size else drawn

    def _stand_in(self) -> Callable[[int], bytes]:
        @functools.wraps(self._urandom)
        def urandom(size: int, /) -> bytes:
            return self._draw(size, sys._getframe(1))

        return urandom

    def _seeding(self, original: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(original)
        def seed(self_: random.Random, a: Any = None, version: int = 2) -> None:
            if a is None:
                a = int.from_bytes(self._draw(SEED_BYTES, sys._getframe(1)), "big")
            original(self_, a, version)

        return seed
