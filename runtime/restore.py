"""Putting a recorded state back: entry objects in place, new objects made and bound."""

from __future__ import annotations

import marshal
from collections.abc import Callable, Mapping
from typing import Any

from . import atoms
from .errors import CannotRestore
from .graph import Base
from .iterators import Iterator, held_by, variables
from .kind import instance_dict
from .kinds import kind_of
from .lost import Lost

# kinds without weak references that are written in place: only such an object follows a hint
IN_PLACE = frozenset({"list", "dict", "cell", "object", "torch.Module"})


class Build:
    """One restore. Gives kinds the live value of every encoded reference.

    Args:
        base: the live entry objects by recorded number.
        contents: contents of every node that is to be written or made, by number.
        fetch: bytes of a blob by its hash.
        allowed: per namespace, the names the record knew.
        entry: recorded contents of entry objects, for those that are not there.
        live: the entry objects that the base does not hold, as far as a walk has met them.
        order: per namespace, the names bound, in their order.
        hints: new objects that may be an entry object of this number.
    """

    def __init__(
        self,
        base: Base,
        contents: Mapping[int, bytes],
        fetch: Callable[[str], bytes],
        allowed: Mapping[str, frozenset[str]],
        entry: Mapping[int, bytes],
        live: Mapping[int, Any],
        order: Mapping[str, list[str]],
        hints: Mapping[int, int],
    ) -> None:
        self.ran_code = False  # code of others ran: it may have changed anything
        self.hints = hints
        self.live = live
        self.order = order
        self.base = base
        self.contents = contents
        self.fetch = fetch
        self.allowed = allowed
        self.entry = entry
        self._made: dict[int, Any] = {}
        self._unfilled: list[tuple[Any, Any]] = []

    def get(self, ref: Any) -> Any:
        """The live value of an encoded reference (new objects may still be empty)."""
        if type(ref) is not tuple:
            return ref
        return self._node(ref[0]) if len(ref) == 1 else atoms.resolve(ref)

    def whole(self, ref: Any) -> Any:
        """Like get, but what is new is filled."""
        value = self.get(ref)
        self.fill()
        return value

    def is_new(self, obj: Any) -> bool:
        return any(obj is made for made in self._made.values())

    def _node(self, number: int) -> Any:
        if number < len(self.base.objects):
            found = self.base.objects[number]
            found = self.live.get(number) if found is None else found
            return self._missing(number) if found is None else found
        if number not in self._made:
            content = marshal.loads(self.contents[number])
            there = self.live.get(self.hints.get(number, -1))
            if there is None or content[0] not in IN_PLACE or kind_of(type(there)).tag != content[0]:
                self._made[number] = self._make(content)
            else:
                self._made[number] = there
                self._unfilled.append((there, content))
        return self._made[number]

    def _missing(self, number: int) -> Any:
        """An entry object that is not there (it hung on an iterator, say), made from its recorded content."""
        packed = self.contents.get(number) or self.entry.get(number)
        if not packed:
            raise CannotRestore(f"the program no longer has what the record had at {self.base.path(number)}")
        made = self._make(marshal.loads(packed))
        self.base.put(number, made)
        return made

    def _make(self, content: Any) -> Any:
        made = kind_for_tag(content[0]).make(content, self)
        if type(made) is Lost:
            object.__setattr__(made, "_content", content)
        self._unfilled.append((made, content))
        return made

    def fill(self) -> None:
        """Fill every object made so far, and those made meanwhile."""
        while self._unfilled:
            made, content = self._unfilled.pop()
            kind_of(type(made)).write(made, content, self)

    def apply(self, numbers: list[int]) -> None:
        """Write the contents of these entry objects into the live ones."""
        loaded = [(self._node(number), marshal.loads(self.contents[number])) for number in numbers]
        for obj, content in loaded:
            if content[0] == Iterator.tag:
                self.ran_code = True
                self._bring(obj, content)
        for obj, content in sorted(loaded, key=_order):
            kind = kind_of(type(obj))
            if kind.tag != content[0]:
                raise CannotRestore(f"a {kind.tag} stands where the record had a {content[0]}")
            kind.write(obj, content, self)
            self.fill()


    def _bring(self, obj: Any, content: Any) -> None:
        """Move an iterator to where the record's stood; what it then holds takes new objects' places."""
        Iterator.advance(obj, content[2])
        names = dict(content[4])
        set_later = {ref[0] for ref in names.values() if _is_node(ref)}
        for item, ref in zip(held_by(obj), content[3], strict=False):
            if _is_node(ref) and ref[0] not in set_later:
                self._adopt(item, ref)
        there = variables(obj)
        for name, ref in names.items():  # the others are made, and set
            if name in there and _is_node(ref) and self._tag(ref) in (Iterator.tag, "object"):
                self._adopt(there[name], ref)

    def _adopt(self, there: Any, ref: Any) -> None:
        """Let an object that hangs on a moved iterator be the recorded new one, if it is of the same kind."""
        number = ref[0]
        tag, kind = self._tag(ref), kind_of(type(there))
        if number < len(self.base.objects) or number in self._made or kind.tag != tag:
            return
        if tag not in IN_PLACE and tag != Iterator.tag:
            return
        entry = self.base.number(there)
        if entry is not None:  # nothing but what is moved holds it, or the state will not be the record's
            self.base.forget(entry, there)
        content = marshal.loads(self.contents[number])
        self._made[number] = there
        self._unfilled.append((there, content))
        if tag == Iterator.tag:
            self._bring(there, content)
        elif tag == "object":
            names = instance_dict(there) or {}
            for name, held in content[2][0] or ():
                if name in names and _is_node(held):
                    self._adopt(names[name], held)

    def _tag(self, ref: Any) -> str:
        """The kind of a recorded node; "" if the checkpoint does not have it."""
        packed = self.contents.get(ref[0])
        return marshal.loads(packed)[0] if packed else ""


def _is_node(ref: Any) -> bool:
    return type(ref) is tuple and len(ref) == 1 and type(ref[0]) is int


def _order(item: tuple[Any, Any]) -> int:
    """Storages first: tensors and what hangs on them refer to them."""
    return 0 if item[1][0] == "storage" else 1


_BY_TAG: dict[str, Any] = {}


def kind_for_tag(tag: str) -> Any:
    """The kind that writes a content with this tag."""
    if tag not in _BY_TAG:
        from . import kinds

        for kind in (
            list(kinds._KINDS.values())
            + [kind for _, kind in kinds._BASES]
            + [
                kinds._REDUCED,
                kinds._LIVE,
                kinds._LOGGER,
                kinds._BAR,
                kinds._MACHINERY,
                kinds._ARRAY,
                kinds._INSTANCE,
                kinds._FILE,
                kinds._ITERATOR,
                *kinds.LIBRARY_KINDS,
            ]
        ):
            _BY_TAG[kind.tag] = kind
    return _BY_TAG[tag]
