"""The user's key: made once, private, shared by all who race for it; unfit files are refused."""

from __future__ import annotations

import multiprocessing
import os
import stat
from pathlib import Path

import pytest

from florc.runtime import key as keys
from florc.runtime.errors import StoreError
from florc.runtime.key import Key


@pytest.fixture
def file(tmp_path, monkeypatch):
    """A key file that is not there yet."""
    path = tmp_path / "config" / "florc" / "key"
    monkeypatch.setenv("FLORC_KEY_FILE", str(path))
    return path


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o277])
def test_the_first_who_asks_makes_a_private_key(file, umask):
    before = os.umask(umask)
    try:
        (file.parent.parent).mkdir(mode=0o700)
        file.parent.parent.chmod(0o700)
        made = keys.obtain()
    finally:
        os.umask(before)
    assert (mode(file), mode(file.parent)) == (0o600, 0o700)
    assert len(made.secret) == keys.SIZE and made.kept
    assert keys.obtain() == keys.read() == made
    assert os.listdir(file.parent) == ["key"]


def test_reading_makes_none(file):
    assert keys.read() is None
    assert not file.exists()


def test_the_key_lies_in_the_configuration_folder(tmp_path, monkeypatch):
    monkeypatch.delenv("FLORC_KEY_FILE")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "x"))
    assert keys.path() == tmp_path / "x" / "florc" / "key"
    for ignored in ("relative", ""):
        monkeypatch.setenv("XDG_CONFIG_HOME", ignored)
        assert keys.path() == tmp_path / ".config" / "florc" / "key"


def _obtain(queue: multiprocessing.Queue[str]) -> None:
    queue.put(keys.obtain().id)


@pytest.mark.parametrize("links", [True, False], ids=["hard links", "no hard links"])
def test_all_who_race_for_it_get_the_same_key(file, monkeypatch, links):
    def no_link(source: object, target: object) -> None:
        raise PermissionError("no links here")

    if not links:
        monkeypatch.setattr(os, "link", no_link)
    context = multiprocessing.get_context("fork")
    queue: multiprocessing.Queue[str] = context.Queue()
    racers = [context.Process(target=_obtain, args=(queue,)) for _ in range(8)]
    for racer in racers:
        racer.start()
    found = {queue.get(timeout=60) for _ in racers}
    for racer in racers:
        racer.join()
    assert found == {keys.obtain().id}


def test_the_name_of_a_key_tells_nothing_of_it_and_purposes_part_keys():
    key = Key(bytes(32))
    assert key.id != Key(b"\1" * 32).id
    assert key.secret.hex()[:16] != key.id and repr(key.secret) not in repr(key)
    assert len({key.derive(b"a"), key.derive(b"b"), key.secret}) == 3


@pytest.mark.parametrize("bits", [0o640, 0o604])
def test_a_key_that_others_can_read_is_used_with_a_warning(file, bits):
    told: list[str] = []
    made = keys.obtain()
    file.chmod(bits)
    assert keys.read(told.append) == made
    assert [f"chmod 600 {file}" in words for words in told] == [True]


@pytest.mark.parametrize("bits", [0o620, 0o602, 0o666])
def test_a_key_that_others_can_write_is_refused(file, bits):
    keys.obtain()
    file.chmod(bits)
    with pytest.raises(StoreError, match="others can write"):
        keys.read()


def test_a_key_of_another_user_is_refused(file, monkeypatch):
    keys.obtain()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(StoreError, match="another user"):
        keys.read()


@pytest.mark.parametrize("text", [b"", b"abc", b"g" * 64, b"a" * 63, b"a" * 66, b"\xff" * 64, b"a" * 1000])
def test_a_file_that_holds_no_key_is_refused(file, text, monkeypatch):
    monkeypatch.setattr(keys, "WAIT_SECONDS", 0.05)
    keys.obtain()
    file.write_bytes(text)
    with pytest.raises(StoreError, match="holds no key"):
        keys.obtain()
    assert file.read_bytes() == text


def test_a_folder_or_pipe_in_the_place_of_the_key_is_refused(file):
    file.mkdir(parents=True)
    with pytest.raises(StoreError):
        keys.read()
    file.rmdir()
    os.mkfifo(file, 0o600)
    with pytest.raises(StoreError, match="no regular file"):
        keys.read()
