"""Access paths and abstract values: what a name may refer to, in the effect analysis.

A path is a tuple whose first element is a variable (`file::scope|name`), followed by attribute names and `[]`
for "some element of". It may end in a mark:

    ^   derived: a tensor computed from what the path means; `backward()` on it changes that one's `.grad`
    >   widened: changing the holder as a whole changes what the path means too (an optimizer and its model)
    »   stepped: changing the holder writes slots of what the path means (a scheduler and its optimizer)
    =   (effects only) the slot itself is written, not the object in it

In the table of stored references, `*` after a variable stands for any place inside it.
The empty path stands for a new object.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

Path = tuple[str, ...]
FRESH: Path = ()
DERIVED, WIDENED, STEPPED, SLOT, ELEMENT, ANYWHERE = "^", ">", "»", "=", "[]", "*"
MARKS = frozenset({DERIVED, WIDENED, STEPPED, SLOT})
MAX_SEGMENTS = 2
"""Longest path kept after its variable: deeper ones are cut to the object that contains them. Two is enough
for `self.trainer.model`, and keeps the number of paths over linked structures (attributes squared) small."""
MAX_PATHS = 16
"""Most paths in one value; beyond it all are cut to their variables. Training code stays below ten."""
MAX_EFFECTS = 12
"""Most paths under one variable that one function changes; beyond it the whole object is said to change."""
LEAVES = frozenset({"scalar", "const", "consts", "range"})
"""Kinds through which no gradient flows: numbers, tensors made from data, containers of such."""
IMMUTABLE = frozenset({"scalar", "writer"})
"""Kinds that an unknown callee cannot change, or whose change is output only."""


@dataclass(frozen=True)
class Value:
    """What an expression may be: the paths it may refer to and the kinds of thing it may be. No kind: not
    known yet."""

    paths: frozenset[Path] = frozenset()
    kinds: frozenset[str] = frozenset()

    def __or__(self, other: Value) -> Value:
        if other is self or (other.paths <= self.paths and other.kinds <= self.kinds):
            return self
        return Value(limited(self.paths | other.paths), self.kinds | other.kinds)

    def among(self, *kinds: str) -> bool:
        """Tell whether the value is known and can only be of these kinds."""
        return bool(self.kinds) and self.kinds <= set(kinds)


NOTHING = Value()
SCALAR = Value(frozenset(), frozenset({"scalar"}))
UNKNOWN = Value(frozenset({FRESH}), frozenset({"?"}))


def fresh(*kinds: str) -> Value:
    """Return a new object of these kinds."""
    return Value(frozenset({FRESH}), frozenset(kinds))


def join(values: Iterable[Value]) -> Value:
    """Return the least value that covers all."""
    result = NOTHING
    for value in values:
        result = result | value
    return result


def limited(paths: frozenset[Path]) -> frozenset[Path]:
    """Cut paths to their variables where there are too many of them."""
    if len(paths) <= MAX_PATHS:
        return paths
    return frozenset(
        p[:1] + p[-1:] if mark_of(p) and len(p) > 2 else p if mark_of(p) else p[:1] for p in paths
    )


def mark_of(path: Path) -> str:
    """Return the mark a path ends in, or ""."""
    return path[-1] if path and path[-1] in MARKS else ""


def unmarked(path: Path) -> Path:
    """Return the path without its mark."""
    return path[:-1] if mark_of(path) else path


def step(path: Path, segment: str) -> Path:
    """Return the path of an attribute or element: a marked or a long enough path stands for its parts too."""
    if not path or mark_of(path) or len(path) > MAX_SEGMENTS or path[-1] == segment == ELEMENT:
        return path
    return (*path, segment)


def derived(value: Value) -> frozenset[Path]:
    """Return the paths of a new tensor computed from `value`."""
    if value.among(*LEAVES):
        return frozenset()
    return frozenset(
        (*unmarked(p), DERIVED) for p in value.paths if p and mark_of(p) not in {WIDENED, STEPPED}
    )


def substituted(base: Path, rest: Path) -> Path:
    """Return what `variable + rest` refers to if the variable refers to `base` (reading)."""
    if not base or mark_of(base):
        return base
    for segment in rest:
        base = (*base, segment) if segment in MARKS else step(base, segment)
    return base


def redirected(base: Path, rest: Path) -> Path | None:
    """Return what is changed when `variable + rest` is changed and the variable refers to `base`; None:
    nothing."""
    if not base:
        return None
    effect, held = mark_of(rest), mark_of(base)
    if held == DERIVED:
        return base if effect == DERIVED else None
    if held == WIDENED:
        return None if effect == SLOT else unmarked(base)
    if held == STEPPED:
        return None if effect == SLOT else (*unmarked(base), ELEMENT, SLOT)
    return substituted(base, rest)


def outermost(effects: Iterable[Path]) -> frozenset[Path]:
    """Drop the effects that another one covers: a change of a whole object is one of its parts and its
    gradients."""
    every = set(effects)
    crowded = Counter(e[0] for e in every)
    every |= {(variable,) for variable, number in crowded.items() if number > MAX_EFFECTS}
    return frozenset(e for e in every if not any(e[:n] in every for n in range(1, len(e))))
