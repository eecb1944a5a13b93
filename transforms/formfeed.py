"""Form feeds alone on their lines: libcst drops them, so a comment stands in for each while it works."""

from __future__ import annotations

import re

_LONE = re.compile(rb"^[ \t]*\f[ \t\f]*(?=\r?$)", re.MULTILINE)
_STAND_IN = b"#_florc_form_feed"
_STANDING_IN = re.compile(rb"^[ \t]*" + _STAND_IN, re.MULTILINE)


def without_form_feeds(source: bytes) -> tuple[bytes, list[bytes]]:
    """Return ``source`` with a comment for each line that is only a form feed, and these lines.

    Inside a string it makes no difference either: what is put back is what was there.
    """
    if b"\f" not in source or _STAND_IN in source:
        return source, []
    return _LONE.sub(_STAND_IN, source), _LONE.findall(source)


def with_form_feeds(text: bytes, feeds: list[bytes]) -> bytes:
    """Put the lines back, in order."""
    waiting = iter(feeds)
    return _STANDING_IN.sub(lambda match: next(waiting), text) if feeds else text
