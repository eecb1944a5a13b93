"""The walk: everything reachable from a guard, as numbered nodes with comparable contents.

A walk starts at a `Root` (the names of the guard's frame and the namespaces of the project's
modules) and visits every reachable object once, breadth first. The first walk of a guard is its
*base*: its objects are the *entry objects*, each known by its number and by its path (parent
number and edge), and held, so that ids are not reused. Later walks give the same numbers to the
entry objects and new ones to new objects. A node's content is `marshal` bytes in which other nodes
appear by number: two equal contents mean equal state.
"""

from __future__ import annotations

import marshal
import re
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

import xxhash

from . import atoms
from .collector import resting
from .kind import Kind
from .kinds import kind_of, load_libraries
from .large import LARGE_BYTES
from .lives import Loose, loosely
from .roots import Root
from .staging import Copies

ITERATOR = "for"  # under this name, which no program can have, a guard's frame holds its loop's iterator
ITERATOR_EDGE = ("n", ITERATOR, "")
MARSHAL_VERSION = 2  # the last version without references: equal values give equal bytes


Memory = tuple[int, int, Any]  # first byte and end of what is known of a storage; its bytes or their hash


class Blob(Protocol):
    """Where the bytes of a blob are taken from."""

    def get(self) -> Any:
        """The bytes, as an object with the buffer protocol; valid while the holder lives."""


@dataclass
class Base:
    """The entry objects of a guard, by number: held, so that ids are not reused.

    `loose` are those whose end the program can see (see lives.py): `objects` has None in their place.
    """

    objects: list[Any]
    parents: list[int]
    edges: list[Any]
    digests: list[bytes]
    index: dict[int, int] = field(default_factory=dict)
    loose: dict[int, Loose] = field(default_factory=dict)

    def number(self, obj: Any) -> int | None:
        """The number of an entry object; None for any other, and where that cannot be told."""
        number = self.index.get(id(obj))
        if number is None or number not in self.loose:
            return number
        loose = self.loose[number]
        return number if loose.sure and loose.may_be(obj) else None

    def hint(self, obj: Any) -> int | None:
        """The entry object that an object of no number may be."""
        number = self.index.get(id(obj))
        return number if number in self.loose and self.loose[number].may_be(obj) else None

    def put(self, number: int, obj: Any) -> None:
        """Let an object take the place of one that is not there."""
        self.loose.pop(number, None)
        self.objects[number] = obj
        self.index[id(obj)] = number

    def forget(self, number: int, obj: Any) -> None:
        """The object of this number is another one from now on."""
        self.loose.pop(number, None)
        self.index.pop(id(obj), None)
        self.objects[number] = None

    def loosen(self, walk: Walk) -> None:
        """Let go of what the program must be able to let go of; the walk has seen it all."""
        self.index.pop(id(self.objects[0]), None)
        self.objects[0] = None  # the root holds a frame's values
        self.loose = loosely(self.objects, walk.links)
        walk.rebase(self)
        for number in self.loose:
            self.objects[number] = None

    def path(self, number: int) -> str:
        """How a user would write the way to an entry object."""
        steps = []
        while number > 0:
            steps.append(edge_text(self.edges[number]))
            number = self.parents[number]
        return path_text(steps)

    def packed(self) -> bytes:
        """What the store keeps of it: paths and digests, no contents."""
        return marshal.dumps((self.parents, self.edges, self.digests), MARSHAL_VERSION)


def digest(content: bytes) -> bytes:
    return xxhash.xxh3_128_digest(content)


class Walk:
    """One visit of everything reachable from a root.

    After `run`, `contents` maps node numbers to content bytes, `blobs` maps hashes to objects
    whose bytes have them (storages, arrays), `opaque` lists what could not be looked into and
    `lost` the new objects that no restore can make again, each with its path in words.
    """

    def __init__(self, root: Root, base: Base | None, is_project: Callable[[str], bool]) -> None:
        self.root = root
        self.base = base
        self.is_project = is_project
        self.links: list[tuple[int, int]] = []  # (node, node it refers to), each once for a first walk
        self.loose: dict[int, Any] = {}  # the loose entry objects met
        self.hints: dict[int, int] = {}  # new object -> the entry object that it may be
        self.numbers: dict[int, int] = {}  # id of a new object -> its number
        self._entry_index: dict[int, int] = base.index if base else {}
        self._loose_entries: dict[int, Loose] = base.loose if base else {}
        self._classes: dict[type, tuple[Any, ...]] = {}  # the atoms of library classes met
        self.first_new = len(base.objects) if base else 0
        self.new_objects: list[Any] = []
        self.new_parents: list[int] = []
        self.new_edges: list[Any] = []
        self.contents: dict[int, bytes] = {}
        self.blobs: dict[str, Blob] = {}
        self.graphs: list[Any] = []  # new tensors that carry an autograd graph
        self.spans: dict[int, tuple[int, int]] = {}
        self.memory: dict[int, Memory] = {}  # storages that need not be looked at again
        self.copies: Copies | None = None  # room for copies of what has likely changed
        self.likely: frozenset[int] = frozenset()  # entry objects whose bytes have likely changed
        self.opaque: list[tuple[int, str]] = []
        self.lost: list[tuple[int, str]] = []
        self._memory: dict[int, int] = {}
        self._queue: deque[int] = deque()
        self._iterators: deque[int] = deque()  # what the guarded loop goes over: see _run
        self._seen: set[int] = set()
        self.put_off: list[int] = []  # nodes that are read once all others are
        self.fetched: dict[int, Any] = {}  # bytes of storages on other devices, by node
        self.current = 0

    # -- what kinds use while reading ---------------------------------------------------
    def ref(self, obj: Any, edge: Any) -> Any:
        """The encoded reference to a child of the node being read."""
        kind = type(obj)
        if kind in atoms.PLAIN:
            return obj
        number = self._entry_index.get(id(obj))
        if number is None or number in self._loose_entries:
            if kind is type and obj in self._classes:
                return self._classes[obj]
            number = self._number(obj)
        if number is None:
            atom = self._atom(obj, kind)
            if atom is not None:
                if kind is type:
                    self._classes[obj] = atom
                return atom
            number = self._new(obj, edge)
        self.links.append((self.current, number))
        if number not in self._seen:
            self._seen.add(number)
            (self._iterators if edge == ITERATOR_EDGE else self._queue).append(number)
            if self.base is not None and number in self.base.loose:
                self.loose[number] = obj
        return (number,)

    def hangs_on(self, kind: type[Kind]) -> bool:
        """True if one of this kind leads to the new node being read."""
        number = self.current
        while number and number >= self.first_new:
            number = self.new_parents[number - self.first_new]
            if number and isinstance(kind_of(type(self.object(number))), kind):
                return True
        return False

    def number_of_id(self, value: int) -> int | None:
        """The node whose id() is value, among those seen so far."""
        number = None if self.base is None else self.base.index.get(value)
        if number is not None and (number not in self.base.loose or number in self.loose):  # type: ignore[union-attr]
            return number
        return self.numbers.get(value)

    def later(self) -> bool:
        """True while a content that depends on every node's number must be put off."""
        if self.current in self.put_off:
            return False
        self.put_off.append(self.current)
        return True

    def blob(self, key: str, holder: Blob) -> None:
        """Bytes too many to stand in a content: their hash does, and they can be had from the holder."""
        self.blobs[key] = holder

    def hashed(self, data: Any) -> str:
        """The hash of many bytes of the node being read. What will likely be kept is copied on the way."""
        likely = self.current in self.likely or self.current >= self.first_new
        if likely and self.copies is not None and len(data) >= LARGE_BYTES:
            return self.copies.hashed(data)
        return xxhash.xxh3_128_hexdigest(data)

    def owns(self, address: int, words: str) -> None:
        """The node being read owns memory. New objects of NumPy and torch that share it cannot be made."""
        other = self._memory.setdefault(address, self.current)
        if address and other != self.current and max(other, self.current) >= self.first_new:
            self.opaque.append((max(other, self.current), words))

    def cover(self, number: int, start: int, end: int) -> None:
        """A tensor shows these bytes of a storage."""
        before = self.spans.get(number)
        self.spans[number] = (start, end) if before is None else (min(start, before[0]), max(end, before[1]))

    # -- running ------------------------------------------------------------------------
    def run(self) -> Walk:
        load_libraries()
        with resting():
            self._run()
        return self

    def _run(self) -> None:
        """Read node after node; what can be reached without the loop's iterator has its path without it.

        A replay that skips the whole loop never makes the iterator.
        """
        self.ref(self.root, ("root",)) if self.base is None else self._visit_root()
        queue, late_done = self._queue, 0
        while queue or self._iterators or late_done < len(self.put_off):
            if queue:
                self._read(queue.popleft())
            elif self._iterators:
                queue.append(self._iterators.popleft())
            else:
                self._read(self.put_off[late_done])
                late_done += 1

    def _visit_root(self) -> None:
        self._seen.add(0)
        self._queue.append(0)

    def _read(self, number: int) -> None:
        self.current = number
        obj = self.root if number == 0 else self.object(number)
        kind = kind_of(type(obj))
        content = kind.read(obj, self)
        if content is not None:
            self.contents[number] = marshal.dumps(content, MARSHAL_VERSION)

    def object(self, number: int) -> Any:
        if number < self.first_new:
            assert self.base is not None
            return self.loose[number] if number in self.loose else self.base.objects[number]
        return self.new_objects[number - self.first_new]

    def _number(self, obj: Any) -> int | None:
        number = None if self.base is None else self.base.number(obj)
        return self.numbers.get(id(obj)) if number is None else number

    def _new(self, obj: Any, edge: Any) -> int:
        number = self.first_new + len(self.new_objects)
        self.numbers[id(obj)] = number
        self.new_objects.append(obj)
        self.new_parents.append(self.current)
        self.new_edges.append(edge)
        hint = None if self.base is None or not self.base.loose else self.base.hint(obj)
        if hint is not None:
            self.hints[number] = hint
            self.loose[hint] = obj
        return number

    def _atom(self, obj: Any, kind: type) -> tuple[Any, ...] | None:
        if kind is dict:
            for space in self.root.modules:
                if obj is space.names:
                    return ("G", space.name)
            return None
        return atoms.atom(obj, kind, self.is_project)

    # -- results ------------------------------------------------------------------------
    def as_base(self) -> Base:
        """The base that this first walk found."""
        digests = [digest(self.contents.get(number, b"")) for number in range(len(self.new_objects))]
        return Base(self.new_objects, self.new_parents, self.new_edges, digests, self.numbers)

    def rebase(self, base: Base) -> None:
        """Stand as a walk from the base that this one has found, and hold what the base lets go of."""
        self.loose = {number: base.objects[number] for number in base.loose}
        if self.base is None:
            self.base, self.first_new = base, len(base.objects)
            self.new_objects, self.new_parents, self.new_edges = [], [], []

    def changed(self) -> dict[int, bytes]:
        """Contents of the entry objects that differ from the base, and of all new objects."""
        assert self.base is not None
        digests = self.base.digests
        return {
            number: content
            for number, content in self.contents.items()
            if number >= self.first_new or digest(content) != digests[number]
        }

    def memory_but(self, written: Iterable[int]) -> dict[int, Memory]:
        """What this walk has seen of the storages of entry objects, but for those written since."""
        found, left_out = {}, set(written)
        entries = len(self.new_objects) if self.base is None else self.first_new  # a first walk makes them
        for number, content in self.contents.items():
            if number < entries and number not in left_out and b"storage" in content[:20]:
                content_of = marshal.loads(content)
                found[number] = (*self.spans.get(number, (0, content_of[1])), content_of[4])
        return found

    def objects(self) -> list[Any]:
        """Every object met but the root."""
        return [self.object(number) for number in self.contents if number]

    def path(self, number: int) -> str:
        """How a user would write the way to a node: ``model.fc.weight``."""
        steps: list[str] = []
        while number > 0:
            if number < self.first_new:
                assert self.base is not None
                parent, edge = self.base.parents[number], self.base.edges[number]
            else:
                parent = self.new_parents[number - self.first_new]
                edge = self.new_edges[number - self.first_new]
            steps.append(edge_text(edge))
            number = parent
        return path_text(steps)


_REGISTERED = re.compile(r"\._(?:parameters|modules|buffers)\['(\w+)'\]")


def path_text(steps: list[str]) -> str:
    """A path from its steps, last one first; parameters and modules as they are written in a program."""
    return _REGISTERED.sub(r".\1", "".join(reversed(steps)).lstrip("."))


def edge_text(edge: Any) -> str:
    """One step of a path in words."""
    tag = edge[0]
    if tag == "a":
        return f".{edge[1]}"
    if tag == "n":
        space = edge[2].lstrip("~").replace(":", ".")  # the mark of what the audit found in a library
        return f".{edge[1]}" if space in ("", "__main__") else f".{space}.{edge[1]}"
    if tag in ("k", "dv", "e"):
        return f"[{edge[1]}]"
    if tag == "d":
        return f"[{edge[1]!r}]"
    if tag in ("ns", "st", "sp"):
        return ""  # a user does not tell a tensor from its memory
    return f".<{tag}>"


def follow_all(parents: Iterable[int], edges: Iterable[Any], root: Root) -> list[Any]:
    """The live entry objects for recorded paths, None where a path leads nowhere."""
    found: list[Any] = []
    for parent, edge in zip(parents, edges, strict=True):
        if edge[0] == "root":
            found.append(root)
            continue
        holder = found[parent]
        try:
            found.append(None if holder is None else _follow(holder, edge))
        except (AttributeError, KeyError, IndexError, TypeError, ValueError):
            found.append(None)
    return found


def _follow(holder: Any, edge: Any) -> Any:
    kind: Kind = kind_of(type(holder))
    return kind.follow(holder, edge)


def live_base(recorded: bytes, root: Root, is_project: Callable[[str], bool]) -> tuple[Base, Walk]:
    """The base of a replayed guard, recorded numbers and live objects; and a walk of what is there now."""
    parents, edges, digests = marshal.loads(recorded)
    walk = Walk(root, None, is_project).run()
    if walk.new_parents == parents and walk.new_edges == edges:  # it gave the same numbers
        return Base(walk.new_objects, parents, edges, digests, walk.numbers), walk
    objects = follow_all(parents, edges, root)
    index = {id(obj): number for number, obj in reversed(list(enumerate(objects))) if obj is not None}
    base = Base(objects, parents, edges, digests, index)
    return base, Walk(root, base, is_project).run()
