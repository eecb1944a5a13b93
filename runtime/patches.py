"""Replace attributes of modules and classes, and put them back."""
from __future__ import annotations

from typing import Any


class Patches:
    """Keep a list of replaced attributes. Calls: put(...) any number of times, then undo()."""

    def __init__(self) -> None:
        self._made: list[tuple[Any, str, Any, Any]] = []

    def put(self, holder: Any, name: str, value: Any) -> None:
        """Set holder.name, remembering what stood there (the descriptor itself, not what it gives)."""
        before = vars(holder)[name]
        setattr(holder, name, value)
        self._made.append((holder, name, before, value))

    def undo(self) -> None:
        """Put everything back, newest first; what someone else replaced since then stays theirs."""
        while self._made:
            holder, name, before, value = self._made.pop()
            if vars(holder).get(name) is value:
                setattr(holder, name, before)
