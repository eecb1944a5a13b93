"""The audit: does a loop change what no walk looks at, the libraries' own modules and classes?

Checkpoints hold what is reachable from the project (see graph.py). A program may also keep state in a
library: `torch.seen = 0`, `Metric.total += 1` for a class that is not the project's, `lib.OPTIONS["x"] = y`.
The audit looks at the public data names of all imported modules and classes before and after a loop or
iteration. What has changed is watched from then on: it is part of every later checkpoint, and the earlier
ones, which lack it, are not used.

Looked at: plain values, and lists, dicts and sets one level deep. Functions count where a project's
function has been put in their place. Private names are a library's own business.
"""

from __future__ import annotations

import gc
import sys
import types
from collections.abc import Callable, Container, Iterable
from time import perf_counter  # the real one, whatever stands in `time` later
from typing import Any

from .collector import resting
from .inventory import Inventory
from .live import is_machinery
from .watched import class_key, module_key

FULL, AUTO, OFF = "full", "auto", "off"
FIRST = 2  # executions of each loop that are always looked at, as far as the budget goes
SHARE = 0.25  # of the overhead's seconds that the audit may take
GRACE_SECONDS = 1.0  # ... of which a short run has as many: an audit that is late finds less
SPACING = 2.0  # later looks at a loop: each after so many times as many executions as the one before

# what changes in libraries by itself, and what every checkpoint holds anyway (process.py)
NOISE = frozenset(
    {"~sys", "~os", "~posix", "~nt", "~gc", "~threading", "~linecache", "~warnings", "~builtins", "~inspect"}
    | {"~logging", "~atexit", "~torch.utils.hooks:RemovableHandle"}
)
OWN = ("florc", "xxhash", "dill", "_pytest", "pytest")
# what torch brings along, half of all classes there are: nobody trains in these who does not name them
BYSTANDERS = frozenset(
    {"ast", "asyncio", "ctypes", "email", "http", "mpmath", "sympy", "torchgen", "typing_extensions"}
    | {"unittest", "urllib", "xml"}
)
INNER = tuple(
    f"torch._{room}" for room in ("dynamo", "higher_order_ops", "inductor", "library", "prims_common")
)
IMMUTABLE = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE: made in C, and no attribute of theirs can be set

def _counts(value: Any, was_there: bool, is_own: Callable[[Any], bool]) -> bool:
    """False for what libraries do by themselves: submodules, late imports, functions they wrap."""
    kind = type(value)  # isinstance would ask some libraries' objects, and they warn
    if issubclass(kind, (types.FunctionType, types.MethodType, type)):
        return was_there and is_own(value)
    return not issubclass(kind, (types.ModuleType, types.BuiltinFunctionType))


class Audit:
    """Looks at libraries between two points of a run.

    Args:
        mode: "full" (at each loop and iteration), "auto" (within the overhead) or "off".
        overhead: the user's bound on what recording may add.
        is_project: whether a module's name is one of the project's.
        is_own: whether a function or class is the project's.
        files: the project's files, those that run under another module's name too.
        is_named: whether the project's text has a word in it.
    """

    def __init__(
        self,
        mode: str,
        overhead: float,
        is_project: Callable[[str], bool],
        is_own: Callable[[Any], bool],
        files: Container[str] = (),
        is_named: Callable[[str], bool] = lambda word: True,
    ) -> None:
        self._mode, self._overhead, self._is_named = mode, overhead, is_named
        self._is_project, self._is_own, self._files = is_project, is_own, files
        self._inventory = Inventory()
        self._known: set[int] = set()  # modules and classes that have been asked for
        self._looked_at: dict[str, bool] = {}
        self._named: frozenset[str] = frozenset()  # bystanders that the project's text names
        self._next: dict[str, int] = {}  # block -> the execution that is looked at next
        self.spent = 0.0
        self._longest = 0.0
        self._modules = 0  # how many were loaded at the last look
        self.looks = 0

    def due(self, block: str, execution: int, elapsed: float) -> bool:
        """True if this execution (from 0) of a block is to be looked at."""
        if self._mode != AUTO:
            return self._mode == FULL
        if execution < self._next.get(block, 0):
            return False
        if self.spent + 2 * self._longest > SHARE * max(GRACE_SECONDS, self._overhead * elapsed):
            return False
        later = execution + 1 if execution + 1 < FIRST else int((execution + 1) * SPACING)
        self._next[block] = later
        return True

    def stop(self) -> None:
        """Look no more."""
        self._mode = OFF

    def look(self) -> dict[str, list[str]]:
        """Key of a module or class -> public names that have changed since the last look.

        Nothing where modules were imported meanwhile; the loops are then due again.
        """
        started = perf_counter()
        found = {}
        for key, changed, before, now in self._inventory.changes():
            names = [name for name in changed if _counts(now.get(name), name in before, self._is_own)]
            if names and key not in NOISE:
                found[key] = names
        if len(sys.modules) != self._modules:
            self._modules = len(sys.modules)
            with resting():
                self._find_new()
            found = {}  # modules that are imported register with others: the next look tells that from state
            self._next.clear()
        took = perf_counter() - started
        self.spent += took
        self._longest = max(self._longest, took) if self.looks else 0.0  # the first look makes the inventory
        self.looks += 1
        return found

    def _find_new(self) -> None:
        """Take in the modules and classes that have come since the last look."""
        self._named = BYSTANDERS if self._mode == FULL else frozenset(filter(self._is_named, BYSTANDERS))
        known, asked = self._known, self._looked_at
        found: list[tuple[str, dict[str, Any]]] = []
        for name, module in list(sys.modules.items()):
            if id(module) not in known and self._concerns(name):
                known.add(id(module))
                names = getattr(module, "__dict__", None)
                if type(names) is not dict or names.get("__file__") in self._files:
                    continue
                if "._" not in name and self._is_looked_at(name):
                    found.append((module_key(name), names))
        for cls in _classes():
            if id(cls) in known or cls.__flags__ & IMMUTABLE:
                continue
            home: Any = cls.__module__
            looked_at = asked.get(home) if type(home) is str else False
            if looked_at is None:
                if not self._concerns(home):
                    continue
                looked_at = self._is_looked_at(home)
            known.add(id(cls))
            if looked_at and "<" not in cls.__qualname__:
                # public ones are often made in private modules
                found.append((class_key(cls), gc.get_referents(cls.__dict__)[0]))
        self._inventory.extend(found)

    def _concerns(self, module: str) -> bool:
        """False for a bystander that no text of the project's names yet; "full" leaves nobody out."""
        top = module.partition(".")[0]
        return top not in BYSTANDERS or top in self._named

    def _is_looked_at(self, module: Any) -> bool:
        if type(module) is not str or self._is_project(module):
            return False
        known = self._looked_at.get(module)  # thousands of classes come from a few hundred modules
        if known is None:
            top = module.partition(".")[0]
            known = top not in OWN and not top.startswith("_") and not is_machinery(module)
            known = self._looked_at[module] = known and (self._mode == FULL or not module.startswith(INNER))
        return known


def _classes() -> Iterable[type]:
    """All classes there are."""
    seen: set[type] = set()
    pending: list[type] = [object]
    while pending:
        cls: type
        for cls in type.__subclasses__(pending.pop()):
            if cls not in seen:
                seen.add(cls)
                pending.append(cls)
    return seen
