"""Owed memory: what nobody can look at before the next restore is not restored, only promised.

Two thirds of what a training changes are its optimizer's moments, and a probe that reads weights never sees
them. Where nothing but an optimizer's `state` leads to a tensor (sole.py), a restore leaves its memory as it
is and notes here what it owes. While anything is owed, torch's class of optimizers has a descriptor `state`:
whoever reads that attribute (a step, `state_dict`, a pickle, a probe) has the debts paid first. florc's own
walks go by the instance's `__dict__`, and take an owed storage for what it will hold.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from .errors import StoreError
from .lives import OwnRef
from .store import BlobReader

# What drives optimizers in ways of its own: by their `__dict__`, from C++, by compiled or captured steps
STRANGERS = (
    "accelerate",
    "apex",
    "colossalai",
    "deepspeed",
    "fairscale",
    "horovod",
    "lightning",
    "pytorch_lightning",
    "torch._inductor.compile_fx",
    "torch_xla",
)
NAME = "state"
Asked = dict[int, tuple[Any, int, int, str]]  # by id of a storage: it, first byte and end, hash of the bytes


@dataclass(frozen=True)
class Debt:
    """What a storage's memory should hold, and does not hold yet: bytes `start` to `end` of it."""

    storage: Any
    start: int
    end: int
    key: str
    reader: Callable[[str], Any]

    def get(self) -> Any:
        """The bytes owed: a walk's blob."""
        return self.reader(self.key)


class _Trap:
    """The attribute `state` of optimizers while something is owed."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def __get__(self, obj: Any, owner: type) -> Any:
        if obj is None:
            raise AttributeError(f"type object {owner.__name__!r} has no attribute {NAME!r}")
        self._ledger.pay(obj)
        return self._names(obj)[NAME]

    def __set__(self, obj: Any, value: Any) -> None:
        self._ledger.pay(obj)
        vars(obj)[NAME] = value

    def __delete__(self, obj: Any) -> None:
        self._ledger.pay(obj)
        self._names(obj).pop(NAME)

    @staticmethod
    def _names(obj: Any) -> dict[str, Any]:
        names: dict[str, Any] = vars(obj)
        if NAME not in names:
            raise AttributeError(f"{type(obj).__name__!r} object has no attribute {NAME!r}")
        return names


class Ledger:
    """All debts of this process.

    Closed until a replay opens it; then each restore calls `choose`, `owe` and, at its end, `confirm`.
    """

    def __init__(self) -> None:
        self._debts: dict[int, Debt] = {}  # by id of the storage, which the debt holds
        self._debtors: dict[int, tuple[OwnRef, list[int]]] = {}  # by id of the optimizer: it, its storages
        self._refused: dict[int, OwnRef] = {}  # optimizers into whose state other ways lead
        self._reader: BlobReader | None = None
        self._failed: Callable[[StoreError], BaseException] = lambda error: error
        self._lock = threading.RLock()
        self.owed = self.paid = 0  # bytes, in all

    def open(self, reader: BlobReader, failed: Callable[[StoreError], BaseException]) -> None:
        """Let things be owed.

        reader: for this ledger alone; failed: what to raise for a payload that is damaged.
        """
        self._reader, self._failed = reader, failed

    def close(self) -> None:
        """Pay everything, and owe nothing from now on."""
        self.pay_all()
        self._reader = None

    # -- while restoring ------------------------------------------------------------------
    def choose(self, objects: Iterable[Any], asked: Asked) -> list[tuple[Any, Debt]]:
        """(optimizer, debt) for each of the storages asked for that lies in an optimizer's state.

        objects: all that the program holds, as far as it can be seen.
        """
        if not asked or self._reader is None or not _alone():
            return []
        from . import sole

        found = []
        for obj in objects:
            if sole.is_optimizer(obj) and not self._is_refused(obj):
                for storage in sole.storages(obj):
                    if id(storage) in asked:
                        found.append((obj, Debt(*asked[id(storage)], self._reader.get)))
        return found

    def owe(self, debts: list[tuple[Any, Debt]]) -> None:
        """Take debts on: whoever reads the optimizers' state from now on pays them."""
        for optimizer, debt in debts:
            if id(optimizer) not in self._debtors:
                self._debtors[id(optimizer)] = (self._ref(optimizer), [])
            if id(debt.storage) not in self._debts:
                self._debtors[id(optimizer)][1].append(id(debt.storage))
            self._debts[id(debt.storage)] = debt
            self.owed += debt.end - debt.start
        self._set_trap()

    def confirm(self, held: Counter[int]) -> None:
        """Pay at once what others than its optimizer can reach, in the state just restored.

        held: by id, the references to an object that florc itself holds. Raises StoreError.
        """
        from . import sole

        held.update(self._debts.keys())  # each debt holds its storage
        for ref, storages in list(self._debtors.values()):
            optimizer = ref()
            if optimizer is None or set(storages) <= sole.solely(optimizer, held):
                continue
            self._refused[id(optimizer)] = OwnRef(optimizer)
            self._pay(id(optimizer))

    @property
    def is_clear(self) -> bool:
        """True if nothing is owed."""
        return not self._debtors

    def debt(self, storage: Any) -> Debt | None:
        """What is owed to a storage."""
        return self._debts.get(id(storage))

    def settle(self, storage: Any, start: int, end: int) -> None:
        """These bytes of a storage are about to be written: what is owed of them is no longer."""
        debt = self._debts.get(id(storage))
        if debt is None:
            return
        if not start <= debt.start <= debt.end <= end:
            self._or_fail(lambda: self._fill([id(storage)]))
        self._debts.pop(id(storage), None)

    # -- paying ---------------------------------------------------------------------------
    def pay(self, optimizer: Any) -> None:
        """The program looks at an optimizer's state: fill it."""
        if id(optimizer) in self._debtors:
            self._or_fail(lambda: self._pay(id(optimizer)))

    def pay_all(self) -> None:
        """The program may look at anything."""
        for number in list(self._debtors):
            self._or_fail(lambda number=number: self._pay(number))  # type: ignore[misc]

    def _or_fail(self, action: Callable[[], None]) -> None:
        try:
            action()
        except StoreError as error:
            raise self._failed(error) from None

    def _pay(self, number: int) -> None:
        with self._lock:
            if number not in self._debtors:
                return  # another thread was quicker
            storages = [one for one in self._debtors[number][1] if one in self._debts]
            self._fill(storages)
            self._drop(number)

    def _fill(self, storages: list[int]) -> None:
        from .tensors import fill_storage

        assert self._reader is not None
        debts = [self._debts[one] for one in storages]
        data = self._reader.get_all({debt.key for debt in debts})
        for debt in debts:
            fill_storage(debt.storage, debt.start, data[debt.key])
            self.paid += debt.end - debt.start

    def _drop(self, number: int) -> None:
        """Forget what is owed to an optimizer."""
        if number in self._debtors:
            for storage in self._debtors.pop(number)[1]:
                self._debts.pop(storage, None)
        self._set_trap()

    # -- the rest -------------------------------------------------------------------------
    def _ref(self, optimizer: Any) -> OwnRef:
        number = id(optimizer)
        return OwnRef(optimizer, lambda _: self._drop(number))

    def _is_refused(self, optimizer: Any) -> bool:
        ref = self._refused.get(id(optimizer))
        return ref is not None and ref() is optimizer

    def _set_trap(self) -> None:
        """The trap stands exactly while something is owed."""
        module = sys.modules.get("torch.optim")
        if module is None:
            return  # Python ends
        cls: Any = module.Optimizer
        if self._debtors and NAME not in vars(cls):
            setattr(cls, NAME, _Trap(self))
        elif not self._debtors and type(vars(cls).get(NAME)) is _Trap:
            delattr(cls, NAME)


def _alone() -> bool:
    """True if no other thread of the program's runs, and no library that drives optimizers in its own way."""
    others = [one for one in threading.enumerate() if one is not threading.main_thread()]
    if any(type(one).__module__ != "tqdm._monitor" for one in others):
        return False
    return not any(name in sys.modules for name in STRANGERS)


ledger = Ledger()
