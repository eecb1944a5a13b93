"""Other recorders of training runs: what users write for them, how they record and replay.

Each stands in a file of its own and is one `Peer`. Their scripts come from the same workload, by the same
marked places, with what their own documentation asks for.
"""
from __future__ import annotations

from .flordb3 import FLORDB3
from .flordb4 import FLORDB4
from .peer import Peer
from .pyflor import PYFLOR

PEERS: tuple[Peer, ...] = (FLORDB4, FLORDB3, PYFLOR)
BY_NAME = {peer.name: peer for peer in PEERS}

__all__ = ["BY_NAME", "PEERS", "Peer"]
