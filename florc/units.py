"""Sizes and ages: how a user writes them, and how florc says them."""

from __future__ import annotations

import re

import click

# As on disks' labels and in most tools: kB is 1000 bytes, KiB 1024.
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(?:([kmgt])(i?)b?|b)?", re.IGNORECASE)
_POWERS = {"k": 1, "m": 2, "g": 3, "t": 4}
_AGE = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdwy])", re.IGNORECASE)
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 24 * 3600, "w": 7 * 24 * 3600, "y": 365 * 24 * 3600}


def parse_size(text: str) -> int:
    """Bytes of `500MB`, `2GiB`, `1.5g`; a usage error for what is no size, and for a number without a unit.

    Who writes 5 means 5 GB more often than 5 bytes, and what is removed for that does not come back.
    """
    found = _SIZE.fullmatch(text.strip())
    if found is None or (text.strip()[-1].isdigit() and float(found[1])):
        raise click.BadParameter(f"{text!r} is no size; write 500MB or 2GiB")
    number, letter, binary = found.groups()
    return int(float(number) * (1024 if binary else 1000) ** _POWERS.get((letter or "").lower(), 0))


def parse_age(text: str) -> float:
    """Seconds of `12h`, `30d`, `8w`; a usage error for what is no age."""
    found = _AGE.fullmatch(text.strip())
    if found is None:
        raise click.BadParameter(f"{text!r} is no age; write 12h, 30d or 8w")
    return float(found[1]) * _SECONDS[found[2].lower()]


def size(count: int) -> str:
    """Bytes in short: `386 kB`, `1.3 GB`."""
    value, units = float(count), ["bytes", "kB", "MB", "GB", "TB"]
    while value >= 999.5 and len(units) > 1:  # what would be written 1000
        value /= 1000
        del units[0]
    exact = units[0] == "bytes" or value >= 9.95
    return f"{value:.{0 if exact else 1}f} {units[0]}"


def duration(seconds: float) -> str:
    """A length of time to read at a glance: `0.4 s`, `3.1 s`, `48 s`, `2:05 min`, `1:12 h`."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    unit, parts = ("min", divmod(whole, 60)) if whole < 3600 else ("h", divmod(round(seconds / 60), 60))
    return f"{parts[0]}:{parts[1]:02d} {unit}"


def age(seconds: float) -> str:
    """Seconds in one word: `90 s`, `5 h`, `45 days`."""
    for unit, length in (("days", 24 * 3600), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"
