"""Instrumented code is kept, and nothing wrong ever comes out of the cache."""

from __future__ import annotations

import pytest

from florc.cache import CodeCache

CODE = compile("x = 1", "train.py", "exec")


@pytest.fixture
def cache(tmp_path):
    return CodeCache(tmp_path)


def test_code_comes_back_as_it_was_put(cache):
    key = cache.key("train.py", "/p/train.py", b"x = 1")
    assert cache.get(key) is None
    cache.put(key, CODE)
    assert cache.get(key) == CODE


def test_the_key_depends_on_source_and_names(cache):
    keys = {
        cache.key(*parts)
        for parts in [("a", "b", b"c"), ("a", "b", b"d"), ("a", "x", b"c"), ("x", "b", b"c")]
    }
    assert len(keys) == 4


@pytest.mark.parametrize(
    "damage", [lambda b: b[:-3], lambda b: b"", lambda b: b[:20] + b"\xff" + b[21:], lambda b: b + b"x"]
)
def test_a_damaged_entry_is_no_entry(cache, tmp_path, damage):
    cache.put("key", CODE)
    [path] = (tmp_path / "cache").iterdir()
    path.write_bytes(damage(path.read_bytes()))
    assert cache.get("key") is None


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path):
    (tmp_path / "cache").write_text("a file in the way")
    CodeCache(tmp_path).put("key", CODE)


def test_the_oldest_entries_go_when_there_are_too_many(cache, tmp_path, monkeypatch):
    monkeypatch.setattr("florc.cache.MAX_ENTRIES", 2)
    for number in range(4):
        cache.put(f"key{number}", CODE)
    assert len(list((tmp_path / "cache").iterdir())) == 2
