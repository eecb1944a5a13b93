"""What the recorded events say is at a path at this point of the replay. Pure: no disk, no clock."""
from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

Event = tuple[Any, ...]

# events that change what is at a path
CHANGES = frozenset({"write", "mkdir", "remove", "rename", "symlink", "link", "opaque"})


class Source(Enum):
    """Where the contents of a file are to be had."""

    OVERLAY = "written in this replay, completely"
    PARTIAL = "written in this replay, but for parts that were skipped"
    KEPT = "kept by the record"
    SKIPPED = "written where the replay skipped"
    UNKNOWN = "there before the run, contents not kept"


@dataclass(slots=True)
class Node:
    """One path that the run (or the replayed program) changes or creates."""

    path: str
    kind: str = ""                      # "file", "dir", "link", or "": nothing there
    source: Source = Source.UNKNOWN
    key: str = ""                       # of the contents, for KEPT
    why: str = ""                       # in words, for UNKNOWN
    target: str = ""                    # of a link, as written
    mtime_ns: int = 0                   # for KEPT
    stamp: tuple[int, int] | None = None    # size and time of change, for KEPT by a "read" event
    recorded: bool = False              # the record names it
    history: list[int] = field(default_factory=list)    # places of its events, in order
    done: int = -1                      # place of its last event that has been replayed or skipped
    # one for each time the replayed program opened it for writing: whether that is still open
    handles: list[Callable[[], bool]] = field(default_factory=list)

    def is_open(self) -> bool:
        """Whether the replayed program may still write to it without opening it again."""
        self.handles = [is_open for is_open in self.handles if is_open()]
        return bool(self.handles)


class Ledger:
    """Follow the recorded events as the replay goes on.

    Calls: consume(...) when the replayed program does what an event says, skip_to(...) when the replay has
    jumped over events; node(...) and the moves say what is there now.

    Args:
        events: (sequence number, event), in the order of the record.
        moved: called with (source, target) before a skipped rename of something that is there.
    """

    def __init__(self, events: Iterable[tuple[int, Event]], moved: Callable[[str, str], None]) -> None:
        listed = list(events)
        self._numbers = [number for number, _ in listed]
        self.events: Sequence[Event] = [event for _, event in listed]
        self._moved = moved
        self._place = 0                                   # events before it are done, one way or the other
        self.nodes: dict[str, Node] = {}
        self.children: dict[str, dict[str, None]] = {}    # folder -> names of nodes in it
        self.left: dict[str, tuple[int, int]] = {}
        self.links = 0                                    # how many links came up: most runs have none
        self.opaque: set[str] = set()                     # databases used where the replay skipped
        self.jumped = False
        for place, event in enumerate(self.events):
            self._learn(place, event)

    def _learn(self, place: int, event: Event) -> None:
        kind, path = event[0], event[1]
        if kind == "left":
            self.left[path] = (event[2], event[3])
        elif kind == "prior":
            node = self.node(path)
            node.recorded = True
            _, _, _, node.kind, key, node.why = event[:6]
            node.mtime_ns = event[6] if len(event) > 6 else 0
            if key is not None:
                node.source, node.key = Source.KEPT, key
            if node.kind == "link":
                node.target = node.why
                self.links += 1
        elif kind == "read" or kind in CHANGES:
            for named in _paths(event):
                node = self.node(named)
                node.recorded = True
                node.history.append(place)
            if kind == "rename":  # what comes with a folder is not there before, whatever the disk has by now
                for below in list(self._below(path)):
                    self.node(event[2] + below[len(path):])

    def _below(self, folder: str) -> Iterator[str]:
        """The paths of nodes in a folder and its folders."""
        for name in self.children.get(folder, ()):
            path = f"{folder}/{name}"
            yield path
            yield from self._below(path)

    def node(self, path: str) -> Node:
        """The node of a path; a new one says that nothing is there."""
        node = self.nodes.get(path)
        if node is None:
            node = self.nodes[path] = Node(path)
            folder, _, name = path.rpartition("/")
            self.children.setdefault(folder or "/", {})[name] = None
        return node

    def coming(self, node: Node) -> Iterator[tuple[int, Event]]:
        """Events of a node that are still to come, with their places."""
        for place in node.history[bisect_right(node.history, node.done):]:
            yield place, self.events[place]

    def consume(self, node: Node, kinds: Iterable[str]) -> Event | None:
        """The next event of these kinds, which the replayed program is doing now; None if none comes."""
        wanted = frozenset(kinds)
        for place, event in self.coming(node):
            if event[0] in wanted:
                node.done = place
                return event
        return None

    def consume_read(self, node: Node) -> Event | None:
        """The "read" event that the replayed program is doing now, None if the record has none here.

        Where a change comes first, this is another read: of what was there before the run changed it.
        """
        for place, event in self.coming(node):
            if event[0] == "read":
                node.done = place
                return event
            break
        return None

    def changes_come(self, node: Node) -> bool:
        """Whether the record goes on to change this path."""
        return any(event[0] in CHANGES for _, event in self.coming(node))

    def skip_to(self, number: int, jumped: bool = True) -> None:
        """Take the events up to this sequence number as done: apply those that were not replayed.

        jumped: whether program text was skipped, so that files left open miss what it wrote to them.
        """
        if jumped:
            self.jumped = True
            for node in self.nodes.values():
                if node.handles and node.source is Source.OVERLAY and node.is_open():
                    node.source = Source.PARTIAL
        while self._place < len(self.events) and self._numbers[self._place] <= number:
            event = self.events[self._place]
            if event[0] == "read" or event[0] in CHANGES:
                nodes = [self.node(path) for path in _paths(event)]
                if all(self._place > node.done for node in nodes):
                    self._apply(event)
                for node in nodes:
                    node.done = max(node.done, self._place)
            self._place += 1

    def _apply(self, event: Event) -> None:
        kind, node = event[0], self.node(event[1])
        if kind in ("write", "opaque"):
            node.kind, node.source = "file", Source.SKIPPED
            if kind == "opaque":
                self.opaque.add(node.path)
        elif kind == "read":
            if event[3] is not None and not node.is_open():
                self.kept(node, event)
        elif kind == "mkdir":
            node.kind = "dir"
        elif kind == "remove":
            node.kind = ""
        elif kind == "symlink":
            self.set_link(node, event[2])
        elif kind == "rename":
            self._moved(event[1], event[2])
            self.move(event[1], event[2])
        elif kind == "link":
            self.copy(node, self.node(event[2]))

    def kept(self, node: Node, read: Event) -> None:
        """Say that a node holds what this "read" event found."""
        node.kind, node.source, node.key = "file", Source.KEPT, read[3]
        node.mtime_ns = read[6] if len(read) > 6 else 0
        node.stamp = (read[5], read[6]) if len(read) > 6 else None

    def set_link(self, node: Node, target: str) -> None:
        """Say that a node is a symbolic link."""
        node.kind, node.target = "link", target
        self.links += 1

    def copy(self, source: Node, target: Node) -> None:
        """Give target what source holds, as far as the record has it."""
        target.kind, target.key, target.mtime_ns = source.kind, source.key, source.mtime_ns
        target.target = source.target
        target.source = source.source if source.source is Source.KEPT else Source.SKIPPED

    def move(self, source: str, target: str) -> None:
        """Say that source, with all below it, is at target now."""
        below = [path for path in self.nodes if path.startswith(source + "/")]
        for path in [source, *below]:
            old, new = self.node(path), self.node(target + path[len(source):])
            new.kind, new.source, new.key, new.why = old.kind, old.source, old.key, old.why
            new.target, new.mtime_ns, new.stamp = old.target, old.mtime_ns, old.stamp
            new.handles = old.handles
            new.recorded = new.recorded or old.recorded
            old.kind, old.handles = "", []


def _paths(event: Event) -> tuple[str, ...]:
    """The paths whose state an event concerns, the one that was acted on first."""
    if event[0] == "rename":
        return event[1], event[2]
    return (event[2], event[1]) if event[0] == "link" else (event[1],)
