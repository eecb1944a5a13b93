"""Sparse tensors: the tensors they are made of, so that what shares memory with these goes on doing so.

A COO tensor has indices and values, a compressed one (CSR, CSC, BSR, BSC) two kinds of indices and values. In
a content they stand where other tensors have their strides, see docs/store-format.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from .errors import CannotRestore

if TYPE_CHECKING:
    from .graph import Walk
    from .restore import Build

_BY_ROW = (torch.sparse_csr, torch.sparse_bsr)
_COMPRESSED = (*_BY_ROW, torch.sparse_csc, torch.sparse_bsc)
LAYOUTS = frozenset({torch.sparse_coo, *_COMPRESSED})
EDGE = "sp"


def parts_of(tensor: Any) -> tuple[Any, ...]:
    """The strided tensors that a sparse one is made of; they share its memory."""
    plain = tensor.detach()
    if plain.layout is torch.sparse_coo:
        return plain._indices(), plain._values()
    if plain.layout in _BY_ROW:
        return plain.crow_indices(), plain.col_indices(), plain.values()
    return plain.ccol_indices(), plain.row_indices(), plain.values()


def is_coalesced(tensor: Any) -> bool:
    """What a COO tensor says of its indices; others have no such thing to say."""
    return tensor.layout is torch.sparse_coo and tensor.is_coalesced()


def content_of(tensor: Any, walk: Walk, span: Any) -> tuple[Any, ...]:
    """(layout, coalesced, parts): of each part dtype, shape, strides, offset and its storage.

    Indices of a sum have room for more than there are, which nobody has written. Where so their bytes stand
    in the place of the storage, in order.

    span: what a tensor shows of its storage.
    """
    parts: list[tuple[Any, ...]] = []
    tensors = parts_of(tensor)
    last = len(tensors) - 1  # the values
    for place, part in enumerate(tensors):
        start, end = span(part)
        if part.device.type == "cpu" and end - start > part.numel() * part.element_size() and place < last:
            parts.append((*_view_of(part)[:3], 0, part.contiguous().numpy().tobytes()))
            continue
        storage = walk.ref(part.untyped_storage(), (EDGE, place))
        walk.cover(storage[0], start, end)
        parts.append((*_view_of(part), storage))
    return _name(tensor.layout), is_coalesced(tensor), tuple(parts)


def made(content: Any, shape: tuple[int, ...], build: Build) -> Any:
    """A new tensor over the storages of a content."""
    layout, coalesced, parts = content
    views: list[Any] = []
    for dtype, size, strides, offset, storage in parts:
        kind = getattr(torch, dtype)
        if isinstance(storage, bytes):
            there = torch.frombuffer(bytearray(storage), dtype=kind).reshape(size)
            views.append(torch.empty_strided(size, strides, dtype=kind).copy_(there))
            continue
        memory = build.get(storage)
        empty = torch.empty(0, dtype=kind, device=memory.device)
        views.append(empty.set_(memory, offset, size, strides))
    build.fill()  # indices are looked at
    coordinates: Any = torch.sparse_coo_tensor
    compressed: Any = torch.sparse_compressed_tensor
    if layout == "sparse_coo":
        return coordinates(*views, shape, is_coalesced=coalesced, check_invariants=False)
    return compressed(*views, shape, layout=getattr(torch, layout), check_invariants=False)


def is_made_of(tensor: Any, content: Any, build: Build) -> bool:
    """Tell whether a live tensor shows the storages of a content in the same way."""
    if tensor.layout not in LAYOUTS or _name(tensor.layout) != content[0]:
        return False
    there = parts_of(tensor)
    same = len(there) == len(content[2]) and is_coalesced(tensor) == content[1]
    return same and all(
        _view_of(part) == recorded[:4] and part.untyped_storage() is build.get(recorded[4])
        for part, recorded in zip(there, content[2], strict=True)
    )


def follow(tensor: Any, edge: Any) -> Any:
    """The live storage that an edge names."""
    parts = parts_of(tensor) if tensor.layout in LAYOUTS else ()
    if edge[1] >= len(parts):
        raise CannotRestore("another tensor stands where the record had a sparse one")
    return parts[edge[1]].untyped_storage()


def _view_of(part: Any) -> tuple[str, tuple[int, ...], tuple[int, ...], int]:
    return _name(part.dtype), tuple(part.shape), tuple(part.stride()), part.storage_offset()


def _name(of_torch: Any) -> str:
    return str(of_torch).removeprefix("torch.")
