"""Kinds for torch: tensors, storages, generators. Loaded once the program has imported torch."""

from __future__ import annotations

import ctypes
import functools
from typing import TYPE_CHECKING, Any

import torch

from . import sparse
from .device import flat_bytes, lane
from .errors import CannotRestore, NeedsExecution
from .kind import (
    Kind,
    class_ref,
    follow_attribute,
    instance_dict,
    read_attributes,
    write_attributes,
)
from .kinds import add_library
from .owed import ledger

if TYPE_CHECKING:
    from .graph import Walk
    from .restore import Build

_CPU = torch.device("cpu")
INLINE_BYTES = 1024  # storages up to this size stand in the content itself: a blob each costs more


def storage_bytes(storage: Any, start: int = 0, end: int | None = None) -> Any:
    """A part of a storage's bytes as something with the buffer protocol (no copy on the CPU).

    The storage must outlive the result.
    """
    end = storage.nbytes() if end is None else end
    if end <= start:
        return b""
    if storage.device != _CPU:
        copy = flat_bytes(storage, start, end).cpu().contiguous()
        return bytes((ctypes.c_char * (end - start)).from_address(copy.data_ptr()))
    return (ctypes.c_char * (end - start)).from_address(storage.data_ptr() + start)


@functools.cache
def _name(of_torch: Any) -> str:
    """How a device or a dtype is called, without `torch.`; they are few, and str() takes its time."""
    return str(of_torch).removeprefix("torch.")


def fill_storage(storage: Any, start: int, data: Any) -> None:
    """Write the bytes of a buffer into a storage in place."""
    if not len(data):
        return
    if storage.device.type == "cpu":
        place = (ctypes.c_char * len(data)).from_address(storage.data_ptr() + start)
        memoryview(place).cast("B")[:] = memoryview(data).cast("B")
    elif (way := lane(storage.device)) is not None:
        way.fill(storage, start, data)
    else:
        flat = flat_bytes(storage, start, start + len(data))
        flat.copy_(torch.frombuffer(bytearray(data), dtype=torch.uint8))


def device_name(storage: Any) -> str:
    return _name(storage.device)


class StorageBytes:
    """The part of a storage that some tensor shows: what a blob is taken from.

    copied: its bytes, where they had to be copied from a device.
    """

    def __init__(self, storage: Any, start: int, end: int, copied: Any = None) -> None:
        self._place, self._copied = (storage, start, end), copied

    def get(self) -> Any:
        return storage_bytes(*self._place) if self._copied is None else self._copied


class Storage(Kind):
    """The memory behind tensors; shared by views and tied weights.

    Only what the tensors show of it counts: reductions leave their scratch behind the result, which
    is not the same in two runs.
    """

    tag = "storage"

    def read(self, obj: Any, walk: Walk) -> tuple[Any, ...] | None:
        size, device = obj.nbytes(), device_name(obj)
        if size and device == "cpu":
            walk.owns(obj.data_ptr(), "memory shared by torch and NumPy")
        start, end = walk.spans.get(walk.current, (0, size))
        if (end - start < size or device != "cpu") and walk.later():
            return None
        debt = ledger.debt(obj)
        if debt is not None and (debt.start, debt.end) == (start, end):
            walk.blob(debt.key, debt)
            return (self.tag, size, device, start, debt.key)
        if debt is not None:
            ledger.pay_all()
        known, copied = walk.memory.get(walk.current), None
        if known is not None and known[:2] == (start, end):
            data = known[2]
        else:
            copied = None if device == "cpu" else self._copied(obj, walk)
            data = storage_bytes(obj, start, end) if copied is None else copied
            data = bytes(data) if end - start <= INLINE_BYTES else walk.hashed(data)
        if type(data) is str:
            walk.blob(data, StorageBytes(obj, start, end, copied))
        return (self.tag, size, device, start, data)

    @staticmethod
    def _copied(obj: Any, walk: Walk) -> Any:
        """This storage's bytes from its device, fetched with all others there that the walk has met."""
        way = lane(obj.device)
        if way is None:
            return None
        if walk.current not in walk.fetched:
            numbers = [n for n in walk.put_off if type(walk.object(n)) is torch.UntypedStorage]
            storages = {n: walk.object(n) for n in numbers if n not in walk.memory}
            there = {n: one for n, one in storages.items() if one.device == obj.device}
            spans = [walk.spans.get(n, (0, one.nbytes())) for n, one in there.items()]
            pieces = [(one, *span) for one, span in zip(there.values(), spans, strict=True)]
            walk.fetched.update(zip(there, way.fetch(pieces), strict=True))
        return walk.fetched.get(walk.current)

    def make(self, content: Any, build: Build) -> Any:
        made: Any = torch.UntypedStorage(content[1], device=content[2])  # type: ignore[no-untyped-call]
        if len(self._data(content, build)) < content[1]:
            made.fill_(0)  # what is not written must not be what some other object left there
        return made

    def write(self, obj: Any, content: Any, build: Build) -> None:
        data = self._data(content, build)
        ledger.settle(obj, content[3], content[3] + len(data))
        if obj.nbytes() != content[1]:
            obj.resize_(content[1])
        fill_storage(obj, content[3], data)

    @staticmethod
    def _data(content: Any, build: Build) -> Any:
        """The bytes of what tensors show of it."""
        return content[4] if isinstance(content[4], bytes) else build.fetch(content[4])


class Tensor(Kind):
    """A view of a storage, with its gradient and its place in autograd."""

    tag = "tensor"

    def read(self, obj: Any, walk: Walk) -> tuple[Any, ...]:
        if not _is_plain(obj):
            return self._saved(obj, walk)
        strides, offset, storage = self._place(obj, walk)
        graph = None if obj.grad_fn is None else _graph_name(obj)
        grad = obj.grad if graph is None or obj.retains_grad else None
        if graph is not None and walk.current >= walk.first_new:
            walk.graphs.append(obj)
        return (
            self.tag,
            class_ref(obj, walk),
            _name(obj.dtype),
            tuple(obj.shape),
            strides,
            offset,
            storage,
            obj.requires_grad,
            graph,
            None if grad is None else walk.ref(grad, ("g",)),
            read_attributes(obj, walk) if instance_dict(obj) else None,
            obj.is_conj(),
            obj.is_neg(),
            walk.ref(obj._backward_hooks, ("a", "_backward_hooks")),
        )

    @staticmethod
    def _place(obj: Any, walk: Walk) -> tuple[Any, int, Any]:
        """(strides, offset, storage); of a sparse tensor what it is made of, 0 and None."""
        if obj.layout is not torch.strided:
            return sparse.content_of(obj, walk, _span), 0, None
        storage = walk.ref(obj.untyped_storage(), ("st",))
        walk.cover(storage[0], *_span(obj))
        return tuple(obj.stride()), obj.storage_offset(), storage

    @staticmethod
    def _saved(obj: Any, walk: Walk) -> tuple[Any, ...]:
        """Quantized and other tensors: by their pickle, to tell whether they changed.

        They are not made from it, for what shares their memory would not any more.
        """
        import io

        buffer = io.BytesIO()
        try:
            torch.save(obj.detach(), buffer)
        except Exception:
            walk.opaque.append((walk.current, f"a {obj.layout} tensor"))
            return (SavedTensor.tag, None)
        return (SavedTensor.tag, buffer.getvalue())

    def follow(self, holder: Any, edge: Any) -> Any:
        if edge[0] == "st":
            return holder.untyped_storage()
        if edge[0] == sparse.EDGE:
            return sparse.follow(holder, edge)
        if edge == ("a", "_backward_hooks"):
            return holder._backward_hooks
        return holder.grad if edge[0] == "g" else follow_attribute(holder, edge)

    def make(self, content: Any, build: Build) -> Any:
        view = self._view(content, build)
        view = view.conj() if content[11] else view
        view = torch._neg_view(view) if content[12] else view
        graph = content[8]
        if graph is not None and content[6] is None:
            raise CannotRestore("a sparse tensor with an autograd graph")
        if graph is not None:
            return _stub(graph)(view)
        cls = build.get(content[1])
        if issubclass(cls, torch.nn.Parameter):
            return (
                cls._make_subclass(cls, view, content[7])
                if cls is torch.nn.Parameter
                else view.as_subclass(cls)
            )
        made = view if cls is torch.Tensor else view.as_subclass(cls)
        return made.requires_grad_(content[7]) if content[7] else made

    @staticmethod
    def _view(content: Any, build: Build) -> Any:
        if content[6] is None:
            return sparse.made(content[4], content[3], build)
        storage = build.get(content[6])
        build.fill()
        dtype = getattr(torch, content[2])
        return torch.empty(0, dtype=dtype, device=storage.device).set_(
            storage, content[5], content[3], content[4]
        )

    def write(self, obj: Any, content: Any, build: Build) -> None:
        if not _is_plain(obj) or (content[6] is None) != (obj.layout in sparse.LAYOUTS):
            raise CannotRestore(f"a {obj.layout} tensor stands where the record had another")
        if content[8] is None and not self._in_place(obj, content, build):
            if obj.grad_fn is not None:
                raise CannotRestore("a tensor with an autograd graph stands where the record had a leaf")
            obj.data = self._view(content, build)
        if (obj._backward_hooks is None) != (content[13] is None):
            raise CannotRestore("a tensor's hooks cannot be put back")
        if content[8] is None:
            if obj.requires_grad != content[7]:
                obj.requires_grad_(content[7])
            obj.grad = None if content[9] is None else build.whole(content[9])
        elif not build.is_new(obj) and not self._in_place(obj, content, build):
            raise CannotRestore("a tensor with an autograd graph cannot be put back in place")
        elif content[9] is not None:
            obj.retain_grad()
            obj.grad = build.whole(content[9])
        if content[10] is not None:
            write_attributes(obj, content[10], build)

    @staticmethod
    def _in_place(obj: Any, content: Any, build: Build) -> bool:
        if content[6] is None or obj.layout is not torch.strided:
            made_of = content[6] is None and sparse.is_made_of(obj, content[4], build)
            return made_of and tuple(obj.shape) == content[3]
        same_view = (
            tuple(obj.shape) == content[3]
            and tuple(obj.stride()) == content[4]
            and obj.storage_offset() == content[5]
            and str(obj.dtype) == f"torch.{content[2]}"
        )
        return same_view and obj.untyped_storage() is build.get(content[6])


class SavedTensor(Kind):
    """Content of tensors without a strided storage."""

    tag = "saved tensor"

    def make(self, content: Any, build: Build) -> Any:
        raise CannotRestore("a quantized, nested or otherwise special tensor")


class TorchGenerator(Kind):
    """A private torch.Generator."""

    tag = "torch.Generator"

    def read(self, obj: Any, walk: Walk) -> tuple[Any, ...]:
        state = obj.get_state()  # held until its bytes are copied
        return (self.tag, str(obj.device), bytes(storage_bytes(state.untyped_storage())))

    def make(self, content: Any, build: Build) -> Any:
        return torch.Generator(device=content[1])

    def write(self, obj: Any, content: Any, build: Build) -> None:
        obj.set_state(torch.frombuffer(bytearray(content[2]), dtype=torch.uint8))


def _span(obj: Any) -> tuple[int, int]:
    """First byte and end of what a tensor shows of its storage."""
    count = obj.numel()
    if count == 0:
        return 0, 0
    last = count - 1
    if not obj.is_contiguous():
        last = sum((count - 1) * stride for count, stride in zip(obj.shape, obj.stride(), strict=True))
    first, item = obj.storage_offset(), obj.element_size()
    return first * item, (first + last + 1) * item


def _is_plain(obj: Any) -> bool:
    if obj.is_quantized or obj.is_meta:
        return False
    if obj.layout is not torch.strided and obj.layout not in sparse.LAYOUTS:
        return False
    return not (hasattr(type(obj), "__tensor_flatten__") and type(obj) is not torch.nn.Parameter)


def _graph_name(obj: Any) -> str:
    name = type(obj.grad_fn).__name__
    return obj.grad_fn.name().rpartition("::")[2] if name == "CppFunction" else name


@functools.lru_cache(maxsize=256)
def _stub(name: str) -> Any:
    """What gives a restored tensor a grad_fn of the recorded name, whose backward says what is the matter."""

    class Recorded(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, value: Any) -> Any:
            return value.view_as(value)

        @staticmethod
        def backward(ctx: Any, *_: Any) -> Any:
            raise NeedsExecution("the autograd graph of a restored tensor")

    kind = Recorded._backward_cls
    kind.__name__ = kind.__qualname__ = name
    kind.__module__ = "builtins"  # printed as the real one is: without a module

    def give(value: Any) -> Any:
        with torch.enable_grad():
            return Recorded.apply(value.requires_grad_())  # type: ignore[no-untyped-call]

    return give


_TENSOR, _STORAGE, _GENERATOR = Tensor(), Storage(), TorchGenerator()


def _choose(cls: type) -> Kind | None:
    if issubclass(cls, torch.Tensor):
        return _TENSOR
    if issubclass(cls, torch.UntypedStorage):
        return _STORAGE
    if issubclass(cls, torch.Generator):
        return _GENERATOR
    return None


add_library(_choose, [_TENSOR, _STORAGE, _GENERATOR, SavedTensor()])
