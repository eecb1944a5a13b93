"""What a printed line says of a condition: its last word, read as a truth value or a number. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

Place = tuple[str, int]

NOTHING = "nothing"

_TENSOR = re.compile(r"tensor\(([^()]*?)(?:,\s*\w+=.*)?\)$", re.DOTALL)  # tensor(nan, grad_fn=<...>)
_EDGES = "()[]{}<>,;:=.'\""  # around a word; a number may end in a point


@dataclass(frozen=True)
class Line:
    """A line that an added statement has printed: where it stands, in which stream it went."""

    place: Place
    text: str
    fd: int = 1

    @property
    def word(self) -> str:
        """Its last word, a tensor's value without its surroundings."""
        text = self.text.rstrip()
        tensor = _TENSOR.search(text)
        words = (tensor[1] if tensor else text).split()
        return words[-1].strip(_EDGES) if words else ""


def truth(word: str) -> str:
    """The same for words that say the same of a condition.

    `True` and `False`; of numbers whether they are not a number, infinite, zero or something else; any other
    word stands for itself.
    """
    try:
        value = float(word)
    except ValueError:
        return word
    if math.isnan(value):
        return "not a number"
    if math.isinf(value):
        return "infinite"
    return "a number" if value else "zero"


def at_first(lines: Iterable[Line]) -> dict[Place, str]:
    """What each added statement said first."""
    found: dict[Place, str] = {}
    for line in lines:
        found.setdefault(line.place, line.word)
    return found


def turned(lines: Iterable[Line], before: Mapping[Place, str]) -> Line | None:
    """The first line that says something else than its statement did before; None if there is none.

    A statement that had said nothing and now does has turned; one that now says nothing has not.
    """
    return next((line for line in lines if _says_else(line, before)), None)


def _says_else(line: Line, before: Mapping[Place, str]) -> bool:
    return line.place not in before or truth(line.word) != truth(before[line.place])
