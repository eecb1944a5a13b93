"""Which place `--on` names for the workers of a replay."""

from __future__ import annotations

from dataclasses import dataclass

LOCAL, RAY = "local", "ray"
HINT = "local, ray, ray:local, ray:auto, ray:HOST:PORT, ray://HOST:PORT"


@dataclass(frozen=True)
class Where:
    """What `--on` names.

    address: of a cluster; "" for the one at hand, or else a new one.
    """

    kind: str = LOCAL
    address: str = ""

    @property
    def words(self) -> str:
        """The option, in short."""
        return f"--on {self.kind}"

    @classmethod
    def parse(cls, text: str) -> Where:
        """ValueError for what names no place."""
        if text in (LOCAL, RAY):
            return cls(text)
        kind, _, address = text.partition(":")
        if text.startswith("ray://") and len(text) > len("ray://"):
            return cls(RAY, text)  # as Ray itself spells the address of a client's server
        if kind == RAY and (address in ("auto", "local") or _is_address(address)):
            return cls(RAY, address)
        raise ValueError(f"'{text}' names no place to run on ({HINT})")


def _is_address(text: str) -> bool:
    host, _, port = text.rpartition(":")
    return bool(host) and "/" not in host and port.isdigit()
