"""Writing a replay's text, and going on where an earlier attempt had stopped.

A replay that finds it cannot put a state back exactly starts again in a new process image, without the
checkpoints it suspects; if that fails several times, or again at the same loop, skipping nothing. What an
earlier attempt had printed is not printed twice: the new one leaves out as many characters, and checks that
they are the same.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import xxhash

VARIABLE = "FLORC_REPLAY_AGAIN"  # what an earlier attempt hands to the next
ATTEMPTS = 3  # that use checkpoints; then one that skips nothing


def printed_before(environment: Mapping[str, str]) -> bool:
    """True if this is not the first attempt, and an earlier one has printed something."""
    return bool((json.loads(environment.get(VARIABLE, "null")) or {}).get("chars"))


class Emitter:
    """Gives text to the real streams.

    Attributes:
        reason: why the attempt before this one gave up, in words; "" in the first.
        banned: loops whose states earlier attempts suspect.
        scratch: nothing is to be skipped any more.
        right: what the attempts before this one have printed was the same, as far as they got.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        handed = json.loads(environment.get(VARIABLE, "null")) or {}
        os.environ.pop(VARIABLE, None)
        self.reason: str = handed.get("reason", "")
        self.banned: list[str] = handed.get("banned", [])
        self.scratch: bool = handed.get("scratch", False)
        self._printed: int = handed.get("chars", 0)  # by earlier attempts
        self._digest: str = handed.get("digest", "")
        self.right: bool = handed.get("right", True)  # all attempts so far have printed the same
        self.writers: dict[int, Callable[[str], Any]] = {}
        self.before: Callable[[int, str], None] = lambda fd, text: None  # told of what is about to be written
        self._chars = 0
        self._hash = xxhash.xxh3_128()
        self.muted = False
        self._one_at_a_time = threading.RLock()  # a signal's handler may write while its thread does

    def __call__(self, fd: int, text: str) -> None:
        if self.muted or fd not in self.writers:
            return
        with self._one_at_a_time:
            self._write(fd, text)

    def _write(self, fd: int, text: str) -> None:
        if fd == 1:
            text = self._not_yet(text)
        if text:
            self.before(fd, text)
            self.writers[fd](text)

    def _not_yet(self, text: str) -> str:
        """What of the text the earlier attempts had not printed."""
        left = max(self._printed - self._chars, 0)
        seen, rest = text[:left], text[left:]
        self._count(seen)
        if left and self._chars == self._printed:
            self.right = self.right and self._hash.hexdigest() == self._digest
        self._count(rest)
        return rest

    def _count(self, text: str) -> None:
        self._chars += len(text)
        self._hash.update(text.encode("utf-8", "surrogatepass"))

    def finish(self) -> bool:
        """True if what earlier attempts had printed was right."""
        return self.right and self._chars >= self._printed

    def hand_over(self, reason: str, suspect: str) -> dict[str, Any]:
        """What the next attempt needs to know."""
        banned = [*self.banned, suspect]
        hopeless = not suspect or suspect in self.banned or reason == self.reason or len(banned) >= ATTEMPTS
        if self._chars >= self._printed:
            printed, digest = self._chars, self._hash.hexdigest()
        else:
            printed, digest = self._printed, self._digest
        text = {"chars": printed, "digest": digest, "right": self.right}
        return {"reason": reason, "banned": banned, "scratch": hopeless, **text}


def restart(handed: dict[str, Any], environment: dict[str, str], folder: str) -> NoReturn:
    """Run the same command again in this process, from the beginning."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    os.chdir(folder)
    variables = {**environment, VARIABLE: json.dumps(handed)}
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], variables)
