"""Writing a replay's text, and going on where an earlier attempt had stopped.

A replay that finds it cannot put a state back exactly starts again in a new process image, skipping
nothing. What the first attempt had printed is not printed twice: the new one leaves out as many
characters, and checks that they are the same.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import xxhash

VARIABLE = "FLORC_REPLAY_AGAIN"  # what an earlier attempt hands to the next


class Emitter:
    """Gives text to the real streams."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        handed = json.loads(environment.get(VARIABLE, "null"))
        os.environ.pop(VARIABLE, None)
        self.again = handed is not None
        self.reason: str = handed["reason"] if handed else ""
        self._left: int = handed["chars"] if handed else 0
        self._digest: str = handed["digest"] if handed else ""
        self._before = xxhash.xxh3_128()
        self.writers: dict[int, Callable[[str], Any]] = {}
        self.chars = 0
        self.hash = xxhash.xxh3_128()
        self.muted = False

    def __call__(self, fd: int, text: str) -> None:
        if self.muted or fd not in self.writers:
            return
        if fd == 1:
            text = self._not_yet(text)
            self.chars += len(text)
            self.hash.update(text.encode("utf-8", "surrogatepass"))
        if text:
            self.writers[fd](text)

    def _not_yet(self, text: str) -> str:
        """What of the text the earlier attempt had not printed."""
        if not self._left:
            return text
        seen, rest = text[: self._left], text[self._left :]
        self._left -= len(seen)
        self._before.update(seen.encode("utf-8", "surrogatepass"))
        return rest

    def finish(self) -> bool:
        """True if what an earlier attempt had printed was right."""
        return not self.again or (not self._left and self._before.hexdigest() == self._digest)


def restart(emitter: Emitter, reason: str, environment: dict[str, str], folder: str) -> NoReturn:
    """Run the same command again in this process, from the beginning."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    handed = {"reason": reason, "chars": emitter.chars, "digest": emitter.hash.hexdigest()}
    os.chdir(folder)
    os.execve(
        sys.executable, [sys.executable, *sys.orig_argv[1:]], {**environment, VARIABLE: json.dumps(handed)}
    )
