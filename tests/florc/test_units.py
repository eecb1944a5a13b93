"""Sizes and ages as users write them, and as florc says them."""

from __future__ import annotations

import click
import pytest

from florc import units


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("0", 0), ("17b", 17), ("500MB", 500_000_000), ("500 mb", 500_000_000), ("2GiB", 2 << 30),
        ("1.5g", 1_500_000_000), ("3k", 3000), ("1KiB", 1024), ("1Ti", 1 << 40),
    ],
)  # fmt: skip
def test_a_size_is_read(text, count):
    assert units.parse_size(text) == count


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("12h", 43200), ("30d", 2592000), ("8 W", 4838400)]
)
def test_an_age_is_read(text, seconds):
    assert units.parse_age(text) == seconds


@pytest.mark.parametrize("text", ["", "GB", "17", "5.0", "-1", "1e9", "5XB", "1iB", "5 0", "nan"])
def test_what_is_no_size_is_a_usage_error(text):
    with pytest.raises(click.BadParameter, match="500MB"):
        units.parse_size(text)


@pytest.mark.parametrize("text", ["", "30", "d", "-1d", "5 months", "infd"])
def test_what_is_no_age_is_a_usage_error(text):
    with pytest.raises(click.BadParameter, match="30d"):
        units.parse_age(text)


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 bytes"), (999, "999 bytes"), (1000, "1.0 kB"), (9949, "9.9 kB"), (9950, "10 kB"),
        (999_499, "999 kB"), (999_500, "1.0 MB"), (2 << 30, "2.1 GB"), (5 * 10**15, "5000 TB"),
    ],
)  # fmt: skip
def test_a_size_is_told_in_short(count, text):
    assert units.size(count) == text
