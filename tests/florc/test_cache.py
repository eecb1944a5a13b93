"""Instrumented code is kept, and nothing wrong ever comes out of the cache."""

from __future__ import annotations

import pytest

from florc.cache import CodeCache
from florc.runtime.key import Key

KEY = Key(bytes(32))
CODE = compile("x = 1", "train.py", "exec")


@pytest.fixture
def cache(tmp_path):
    return CodeCache(tmp_path, KEY)


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
    CodeCache(tmp_path, KEY).put("key", CODE)


def test_the_oldest_entries_go_when_there_are_too_many(cache, tmp_path, monkeypatch):
    monkeypatch.setattr("florc.cache.MAX_ENTRIES", 2)
    for number in range(4):
        cache.put(f"key{number}", CODE)
    assert len(list((tmp_path / "cache").iterdir())) == 2


def test_what_another_key_signed_is_no_entry(tmp_path):
    CodeCache(tmp_path, Key(b"x" * 32)).put("key", CODE)
    assert CodeCache(tmp_path, KEY).get("key") is None


def test_an_entry_under_another_name_is_no_entry(cache, tmp_path):
    cache.put("key", CODE)
    (tmp_path / "cache" / "key.code").rename(tmp_path / "cache" / "other.code")
    assert cache.get("other") is None


def test_a_key_that_is_not_kept_keeps_no_code(tmp_path):
    cache = CodeCache(tmp_path, Key(bytes(32), kept=False))
    cache.put("key", CODE)
    assert cache.get("key") is None
    assert not (tmp_path / "cache").exists()
