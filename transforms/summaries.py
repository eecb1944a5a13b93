"""Summaries of every function of a project: what a call may change, what it returns, whom it calls.

Order: `build_index` (scopes) -> `summarize` runs a `Walker` over every scope until nothing moves (recursion
settles that way, since everything only grows) -> `effects.py` walks single loops against the finished
`Store`.
"""

from __future__ import annotations

from .index import Index
from .knowledge import facts_of
from .store import Store
from .values import NOTHING, UNKNOWN
from .walker import Walker

MAX_ROUNDS = 40
"""Rounds over all scopes before giving up on settling; real projects take three to eight."""


def summarize(index: Index) -> Store:
    """Run the analysis over a whole project until it settles."""
    defined = {s.node.name for s in index.scopes.values() if hasattr(s.node, "name")}
    store = Store(index, {file: facts_of(tree, defined) for file, tree in index.trees.items()})
    for _ in range(MAX_ROUNDS):
        store.moved = False
        for scope in reversed(list(index.scopes.values())):
            if store.exhausted:
                break
            Walker(store, scope).run()
        if store.exhausted or (not store.moved and not _assume_unknown(store)):
            break
    else:
        store.overrun = True
    store.overrun |= store.exhausted
    store.learning = False
    return store


def _assume_unknown(store: Store) -> bool:
    """Take what nothing in the project tells about (a parameter nobody passes) for unknown; tell whether any
    was."""
    store.moved, store.learning = store.learning, False
    for scope in store.index.scopes.values():
        for name in sorted(scope.bound - scope.globals - scope.nonlocals):
            variable = f"{scope.id}|{name}"
            if not store.values.get(variable, NOTHING).kinds:
                store.add_value(variable, UNKNOWN)
    return store.moved
