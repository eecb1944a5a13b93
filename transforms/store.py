"""What the effect analysis has found out so far: values of variables, stored references, functions' summaries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from .index import Index, Scope
from .knowledge import Facts
from .values import DERIVED, FRESH, LEAVES, NOTHING, SLOT, UNKNOWN, Path, Value, mark_of, outermost, redirected, unmarked

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
    moved: bool = False
    learning: bool = True
    """While true, what is not known yet waits for more rounds; afterwards it counts as unknown."""

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
            pending += sorted(k[5:] for k in self.fields.get((current, "<bases>"), NOTHING).kinds
                              if k.startswith("type:"))

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
        """Return every object a change of `effect` changes, through aliases, stored references and widening."""
        key = (effect, within.id)
        if key not in self._expanded:
            self._expanded[key] = tuple(self._expand(effect, within))
        return self._expanded[key]

    def _expand(self, effect: Path, within: Scope) -> Iterator[Path]:
        pending, seen = [effect], set[Path]()
        while pending:
            path = pending.pop()
            if path in seen or not path:
                continue
            seen.add(path)
            value = self.values.get(path[0], UNKNOWN)
            if value.among("scalar") and path[-1] != SLOT:
                continue
            if value.among(*LEAVES) and path[-1] == DERIVED:
                continue
            if FRESH in value.paths or not value.paths:
                yield path
            pending += self._aliases(path, value, within)
            if not mark_of(path):
                pending += self._contents(path, value)

    def _contents(self, path: Path, value: Value) -> list[Path]:
        """Return what was stored inside an object that is changed as a whole."""
        held = [v for key, v in self.links_of.get(path[0], {}).items() if key[: len(path)] == path and key != path]
        if len(path) == 1:
            classes = {k[6:] for k in value.kinds if k.startswith("class:")}
            held += [v for (owner, _), v in self.fields.items() if owner in classes]
        return [unmarked(p) for v in held for p in v.paths if p and mark_of(p) != DERIVED and not v.among("scalar")]

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
        found = (redirected(base, rest) for paths, rest in sources for base in paths)
        return [p for p in found if p]

    def closure(self, path: Path) -> set[Path]:
        """Return the other paths by which a value read from `path` may be known."""
        pending, seen = [path], set[Path]()
        while pending:
            current = pending.pop()
            if current in seen or not current:
                continue
            seen.add(current)
            pending += [(*base, *current[1:]) for base in self.values.get(current[0], NOTHING).paths
                        if base and base == unmarked(base) and len(base) + len(current) < 8]
        return seen


def _grow(table: dict, key: object, value: Value) -> bool:  # type: ignore[type-arg]
    old = table.get(key, NOTHING)
    new = old | value
    table[key] = new
    return new != old


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
