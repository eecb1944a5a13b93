"""What was made of sources, kept in the store: unchanged ones are neither transformed nor matched again."""

from __future__ import annotations

import functools
import hashlib
import hmac
import marshal
import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import CodeType

from . import __version__
from .runtime import private
from .runtime.key import Key

FOLDER = "cache"
SUFFIX = ".code"
# a project of a few hundred modules stays whole; beyond it the entries used longest ago go
MAX_ENTRIES = 1024
UNUSED_SECONDS = 30 * 24 * 3600  # `florc runs gc` removes what no run has used for so long
_ASIDE_SECONDS = 24 * 3600  # an entry is written within moments; what is older a kill has left half-written
_DIGEST_SIZE = 16


class Cache:
    """A folder of entries, named by a hash of everything they depend on.

    Reading trusts nothing: an entry that this key has not signed, under this name, is no entry. Failing to
    write is no error. With a key that is not kept, nothing is.
    """

    def __init__(self, store: Path, key: Key) -> None:
        self._folder = store / FOLDER
        self._secret = key.derive(b"cache") if key.kept else None

    def _mac(self, name: str, payload: bytes) -> bytes:
        """What stands before an entry: no one without the key can make it, for no other name."""
        made = hashlib.blake2b(name.encode("ascii"), key=self._secret or b"", digest_size=_DIGEST_SIZE)
        made.update(payload)
        return made.digest()

    def key(self, *parts: str | bytes) -> str:
        """The name of the entry that depends on these parts, and on the versions of what makes entries."""
        digest = hashlib.blake2b(digest_size=_DIGEST_SIZE)
        python = f"{sys.implementation.cache_tag} {sys.hexversion} {sys.flags.optimize}"
        for part in (python, __version__, _transforms_state(), *parts):
            data = part.encode("utf-8", "surrogateescape") if isinstance(part, str) else part
            digest.update(b"%d " % len(data) + data)
        return digest.hexdigest()

    def read(self, key: str) -> bytes | None:
        """What is kept under `key`, None if there is nothing that can be trusted."""
        path = self._folder / (key + SUFFIX)
        if self._secret is None:
            return None
        try:
            data = path.read_bytes()
            digest, payload = data[:_DIGEST_SIZE], data[_DIGEST_SIZE:]
            if not hmac.compare_digest(self._mac(key, payload), digest):
                return None
            os.utime(path)
        except OSError:
            return None
        return payload

    def write(self, key: str, payload: bytes) -> None:
        """Keep a payload under `key`, if the store lets us."""
        if self._secret is None:
            return
        try:
            private.make_folder(self._folder.parent)
            private.make_folder(self._folder)
            private.write(self._folder / (key + SUFFIX), self._mac(key, payload) + payload)
            self._forget_oldest()
        except OSError:
            pass  # it is only made again the next time

    def _forget_oldest(self) -> None:
        entries = list(self._folder.glob("*" + SUFFIX))
        if len(entries) > MAX_ENTRIES:
            entries.sort(key=lambda entry: entry.stat().st_mtime)
            for entry in entries[: len(entries) - MAX_ENTRIES]:
                entry.unlink(missing_ok=True)


class CodeCache(Cache):
    """Entries that are code objects."""

    def get(self, key: str) -> CodeType | None:
        """The code kept under `key`, None if there is none that can be trusted."""
        payload = self.read(key)
        try:  # marshal crashes the interpreter on damaged bytes, and runs what others made: these are signed
            code = None if payload is None else marshal.loads(payload)
        except (EOFError, ValueError, TypeError):
            return None
        return code if isinstance(code, CodeType) else None

    def put(self, key: str, code: CodeType) -> None:
        """Keep `code` under `key`, if the store lets us."""
        with suppress(ValueError):
            self.write(key, marshal.dumps(code))


def stale(store: Path) -> list[Path]:
    """The entries of a store's cache that are hardly used any more: of edited sources, of other versions."""
    found = []
    for entry in sorted((store / FOLDER).glob("*" + SUFFIX + "*")):
        with suppress(OSError):
            limit = UNUSED_SECONDS if entry.name.endswith(SUFFIX) else _ASIDE_SECONDS
            if time.time() - entry.lstat().st_mtime > limit:
                found.append(entry)
    return found


@functools.cache
def _transforms_state() -> str:
    """A fingerprint of the compiler's own files: an edited or upgraded pass makes other code."""
    folder = Path(__file__).parent / "transforms"
    states = (
        f"{entry.name} {entry.stat().st_size} {entry.stat().st_mtime_ns}" for entry in folder.glob("*.py")
    )
    return "\n".join(sorted(states))
