"""Iterators and generators: brought to where the record's stood, never made anew.

One is moved forward until it stands there. What a generator's variables hold is then set, and what its
loops run over is written in place (see Build in restore.py): under a replay's random numbers it would have
drawn something else on the way.
"""

from __future__ import annotations

import ctypes
import dis
import functools
import gc
import itertools
import operator
import os
import sys
import types
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from time import monotonic  # the real one, whatever stands in `time` later
from typing import TYPE_CHECKING, Any

from . import atoms, shown
from .errors import CannotRestore
from .kind import Kind
from .lost import Lost
from .roots import is_hidden

if TYPE_CHECKING:
    from .graph import Walk
    from .restore import Build


def held_by(obj: Any) -> list[Any]:
    """What an iterator or a suspended generator holds: its variables and what its loops run over.

    Of a tqdm bar's generator only the iterator beneath counts: the rest says when to draw next. zip and
    enumerate keep a tuple for reuse besides, with what they gave when nobody else held it: that is no state.
    """
    if type(obj) is zip:
        return list(obj.__reduce__()[1])
    if type(obj) is enumerate:
        return [obj.__reduce__()[1][0]]
    held = gc.get_referents(obj)
    if _shows_variables(obj):
        held = [item for item in held if item is not None]  # None stands for no error on its way
        if sys.version_info < (3, 13):
            snapshot = obj.gi_frame.f_locals  # a dict that Python keeps once somebody has looked
            shown.cleared(snapshot)
            held = [item for item in held if item is not snapshot]
    if sys.version_info < (3, 11) and isinstance(obj, types.GeneratorType):
        frame = obj.gi_frame  # what is in the frame hangs on the frame there
        around = (frame.f_globals, frame.f_builtins) if frame is not None else ()
        held = [item for item in gc.get_referents(frame) if not any(item is one for one in around)]
    if _is_bar(obj):
        return [item for item in held if hasattr(type(item), "__next__")]
    skipped = (types.CodeType, types.FunctionType, types.FrameType, type)
    return [item for item in held if not isinstance(item, skipped) and not _is_own(item)]


def _is_bar(obj: Any) -> bool:
    """True for the generator of a tqdm bar."""
    return isinstance(obj, types.GeneratorType) and f"{os.sep}tqdm{os.sep}" in obj.gi_code.co_filename


def _is_own(obj: Any) -> bool:
    """True for a guard: the frame of a generator in the middle of a guarded loop holds it."""
    return type(obj).__module__.startswith("florc.runtime.")


def position(obj: Any, depth: int = 8) -> Any:
    """Where an iterator or generator stands, as a nested tuple of plain values."""
    if depth == 0:
        return None
    if isinstance(obj, types.GeneratorType):
        frame = obj.gi_frame
        if frame is None:
            return ("ended",)
        held = held_by(obj)
        inner = [position(item, depth - 1) for item in held if type(item) not in atoms.PLAIN]
        # plain values are no part of it: its variables are put back once it stands there. Only where
        # something that it runs over does not tell how far it has come they stand for that
        if any(_is_vague(place) for place in inner if place is not None):
            inner = [position(item, depth - 1) for item in held]
        return (_place(frame), tuple(item for item in inner if item is not None))
    if type(obj) in atoms.PLAIN:
        return ("=", obj) if not isinstance(obj, (str, bytes)) or len(obj) < 64 else None
    if type(obj).__qualname__ in ITERATORS:
        hint = _index(obj)
        inner = [position(item, depth - 1) for item in gc.get_referents(obj)]
        return (type(obj).__qualname__, hint, tuple(item for item in inner if item is not None))
    return None


# (code file name, line) -> the recorded line; a replay puts its own here, since an edit moves lines
recorded_line: Callable[[str, int], int | None] | None = None


_YIELDS = 64  # that can be told apart on one line


def _place(frame: types.FrameType) -> int:
    """Where a generator's frame stands: its line, and which yield on it; marks make no difference to that."""
    line = recorded_line(frame.f_code.co_filename, frame.f_lineno) if recorded_line else None
    passed = [at for at, number in _yields(frame.f_code) if number == frame.f_lineno and at <= frame.f_lasti]
    return (frame.f_lineno if line is None else line) * _YIELDS + min(len(passed), _YIELDS - 1)


@functools.lru_cache(maxsize=256)
def _yields(code: types.CodeType) -> list[tuple[int, int]]:
    """Offset and line of each yield; a generator that has not begun is at none of them."""
    found, line = [], code.co_firstlineno
    lines = dict(dis.findlinestarts(code))
    for step in dis.get_instructions(code):
        line = lines.get(step.offset, line) or line
        if step.opname.startswith("YIELD"):
            found.append((step.offset, line))
    return found


def _is_vague(place: tuple[Any, ...]) -> bool:
    """True if a position is not known to differ from that of the same iterator some turns on."""
    if place[0] == "=" or place == ("ended",):
        return False
    if type(place[0]) is int:
        return any(map(_is_vague, place[1]))
    return any(map(_is_vague, place[2])) or (place[1] in (None, ()) and not place[2])


def _shows_variables(obj: Any) -> bool:
    """True for a suspended generator; not where it asks for its locals(), which a look would change."""
    if not isinstance(obj, types.GeneratorType) or obj.gi_frame is None or obj.gi_running or _is_bar(obj):
        return False
    return not {"locals", "vars"}.intersection(obj.gi_code.co_names)


def variables(obj: Any) -> dict[str, Any]:
    """The variables of a suspended generator: not its cells, which are objects of their own, nor florc's."""
    if not _shows_variables(obj):
        return {}
    code = obj.gi_code
    own = set(code.co_varnames).difference(code.co_cellvars)
    names = obj.gi_frame.f_locals
    found = {name: names[name] for name in sorted(own) if name in names and not is_hidden(name)}
    if sys.version_info < (3, 13):
        shown.cleared(names)
    return found


def set_variables(obj: Any, values: dict[str, Any]) -> None:
    """Give a suspended generator's variables these values; others of its own become unbound."""
    if not _shows_variables(obj):
        return
    frame = obj.gi_frame
    gone = variables(obj).keys() - values.keys()
    names = frame.f_locals
    names.update(values)
    if sys.version_info < (3, 13):  # later ones write through, and unbind nothing
        for name in gone:
            del names[name]
        ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(1))
        shown.cleared(names)


def _but_lists(place: Any) -> Any:
    """A position, less how far the list iterators in it have come."""
    if place is None or place[0] == "=" or place == ("ended",):
        return place
    if type(place[0]) is int:
        return place[0], tuple(map(_but_lists, place[1]))
    hint = None if place[0] == "list_iterator" else place[1]
    return place[0], hint, tuple(map(_but_lists, place[2]))


_LIST_ITERATOR: Any = type(iter([]))


def set_lists(obj: Any, wanted: Any) -> None:
    """Set what runs over lists, in an iterator that stands where it is to stand, forward or back.

    One that has come to its end stays there. Whether the lists are the record's, the comparison tells.
    """
    if isinstance(obj, _LIST_ITERATOR):
        here = operator.length_hint(obj)
        if wanted[0] == "list_iterator" and here != wanted[1]:
            items = obj.__reduce__()[1][0]
            if wanted[1] <= len(items):
                obj.__setstate__(len(items) - wanted[1])
    elif isinstance(obj, types.GeneratorType):
        if obj.gi_frame is not None and wanted[0] == _place(obj.gi_frame):
            _set_inner(held_by(obj), wanted[1])
    elif type(obj).__qualname__ in ITERATORS and wanted[0] == type(obj).__qualname__:
        _set_inner(gc.get_referents(obj), wanted[2])


def _set_inner(items: list[Any], wanted: tuple[Any, ...]) -> None:
    """Set these, as far as they have a position; plain values have theirs in vain."""
    placed = [item for item in items if type(item) not in atoms.PLAIN and position(item) is not None]
    for item, place in zip(placed, [place for place in wanted if place[0] != "="], strict=False):
        set_lists(item, place)


def _index(obj: Any) -> Any:
    """How far a built-in iterator has come, as it tells itself."""
    if type(obj) is itertools.cycle:
        return _turn(obj)
    hint = operator.length_hint(obj, -1)
    if hint >= 0:
        return hint
    try:
        reduced = obj.__reduce__()
    except TypeError:
        return None
    return tuple(part for part in reduced[1:] if type(part) is int) + tuple(
        part for part in reduced[1] if type(part) is int
    )


def _turn(obj: Any) -> Any:
    """Where an itertools.cycle stands: in its first pass, or at which of what it has saved."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            parts = obj.__reduce__()
            inner = parts[1][0].__reduce__()
        except (TypeError, IndexError, AttributeError):
            return None
    state = [len(part) if isinstance(part, (list, tuple)) else part for part in parts[2]]
    return (*state, *(part for part in inner[1:] if type(part) is int), operator.length_hint(parts[1][0], -1))


ITERATORS = frozenset(
    {
        "list_iterator",
        "list_reverseiterator",
        "tuple_iterator",
        "range_iterator",
        "longrange_iterator",
        "str_iterator",
        "str_ascii_iterator",
        "bytes_iterator",
        "bytearray_iterator",
        "dict_keyiterator",
        "dict_valueiterator",
        "dict_itemiterator",
        "set_iterator",
        "iterator",
        "enumerate",
        "zip",
        "map",
        "filter",
        "reversed",
        "callable_iterator",
        "count",
        "cycle",
        "repeat",
        "islice",
        "chain",
        "starmap",
        "accumulate",
        "takewhile",
        "dropwhile",
        "product",
        "permutations",
        "combinations",
        "batched",
        "pairwise",
        "generator",
    }
)
# next() calls, and seconds, before an iterator is given up: an endless one may never come to the place
MAX_ADVANCE, MAX_ADVANCE_SECONDS = 1_000_000, 20.0
MAX_RETURNS = 100  # to one place: then it goes round in a circle (places do not show all of an iterator)
# around the calls: a replay lets nothing out that the iterator writes on its way
quietly: Callable[[], AbstractContextManager[None]] = nullcontext


class Iterator(Kind):
    """Generators and iterators: put back by moving the live one forward, never made anew.

    What a generator's variables hold is then set. What it holds besides, a list that its loop runs over or
    a loader's iterator, is written in place, as far as that can be done (see Build).
    """

    tag = "iterator"

    def read(self, obj: Any, walk: Walk) -> tuple[Any, ...]:
        if walk.current >= walk.first_new and not walk.hangs_on(Iterator):
            walk.lost.append((walk.current, f"a {type(obj).__name__} that was started in the loop"))
        refs = [walk.ref(item, ("r", i)) for i, item in enumerate(held_by(obj))]
        names = [(name, walk.ref(value, ("v", name))) for name, value in variables(obj).items()]
        return (self.tag, type(obj).__qualname__, position(obj), refs, names)

    def follow(self, holder: Any, edge: Any) -> Any:
        return variables(holder)[edge[1]] if edge[0] == "v" else held_by(holder)[edge[1]]

    def make(self, content: Any, build: Build) -> Any:
        return Lost(f"a {content[1]} that was started in the loop")

    def write(self, obj: Any, content: Any, build: Build) -> None:
        """Set a generator's variables: `advance` has moved it before anything is written."""
        set_variables(obj, {name: build.get(ref) for name, ref in content[4]})

    @staticmethod
    def advance(obj: Any, wanted: Any) -> None:
        """Call next() until the iterator stands where the record's stood.

        One that comes back to the same place again and again never gets there: its `send` was called, say.
        """
        until = monotonic() + MAX_ADVANCE_SECONDS
        mark, returns = None, 0
        with quietly():
            for turn in range(MAX_ADVANCE):
                now = position(obj)
                if now != wanted and _but_lists(now) == _but_lists(wanted):
                    set_lists(obj, wanted)
                    now = position(obj)
                if now == wanted:
                    return
                returns += now == mark
                if returns > MAX_RETURNS:
                    break
                if turn & (turn - 1) == 0:  # at each power of two: sooner or later inside any circle
                    mark = now
                try:
                    next(obj)
                except StopIteration:
                    break
                if turn % 64 == 0 and monotonic() > until:
                    break
            if position(obj) != wanted:
                raise CannotRestore(f"a {type(obj).__qualname__} cannot be brought to where it stood")
