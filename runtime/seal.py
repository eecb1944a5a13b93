"""The seal of one run: keyed hashes by which its reader knows that this user wrote it, and wrote it so.

Each run has a key of its own, derived from the user's and a salt in its description: nothing that is
moved from one run to another fits there. blake2b is keyed by design, so a hash is a MAC.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from typing import Any

import xxhash

from .key import Key

SALT_SIZE = 16  # bytes: no two runs draw the same
MAC_SIZE = 16  # bytes: forging one takes 2**128 trials
MAC_CHARS = 2 * MAC_SIZE


class Seal:
    """Makes the MACs of one run."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    @classmethod
    def of(cls, key: Key, salt: str) -> Seal:
        """The seal of the run with this salt."""
        return cls(key.derive(b"run " + salt.encode("utf-8", "surrogatepass")))

    def journal(self) -> hashlib.blake2b:
        """What the journal's bytes are fed to; its digest after a batch is the MAC of all up to there."""
        return hashlib.blake2b(key=self._secret, person=b"florc journal", digest_size=MAC_SIZE)

    def blob(self, head: bytes, data: Any = b"") -> str:
        """The MAC of an index line, and of the blob's bytes where these are to be believed as well."""
        made = hashlib.blake2b(head, key=self._secret, person=b"florc blob", digest_size=MAC_SIZE)
        made.update(data)
        return made.hexdigest()

    def answers(self, body: bytes) -> str:
        """The MAC of what replays have noted, all of it together."""
        made = hashlib.blake2b(body, key=self._secret, person=b"florc answers", digest_size=MAC_SIZE)
        return made.hexdigest()

    def description(self, fields: Mapping[str, Any]) -> str:
        """The MAC of a run's description, whatever the order of its fields."""
        data = canonical(fields)
        return hashlib.blake2b(
            data, key=self._secret, person=b"florc run", digest_size=MAC_SIZE
        ).hexdigest()


def new_salt() -> str:
    """A salt for a new run."""
    return os.urandom(SALT_SIZE).hex()


def canonical(fields: Mapping[str, Any]) -> bytes:
    """One text for equal fields."""
    return json.dumps(fields, sort_keys=True, separators=(",", ":")).encode("ascii")


def checksum(fields: Mapping[str, Any]) -> str:
    """Tells damage from a foreign seal: everybody can compute it."""
    return xxhash.xxh3_128_hexdigest(canonical(fields))
