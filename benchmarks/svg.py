"""Grouped horizontal bars as SVG text: enough of a plot for a page of figures, the same bytes every time."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

COLORS = ("#1b6ca8", "#9aa5b1", "#e0a030", "#b5533c", "#6a9a5b", "#7d5ba6")
_LABELS, _PLOT, _VALUES = 170, 480, 110  # widths of the columns, in px
_BAR, _GAP, _TOP = 11, 10, 64


@dataclass(frozen=True)
class Bar:
    """One series' bar in a group: its length in the axis's unit, and what stands beside it."""

    value: float | None
    text: str


def bars(title: str, series: Sequence[str], groups: Sequence[tuple[str, Sequence[Bar]]], limit: float) -> str:
    """Draw groups of bars, one bar a series; a bar longer than `limit` is cut, its text tells."""
    height = _TOP + sum(len(found) * _BAR + _GAP for _, found in groups) + 8
    width = _LABELS + _PLOT + _VALUES
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
             'font-family="sans-serif" font-size="11">',
             f'<rect width="{width}" height="{height}" fill="white"/>',
             f'<text x="8" y="20" font-size="14" font-weight="bold">{escape(title)}</text>']
    x = 8
    for number, name in enumerate(series):
        parts.append(f'<rect x="{x}" y="32" width="10" height="10" fill="{COLORS[number]}"/>'
                     f'<text x="{x + 14}" y="41">{escape(name)}</text>')
        x += 30 + 7 * len(name)
    y = _TOP
    for label, found in groups:
        middle = y + len(found) * _BAR / 2 + 4
        parts.append(f'<text x="{_LABELS - 8}" y="{middle:.0f}" text-anchor="end">{escape(label)}</text>')
        for number, bar in enumerate(found):
            length = 0.0 if bar.value is None else max(0.0, min(bar.value, limit)) / limit * _PLOT
            parts.append(f'<rect x="{_LABELS}" y="{y}" width="{length:.1f}" height="{_BAR - 2}" '
                         f'fill="{COLORS[number]}"/><text x="{_LABELS + length + 4:.1f}" y="{y + _BAR - 3}" '
                         f'font-size="9">{escape(bar.text)}</text>')
            y += _BAR
        y += _GAP
    parts.append(f'<line x1="{_LABELS}" y1="{_TOP - 6}" x2="{_LABELS}" y2="{height - 8}" stroke="#444"/>'
                 '</svg>\n')
    return "\n".join(parts)
