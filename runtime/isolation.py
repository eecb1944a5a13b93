"""Probes see the recorded run and leave it as it is: what one changes is put back after it."""

from __future__ import annotations

import marshal
import sys
from collections.abc import Mapping
from typing import Any

from . import atoms, process
from .checkpoint import is_iterator
from .errors import CannotRestore
from .graph import MARSHAL_VERSION, Walk, edge_text, path_text
from .guards import frame_names
from .owed import ledger
from .project import Project
from .restore import Build
from .roots import Namespace, Root

_UNBOUND = object()  # in the place of the value of a name that has none


class NoProbe:
    """The inert guard of a probe: outside a replay nothing is put back."""

    values: tuple[Any, ...] = ()

    def leave(self) -> None:
        """Nothing to put back."""

    def lacks(self, name: str) -> bool:
        return False


class Isolated(NoProbe):
    """The state before a probe that may change it.

    Args:
        own: names of the frame that belong to probes; what hangs on them alone is theirs.
        shared: name of a module -> such names of it.
        names: recorded names of the frame that the probe may rebind.
    """

    def __init__(
        self,
        project: Project,
        frame: Any,
        own: frozenset[str],
        names: tuple[str, ...],
        shared: Mapping[str, frozenset[str]],
    ) -> None:
        self._project, self._frame, self._names = project, frame, names
        self._own, self._shared = own, shared
        before = frame_names(frame)
        self._allowed = self._without_own(before)
        ledger.pay_all()
        walk = Walk(self._root(before), None, project.is_project).run()
        self._base = walk.as_base()
        self._contents = walk.contents
        self._blobs = {key: bytes(blob.get()) for key, blob in walk.blobs.items()}
        self._process = process.capture()
        self.unbound = frozenset(name for name in names if name not in before)
        self.values = tuple(before.get(name) for name in names)

    def _without_own(self, frame: dict[str, Any]) -> dict[str, frozenset[str]]:
        found = {
            "": frozenset(name for name in frame if name not in self._own and not name.startswith("_florc"))
        }
        for space in self._project.spaces.values():
            own = self._shared.get(space.name, frozenset())
            found[space.name] = frozenset(
                name
                for name in space.names
                if name not in own and not name.startswith(("_florc", "__"))
            )
        return found

    def _root(self, frame: dict[str, Any]) -> Root:
        return Root(frame, list(self._project.spaces.values()), self._allowed)

    def lacks(self, name: str) -> bool:
        return name in self.unbound

    def restore(self) -> list[str]:
        """Put back what the probe changed; its paths in words. CannotRestore where that does not go."""
        frame = frame_names(self._frame)
        rebound = []
        for name, value in zip(self._names, self.values, strict=True):
            before = _UNBOUND if name in self.unbound else value
            if not self._same(before, frame.get(name, _UNBOUND)):
                rebound.append(name)
            frame[name] = value
        walk = Walk(self._root(frame), self._base, self._project.is_project).run()
        changed = [
            number
            for number, content in walk.contents.items()
            if 0 < number < len(self._base.objects) and content != self._contents.get(number)
        ]
        words = rebound + [word for number in changed for word in self._words(walk, number)]
        moved = process.differences(self._process, process.capture())
        if any(is_iterator(self._contents[number]) for number in changed):
            raise CannotRestore("they move an iterator of the program, which does not go back")
        if changed:
            build = Build(self._base, self._contents, self._blobs.__getitem__, self._allowed, {}, {}, {}, {})
            build.apply(changed)
            build.fill()
        process.restore(self._process)
        return list(dict.fromkeys(words + moved))  # `x += y` may rebind a name and change its object

    def _words(self, walk: Walk, number: int) -> list[str]:
        """What a user would call a changed object; of a module's globals, the names bound otherwise."""
        space = self._base.objects[number]
        if space is getattr(sys.modules.get("torch"), "default_generator", self):
            return []  # it is told of as torch's, not as what some function of torch holds
        if not isinstance(space, Namespace):
            return [walk.path(number)]
        before, after = (_bindings(found[number]) for found in (self._contents, walk.contents))
        names = sorted(before.keys() | after.keys())
        return [
            path_text([edge_text(("n", name, space.name))])
            for name in names
            if before.get(name) != after.get(name)
        ]

    def _same(self, one: Any, other: Any) -> bool:
        """True for one object, and for values that a walk could not tell apart."""
        if one is other or type(one) is not type(other):
            return one is other
        if type(one) in atoms.PLAIN:
            return _bits(one) == _bits(other)
        atom, compared = (atoms.atom(obj, type(obj), self._project.is_project) for obj in (one, other))
        return atom is not None and _bits(atom) == _bits(compared)


def _bits(value: Any) -> bytes:
    """What two values are compared by: 0.0 is not -0.0, 1 is not True, one NaN is itself."""
    return marshal.dumps(value, MARSHAL_VERSION)


def _bindings(content: bytes) -> dict[str, bytes]:
    """What each name of a module's globals is bound to, from the content of its node."""
    return {name: _bits(ref) for name, ref in marshal.loads(content)[1]}
