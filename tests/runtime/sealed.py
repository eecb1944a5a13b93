"""A seal for tests of what lies below keys and runs."""

from __future__ import annotations

from florc.runtime.seal import Seal

SEAL = Seal(bytes(range(32)))
