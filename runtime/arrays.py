"""Kinds for NumPy: arrays and their views, generators. Loaded once the program has imported numpy."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import CannotRestore
from .kind import (
    Kind,
    class_ref,
    follow_attribute,
    instance_dict,
    read_attributes,
    write_attributes,
)
from .kinds import add_library

if TYPE_CHECKING:
    from .graph import Walk
    from .restore import Build

INLINE_BYTES = 1024  # arrays up to this size stand in the content itself: a blob each costs more


def array_bytes(array: Any) -> Any:
    """The array's elements as contiguous bytes in C order."""
    plain = array.view(np.ndarray) if type(array) is not np.ndarray else array
    flat = np.ascontiguousarray(plain)
    return flat.reshape(-1).view(np.uint8).data if flat.size and flat.dtype.itemsize else b""


class ArrayBytes:
    """What a blob is taken from."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def get(self) -> Any:
        return array_bytes(self._array)


class Array(Kind):
    """numpy.ndarray and subclasses. A view of another array is kept as one, so sharing survives."""

    tag = "array"

    def read(self, obj: Any, walk: Walk) -> tuple[Any, ...]:
        extra = (class_ref(obj, walk), read_attributes(obj, walk)) if self._is_special(obj) else ()
        if obj.dtype.hasobject:
            if obj.base is not None and walk.current >= walk.first_new:
                walk.opaque.append((walk.current, "a view of an array of objects"))
            items = [walk.ref(item, ("i", i)) for i, item in enumerate(obj.reshape(-1).tolist())]
            return (self.tag, "objects", _dtype(obj), obj.shape, items, *extra)
        base = obj.base
        if isinstance(base, np.ndarray) and not base.dtype.hasobject:
            offset = obj.__array_interface__["data"][0] - base.__array_interface__["data"][0]
            return (
                self.tag,
                "view",
                _dtype(obj),
                obj.shape,
                obj.strides,
                offset,
                walk.ref(base, ("base",)),
                self._data(obj, walk),
                *extra,
            )
        if obj.nbytes:
            walk.owns(obj.__array_interface__["data"][0], "memory shared by torch and NumPy")
        order = "F" if obj.flags.f_contiguous and not obj.flags.c_contiguous else "C"
        return (self.tag, order, _dtype(obj), obj.shape, self._data(obj, walk), *extra)

    @staticmethod
    def _is_special(obj: Any) -> bool:
        return type(obj) is not np.ndarray or bool(instance_dict(obj))

    @staticmethod
    def _data(obj: Any, walk: Walk) -> Any:
        data = array_bytes(obj)
        if obj.nbytes <= INLINE_BYTES:
            return bytes(data)
        key = walk.hashed(data)
        walk.blob(key, ArrayBytes(obj))
        return key

    def follow(self, holder: Any, edge: Any) -> Any:
        if edge[0] == "i":
            return holder.reshape(-1).tolist()[edge[1]]
        return holder.base if edge[0] == "base" else follow_attribute(holder, edge)

    def make(self, content: Any, build: Build) -> Any:
        dtype, shape = pickle.loads(content[2]), content[3]
        if content[1] == "view":
            base = build.whole(content[6])
            made = np.ndarray(shape, dtype, buffer=_memory(base), offset=content[5], strides=content[4])
            extra = content[8:]
        else:
            made = np.empty(shape, dtype, order="F" if content[1] == "F" else "C")
            extra = content[5:]
        return made.view(build.get(extra[0])) if extra else made

    def write(self, obj: Any, content: Any, build: Build) -> None:
        if obj.shape != content[3] or _dtype(obj) != content[2]:
            raise CannotRestore("an array changed its shape or dtype in place")
        if content[1] == "objects":
            flat = np.empty(len(content[4]), dtype=obj.dtype)
            flat[:] = [build.get(ref) for ref in content[4]] if len(content[4]) else []
            obj[...] = flat.reshape(obj.shape)
        else:
            self._write_data(obj, content, build)
        extra = content[8:] if content[1] == "view" else content[5:]
        if extra:
            write_attributes(obj, extra[1], build)

    @staticmethod
    def _write_data(obj: Any, content: Any, build: Build) -> None:
        data = content[7] if content[1] == "view" else content[4]
        data = data if isinstance(data, bytes) else build.fetch(data)
        values = np.frombuffer(bytearray(data), obj.dtype).reshape(obj.shape) if obj.size else None
        if values is None or array_bytes(obj) == data:
            return
        writeable = obj.flags.writeable
        try:
            if not writeable:
                obj.flags.writeable = True
            obj.view(np.ndarray)[...] = values
        except ValueError as error:
            raise CannotRestore(f"a read-only array changed: {error}") from None
        finally:
            if not writeable:
                obj.flags.writeable = False


def _memory(base: Any) -> Any:
    """The memory of an array that owns its data, as a buffer in memory order."""
    return base if base.flags.c_contiguous else base.T


def _dtype(obj: Any) -> bytes:
    return pickle.dumps(obj.dtype, 4)


class BitGenerator(Kind):
    """The state of a NumPy bit generator."""

    tag = "numpy.BitGenerator"

    def read(self, obj: Any, walk: Walk) -> tuple[Any, ...]:
        spawned = getattr(getattr(obj, "seed_seq", None), "n_children_spawned", 0)
        return (self.tag, type(obj).__name__, plain_state(obj.state), spawned)

    def make(self, content: Any, build: Build) -> Any:
        return getattr(np.random, content[1])(0)

    def write(self, obj: Any, content: Any, build: Build) -> None:
        spawned = getattr(getattr(obj, "seed_seq", None), "n_children_spawned", 0)
        if content[3] > spawned:
            obj.seed_seq.spawn(content[3] - spawned)
        obj.state = numpy_state(content[2])


class NumpyGenerator(Kind):
    """numpy.random.Generator and RandomState: their bit generator is a node of its own."""

    tag = "numpy.Generator"

    def read(self, obj: Any, walk: Walk) -> tuple[Any, ...]:
        if isinstance(obj, np.random.RandomState):
            *_, has_gauss, gauss = obj.get_state(legacy=True)
            return (self.tag, "RandomState", walk.ref(obj._bit_generator, ("bit",)), has_gauss, gauss)
        return (self.tag, "Generator", walk.ref(obj.bit_generator, ("bit",)))

    def follow(self, holder: Any, edge: Any) -> Any:
        return holder._bit_generator if isinstance(holder, np.random.RandomState) else holder.bit_generator

    def make(self, content: Any, build: Build) -> Any:
        return getattr(np.random, content[1])(build.whole(content[2]))

    def write(self, obj: Any, content: Any, build: Build) -> None:
        if content[1] == "RandomState":
            build.whole(content[2])
            name, keys, place, _, _ = obj.get_state(legacy=True)
            obj.set_state((name, keys, place, content[3], content[4]))


def plain_state(state: Any) -> Any:
    """A bit generator's state dict as sorted pairs of plain values."""
    if isinstance(state, dict):
        return tuple((key, plain_state(state[key])) for key in sorted(state))
    if isinstance(state, np.ndarray):
        return ("array", str(state.dtype), state.tobytes())
    return state.item() if isinstance(state, np.generic) else state


def numpy_state(plain: Any) -> Any:
    """The inverse of plain_state."""
    if isinstance(plain, tuple) and plain and plain[0] == "array":
        return np.frombuffer(plain[2], dtype=plain[1]).copy()
    if isinstance(plain, tuple):
        return {key: numpy_state(value) for key, value in plain}
    return plain


_ARRAY, _BIT, _GENERATOR = Array(), BitGenerator(), NumpyGenerator()


def _choose(cls: type) -> Kind | None:
    if issubclass(cls, np.ndarray):
        return _ARRAY
    if issubclass(cls, np.random.BitGenerator):
        return _BIT
    if issubclass(cls, np.random.Generator | np.random.RandomState):
        return _GENERATOR
    return None


add_library(_choose, [_ARRAY, _BIT, _GENERATOR])
