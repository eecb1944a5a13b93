"""The lines that added statements have printed, with the place in the run where they did."""

from __future__ import annotations

from dataclasses import dataclass, field

Row = tuple[int, int, str, int, int, str]  # main loop, iteration, file, line, stream, text


@dataclass
class Said:
    """Whole lines in order; what one statement writes in pieces is put together."""

    rows: list[Row] = field(default_factory=list)
    _pieces: dict[tuple[int, int, str, int, int], str] = field(default_factory=dict)

    def add(self, where: tuple[int, int], file: str, line: int, fd: int, text: str) -> None:
        place = (*where, file, line, fd)
        *whole, rest = (self._pieces.pop(place, "") + text).split("\n")
        self.rows += [(*place, one) for one in whole]
        if rest:
            self._pieces[place] = rest
