"""The shapes of the journal's events: what a replay may rely on, whoever wrote the journal.

A run that was imported with --trust is believed in what it recorded. That its names stay names (a path
that cannot climb out of an overlay, a hash that is no path, a number that is one) is looked at here, once,
so that nothing behind this door has to ask. Tags that are not known, and fields beyond these, pass.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

Check = Callable[[Any], bool]

MAX_SIZE = 1 << 62  # bytes or nanoseconds: more than any file system has, less than an int64 overflows at
_KEY = re.compile(r"[0-9a-f]{32}")
MIN_SEED, MAX_SEED = -(1 << 63), (1 << 64) - 1  # what torch.manual_seed takes
_STATE_PARTS = {"random": 3, "numpy": 5}
_GENERATOR_WORDS = 624  # state words of the Mersenne twister


def loads(line: bytes) -> list[Any]:
    """An event from its line. ValueError if it is none."""
    try:
        event = json.loads(line.decode("utf-8", "surrogatepass"))
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(event, list) or not event or not isinstance(event[0], str):
        raise ValueError("no event")
    wanted = _SHAPES.get(event[0], ())
    known = (*wanted, *_LATER.get(event[0], ()))
    if len(event) <= len(wanted) or not all(
        check(part) for check, part in zip(known, event[1:], strict=False)
    ):
        raise ValueError(f"an event {event[0]!r} of a wrong shape")
    if event[0] == "R" and not _start_state(event[1], event[2]):
        raise ValueError(f"a state of {event[1]!r} of a wrong shape")
    return event


def _text(value: Any) -> bool:
    return type(value) is str


def _name(value: Any) -> bool:
    return type(value) is str and "\0" not in value


def _target(value: Any) -> bool:
    """What a symbolic link may hold."""
    return _name(value) and bool(value)


def _int(value: Any) -> bool:
    return type(value) is int and -MAX_SIZE < value < MAX_SIZE


def _count(value: Any) -> bool:
    return type(value) is int and 0 <= value < MAX_SIZE


def _number(value: Any) -> bool:
    return type(value) in (int, float)


def _reading(value: Any) -> bool:
    """Of a clock, or what was drawn from the system's entropy, in hexadecimal digits."""
    return _number(value) or (type(value) is str and value.isalnum()) or value == ""


def _seconds(value: Any) -> bool:
    """A length of time, not NaN."""
    return _number(value) and 0 <= value < MAX_SIZE


def _bool(value: Any) -> bool:
    return type(value) is bool


def _dict(value: Any) -> bool:
    return type(value) is dict


def _maybe_count(value: Any) -> bool:
    return value is None or _count(value)


def _key(value: Any) -> bool:
    """The name of a blob."""
    return type(value) is str and _KEY.fullmatch(value) is not None


def _maybe_key(value: Any) -> bool:
    return value is None or _key(value)


def _ckpt(value: Any) -> bool:
    """A checkpoint's blobs, or none."""
    return value is None or (type(value) is list and len(value) == 3 and all(map(_key, value)))


def _hashes(value: Any) -> bool:
    """A checkpoint's blobs."""
    return value is not None and _ckpt(value)


def _regions(value: Any) -> bool:
    return type(value) is dict and all(type(part) is list and all(map(_int, part)) for part in value.values())


def _numbers(value: Any) -> bool:
    """Line numbers in a text: a flag, or the text parted at them."""
    return type(value) in (int, bool) or (
        type(value) is list and len(value) % 2 == 1 and all(map(_text, value))
    )


def _bytes(value: Any) -> bool:
    """One character a byte."""
    return type(value) is str and (value.isascii() or max(value) <= "\xff")


def _holders(value: Any) -> bool:
    """Keys of library modules and classes."""
    return type(value) is list and all(_name(key) and key.startswith("~") for key in value)


def _figures(value: Any) -> bool:
    """What a recording kept (see figures.py)."""
    if type(value) is not dict or not (_count(value.get("logical")) and _count(value.get("written"))):
        return False
    loops, stalls = value.get("loops"), value.get("stalls", {})
    return (
        _number(value.get("spent"))
        and type(loops) is dict
        and all(map(_chances, loops.values()))
        and type(stalls) is dict
        and all(map(_stalls, stalls.values()))
    )


def _stalls(value: Any) -> bool:
    return type(value) is list and len(value) == 2 and all(map(_seconds, value))


def _chances(value: Any) -> bool:
    return type(value) is dict and all(
        _count(value.get(name)) for name in ("taken", "refused", "behind", "blind")
    )


def _words(value: Any, count: int) -> bool:
    return type(value) is list and len(value) == count and all(map(_int, value))


def _start_state(which: str, value: Any) -> bool:
    """Where a generator stood when the program began: of torch's the seed, of the others all of it."""
    if which == "torch":
        return type(value) is int and MIN_SEED <= value <= MAX_SEED
    if which not in _STATE_PARTS:
        return True  # of a library that this version does not know
    return type(value) is list and len(value) == _STATE_PARTS[which] and _generator(which, value)


def _generator(which: str, value: list[Any]) -> bool:
    """The state of Python's or NumPy's generator: its words are followed by its place."""
    if which == "random":
        version, words, gauss = value
        return _int(version) and _words(words, _GENERATOR_WORDS + 1) and (gauss is None or _number(gauss))
    name, words, place, has_gauss, gauss = value
    return (
        name == "MT19937"
        and _words(words, _GENERATOR_WORDS)
        and _count(place)
        and place <= _GENERATOR_WORDS
        and _int(has_gauss)
        and _number(gauss)
    )


def is_path(value: Any) -> bool:
    """An absolute path with nothing in it that leads elsewhere; not the root, which nobody makes or moves."""
    if type(value) is not str or not value.startswith("/") or "\0" in value:
        return False
    return all(part not in ("", ".", "..") for part in value[1:].split("/"))


def _file(value: Any) -> bool:
    """A file event (see files.py)."""
    if type(value) is not list or not value or type(value[0]) is not str:
        return False
    wanted = _FILE_SHAPES.get(value[0])
    if wanted is None or len(value) <= len(wanted):
        return False
    if not all(check(part) for check, part in zip(wanted, value[1:], strict=False)):
        return False
    if value[0] == "prior" and value[3] == "link" and not value[5]:
        return False
    return value[0] != "rename" or not f"{value[2]}/".startswith(f"{value[1]}/")


_FILE_SHAPES: dict[str, tuple[Check, ...]] = {
    "prior": (is_path, _bool, _text, _maybe_key, _name, _int),
    "write": (is_path, _count, _count),
    "read": (is_path, _count, _maybe_key, _text, _count, _int),
    "input": (is_path, _count, _int),
    "mkdir": (is_path,),
    "remove": (is_path,),
    "rename": (is_path, is_path),
    "symlink": (is_path, _target),
    "link": (is_path, is_path),
    "opaque": (is_path,),
    "left": (is_path, _count, _int),
}

def _plain(value: Any) -> bool:
    """What JSON holds: it is shown, and never more."""
    return True


def _context(value: Any) -> bool:
    """Columns with their values."""
    return type(value) is list and all(
        type(pair) is list and len(pair) == 2 and _text(pair[0]) and type(pair[1]) in (bool, int, float, str)
        for pair in value
    )


# name, value, what the value was, context
_VALUE: tuple[Check, ...] = (_text, _plain, _text, _context)


def is_replay(event: Any) -> bool:
    """True for a replay in a file of answers (see answers.py)."""
    return _fits(event, "r", (_text, _text, _bool))


def is_answer(event: Any) -> bool:
    """True for a value in a file of answers."""
    return _fits(event, "a", (_text, _count, _name, _int, *_VALUE))


def _fits(event: Any, tag: str, wanted: tuple[Check, ...]) -> bool:
    if type(event) is not list or len(event) <= len(wanted) or event[0] != tag:
        return False
    return all(check(part) for check, part in zip(wanted, event[1:], strict=False))


_SHAPES: dict[str, tuple[Check, ...]] = {
    "L": (_text,),
    "B": (_key,),
    "I": (_int, _dict, _ckpt, _int),
    "C": (_count, _hashes),
    "X": (_text, _number, _ckpt, _int),
    "Z": (_text,),
    "H": (_int, _regions),
    "F": (_regions,),
    "w": (_int, _name, _int, _text, _numbers),
    "v": (_name, _int, *_VALUE),
    "M": (_name, _name, _name, _bytes),
    "R": (_text, lambda value: True),  # see _start_state
    "c": (_text, _reading, _text),
    "f": (_file,),
    "stop": (_text,),
    "Q": (_text,),
    "D": (_count,),
    "A": (_holders,),
    "n": (_text,),
    "E": (_int, _bool, _count),
}

# fields that earlier recordings did not write
_LATER: dict[str, tuple[Check, ...]] = {
    "L": (_dict, _seconds),
    "I": (_seconds,),
    "E": (_figures, _maybe_count, _seconds),
}
