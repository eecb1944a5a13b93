"""What the effect analysis has found out so far: values of variables, stored references, functions'
summaries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from .index import Index, Scope
from .knowledge import Facts
from .values import (
    ANYWHERE,
    DERIVED,
    FRESH,
    LEAVES,
    MAX_EFFECTS,
    NOTHING,
    SLOT,
    UNKNOWN,
    Path,
    Value,
    mark_of,
    outermost,
    redirected,
    step,
    substituted,
    unmarked,
)

Key = TypeVar("Key")
MAX_ALIASES = 16
"""Most paths one object is looked up by; beyond it everything stored in any of its variables is taken."""
MAX_WORK = 150_000
"""Most steps through aliases for one project: about three seconds. The largest of the training projects tried
takes a tenth of it; past it the estimate is a coarse one, since `florc explain` must answer at once."""


@dataclass(frozen=True)
class Summary:
    """What calling one function may do, in terms of its parameters, captured variables and globals."""

    changes: frozenset[Path] = frozenset()
    returns: Value = NOTHING
    calls: frozenset[str] = frozenset()


@dataclass
class Store:
    """All that is known so far; every entry only grows, and `moved` tells whether one did."""

    index: Index
    facts: Mapping[str, Facts]
    values: dict[str, Value] = field(default_factory=dict)
    """Variable -> what it may refer to."""
    links: dict[Path, Value] = field(default_factory=dict)
    """Path -> what was stored there."""
    links_of: dict[str, dict[Path, Value]] = field(default_factory=dict)
    """The same links, by variable."""
    fields: dict[tuple[str, str], Value] = field(default_factory=dict)
    """(class, attribute) -> what was stored there in any instance."""
    actuals: dict[str, Value] = field(default_factory=dict)
    """Parameter -> what any caller passed for it."""
    summaries: dict[str, Summary] = field(default_factory=dict)
    _expanded: dict[tuple[Path, str], tuple[Path, ...]] = field(default_factory=dict)
    """Answers of `expand`, forgotten whenever something it reads grows."""
    _stored: dict[Path, frozenset[Path]] = field(default_factory=dict)
    """Answers of `_contents`, likewise."""
    _work: int = 0
    overrun: bool = False
    """A limit was hit: what is found is not all. Estimates must then name everything in reach."""
    moved: bool = False
    learning: bool = True
    """While true, what is not known yet waits for more rounds; afterwards it counts as unknown."""

    @property
    def exhausted(self) -> bool:
        """Tell whether the analysis has taken all the work it may."""
        return self._work > MAX_WORK

    def still_unknown(self, attribute: str) -> bool:
        """Tell whether more may be learnt about an attribute: some code of the project sets it."""
        return self.learning and attribute in self.index.stored_attributes

    def add_value(self, variable: str, value: Value) -> None:
        self._note(_grow(self.values, variable, value))

    def add_link(self, path: Path, value: Value) -> None:
        self._note(_grow(self.links, path, value))
        self.links_of.setdefault(path[0], {})[path] = self.links[path]

    def add_field(self, owner: str, name: str, value: Value) -> None:
        self._note(_grow(self.fields, (owner, name), value))

    def add_actual(self, variable: str, value: Value) -> None:
        self._note(_grow(self.actuals, variable, value))
        self._note(_grow(self.values, variable, Value(frozenset({FRESH}), value.kinds)))

    def _note(self, grown: bool) -> None:
        if grown:
            self.moved = True
            self._expanded.clear()
            self._stored.clear()

    def add_summary(self, scope: str, summary: Summary) -> None:
        old = self.summaries.get(scope, Summary())
        merged = Summary(
            outermost(old.changes | summary.changes), old.returns | summary.returns, old.calls | summary.calls
        )
        if merged != old:
            self.summaries[scope] = merged
            self.moved = True

    def ancestors(self, cls: str) -> Iterator[Scope]:
        """Yield a class and the project classes it inherits from, nearest first."""
        pending, seen = [cls], set[str]()
        while pending:
            current = pending.pop(0)
            if current in seen:
                continue
            seen.add(current)
            yield self.index.scopes[current]
            pending += sorted(
                k[5:] for k in self.fields.get((current, "<bases>"), NOTHING).kinds if k.startswith("type:")
            )

    def family(self, cls: str) -> Iterator[Scope]:
        """Yield a class, its project ancestors, and every project class that inherits from it."""
        above = list(self.ancestors(cls))
        yield from above
        for scope in self.index.scopes.values():
            if scope.is_class and scope not in above and any(a.id == cls for a in self.ancestors(scope.id)):
                yield scope

    def methods(self, cls: str, name: str) -> list[Scope]:
        """Return the functions `instance.name` may mean: the nearest definition and every override below."""
        above = {a.id for a in self.ancestors(cls)}
        nearest = next((m for a in self.ancestors(cls) if (m := self.index.methods(a, name))), [])
        below = [m for c in self.family(cls) if c.id not in above for m in self.index.methods(c, name)]
        return [*nearest, *below]

    def expand(self, effect: Path, within: Scope) -> tuple[Path, ...]:
        """Return every object a change of `effect` changes, through aliases, stored references and
        widening."""
        key = (effect, within.id)
        if key not in self._expanded:
            self._expanded[key] = tuple(self._expand(effect, within))
        return self._expanded[key]

    def _expand(self, effect: Path, within: Scope) -> Iterator[Path]:
        pending, seen = [effect], set[Path]()
        visits: Counter[str] = Counter()
        while pending:
            path = pending.pop()
            if not path or path in seen or (path[:1] in seen and mark_of(path) != DERIVED):
                continue
            visits[path[0]] += 1
            if visits[path[0]] > MAX_EFFECTS and len(path) > 1:  # so many parts: the whole object, then
                pending.append((path[0], DERIVED) if mark_of(path) == DERIVED and len(path) > 2 else path[:1])
                continue
            seen.add(path)
            self._work += 1
            value = self.values.get(path[0], UNKNOWN)
            if value.among("scalar") and path[-1] != SLOT:
                continue
            if value.among(*LEAVES) and path[-1] == DERIVED:
                continue
            if (FRESH in value.paths or not value.paths) and self._is_told(path[0], within):
                yield path
            found = set(self._aliases(path, value, within))
            if not mark_of(path):
                found.update(self._contents(path, value))
            pending += found - seen

    def _is_told(self, variable: str, within: Scope) -> bool:
        """Tell whether a variable can mean anything to this scope or to one that calls it."""
        owner = self.index.scopes[scope_of(variable)]
        return not owner.is_function or is_visible(variable, within) or variable in self.index.captured

    def _contents(self, path: Path, value: Value) -> Iterable[Path]:
        """Return what was stored inside an object that is changed as a whole."""
        if path not in self._stored:
            held = [
                v
                for key, v in self.links_of.get(path[0], {}).items()
                if key != path and (key[: len(path)] == path or key[1] == ANYWHERE)
            ]
            if len(path) == 1:
                classes = {k[6:] for k in value.kinds if k.startswith("class:")}
                held += [v for (owner, _), v in self.fields.items() if owner in classes]
            paths = {p for v in held if not v.among("scalar") for p in v.paths if p and p[-1] != DERIVED}
            self._stored[path] = frozenset(unmarked(p) for p in paths)
        return self._stored[path]

    def _aliases(self, path: Path, value: Value, within: Scope) -> list[Path]:
        if path[-1] == SLOT and len(path) == 2:
            return []  # the variable itself is rebound: what it referred to stays as it is
        sources: list[tuple[Iterable[Path], Path]] = [(value.paths, path[1:])]
        if not is_visible(path[0], within) and path[0] in self.actuals:
            sources.append((self.actuals[path[0]].paths, path[1:]))
        bare = unmarked(path)
        for length in range(1, len(bare) + 1):
            if path[-1] == SLOT and length == len(bare):
                break  # a slot is written: the object that was in it stays as it is
            if bare[:length] in self.links:
                sources.append((self.links[bare[:length]].paths, path[length:]))
        if (path[0], ANYWHERE) in self.links and len(path) > 1:
            sources.append(
                (self.links[path[0], ANYWHERE].paths, path[-1:] if mark_of(path) == DERIVED else ())
            )
        found = (redirected(base, rest) for paths, rest in sources for base in paths)
        return [p for p in found if p]

    def read(self, paths: Iterable[Path], segment: str) -> Value:
        """Return what was stored under attribute (or element) `segment` of any object `paths` may mean."""
        result = NOTHING
        for known in {k for p in paths for k in self.closure(p)}:
            if known[-1] == ANYWHERE:
                for held in self.links_of.get(known[0], {}).values():
                    result = result | held
            else:
                result = result | self.links.get(step(known, segment), NOTHING)
                result = result | self.links.get((known[0], ANYWHERE), NOTHING)
        return result

    def write(self, path: Path, segment: str, value: Value) -> None:
        """Note that `value` was stored under `segment` of the object `path` means, by whatever name it is
        known."""
        for known in self.closure(path):
            self.add_link(known if known[-1] == ANYWHERE else step(known, segment), value)

    def closure(self, path: Path) -> set[Path]:
        """Return the paths by which the object a path means may be known; `*` paths where there are too
        many."""
        pending, seen = [path], set[Path]()
        while pending and len(seen) < MAX_ALIASES:
            current = pending.pop()
            if current in seen or not current:
                continue
            seen.add(current)
            pending += [
                substituted(base, current[1:])
                for base in self.values.get(current[0], NOTHING).paths
                if base and not mark_of(base)
            ]
        if not set(pending) - seen:
            return seen
        roots, waiting = set[str](), [p[0] for p in (*seen, *pending) if p]
        while waiting:
            root = waiting.pop()
            if root not in roots:
                roots.add(root)
                waiting += [b[0] for b in self.values.get(root, NOTHING).paths if b]
        return {(root, ANYWHERE) for root in roots}


def _grow(table: dict[Key, Value], key: Key, value: Value) -> bool:
    old = table.get(key, NOTHING)
    table[key] = old | value
    return table[key] != old


def scope_of(variable: str) -> str:
    """Return the id of the scope a variable belongs to."""
    return variable.rpartition("|")[0]


def is_visible(variable: str, within: Scope) -> bool:
    """Tell whether a variable belongs to a scope or to one around it."""
    here: Scope | None = within
    while here is not None:
        if here.id == scope_of(variable):
            return True
        here = here.parent
    return False
