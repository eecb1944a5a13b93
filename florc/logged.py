"""`florc.log`: note a value under a name, in the run's log instead of in its text.

It is called from training loops, of programs that nobody records too: nothing is imported for it.
"""

from __future__ import annotations

import sys
from typing import TypeVar

T = TypeVar("T")

SESSION = "florc.runtime.session"


def log(name: str, value: T) -> T:
    """Note a value and return it.

    While the program is recorded, the value goes into its log with the variables of the loops around the
    call; from a line that was added since, into what replays note of that run. `florc logs` shows both. Under
    plain Python it does nothing. Numbers (those of NumPy, and of tensors with no dimension, too), text, and
    lists and dicts of such are kept as they are; of all else its repr(). TypeError where the name is no text.
    """
    if type(name) is not str:
        raise TypeError(f"the name of a value is text, not {type(name).__name__}: florc.log(name, value)")
    session = sys.modules.get(SESSION)
    if session is not None:
        session.log(name, value, sys._getframe(1))
    return value
