"""Bytes of tensors on an accelerator, to and from it through pinned memory.

All storages that a walk meets are copied at once, on a stream of their own, behind what the program has
queued so far; an event of that stream tells when they have arrived. Nothing waits for the whole device:
kernels that the program queues on other streams go on.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from typing import Any

import torch

ALIGNMENT = 64  # bytes


def flat_bytes(storage: Any, start: int, end: int) -> Any:
    """A part of a storage as a tensor of bytes."""
    return torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)[start:end]


class Lane:
    """The way to and from one CUDA device.

    Args:
        device: the torch.device.
        cuda: torch.cuda, or what stands for it in a test.
    """

    def __init__(self, device: Any, cuda: Any = torch.cuda) -> None:
        self._device, self._cuda = device, cuda
        self._stream = cuda.Stream(device)
        self._memory: Any = None
        self._arrived: Any = None  # tells that the last copy to the device has left the memory

    def fetch(self, pieces: Sequence[tuple[Any, int, int]]) -> list[memoryview]:
        """The bytes [start, end) of storages on this device; valid until the lane is used again."""
        places = self._places(end - start for _, start, end in pieces)
        self._stream.wait_stream(self._cuda.current_stream(self._device))
        with self._cuda.stream(self._stream):
            for (storage, start, end), place in zip(pieces, places, strict=True):
                target = self._memory[place : place + end - start]
                target.copy_(flat_bytes(storage, start, end), non_blocking=True)
            arrived = self._cuda.Event()
            arrived.record(self._stream)
        arrived.synchronize()
        return [
            self._view(place, end - start) for (_, start, end), place in zip(pieces, places, strict=True)
        ]

    def fill(self, storage: Any, start: int, data: Any) -> None:
        """Write the bytes of a buffer into a storage, in turn with the program's own work on it."""
        size = len(data)
        (place,) = self._places([size])
        self._view(place, size)[:] = memoryview(data).cast("B")
        stream = self._cuda.current_stream(self._device)
        flat_bytes(storage, start, start + size).copy_(self._memory[place : place + size], non_blocking=True)
        self._arrived = self._cuda.Event()
        self._arrived.record(stream)

    def _places(self, sizes: Iterable[int]) -> list[int]:
        """Where in the memory pieces of these sizes go; it is free then, and large enough."""
        if self._arrived is not None:
            self._arrived.synchronize()
            self._arrived = None
        places, end = [], 0
        for size in sizes:
            places.append(end)
            end += size + -size % ALIGNMENT
        if self._memory is None or len(self._memory) < end:
            self._memory = None  # the old one goes before the new one comes
            self._memory = self._pinned(end)
        return places

    @staticmethod
    def _pinned(size: int) -> Any:
        return torch.empty(size, dtype=torch.uint8, pin_memory=True)

    def _view(self, place: int, size: int) -> memoryview:
        memory: Any = (ctypes.c_char * size).from_address(self._memory.data_ptr() + place)
        memory.held = self._memory
        return memoryview(memory).cast("B")


_lanes: dict[Any, Lane] = {}


def lane(device: Any) -> Lane | None:
    """The lane of a device; None for devices without streams of CUDA's kind."""
    if device.type != "cuda":
        return None
    if device not in _lanes:
        _lanes[device] = Lane(device)
    return _lanes[device]
