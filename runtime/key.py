"""The user's key: 32 random bytes that sign what florc records, so that it loads nothing that others wrote.

It lies outside every store, in $XDG_CONFIG_HOME/florc/key (else ~/.config/florc/key; FLORC_KEY_FILE names
another file), in hexadecimal digits, readable by the user alone. The first recording makes it.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from . import private
from .errors import StoreError

VARIABLE = "FLORC_KEY_FILE"
SIZE = 32  # bytes: twice what can be guessed in any future
ID_SIZE = 8  # bytes: tells one user's keys apart, no more
# a key that another process is writing where there are no hard links is whole well within this time
WAIT_SECONDS, WAIT_STEP = 2.0, 0.01


@dataclass(frozen=True)
class Key:
    """A key, and whether it is kept: what an unkept one has signed cannot be verified later."""

    secret: bytes = field(repr=False)
    kept: bool = True

    @property
    def id(self) -> str:
        """Names the key without telling of it."""
        return hashlib.blake2b(b"id", key=self.secret, person=b"florc key", digest_size=ID_SIZE).hexdigest()

    def derive(self, purpose: bytes) -> bytes:
        """Another key, of use for this purpose alone."""
        return hashlib.blake2b(purpose, key=self.secret, person=b"florc derive", digest_size=SIZE).digest()


def unkept() -> Key:
    """A key for one recording, where none can be kept."""
    return Key(os.urandom(SIZE), kept=False)


def path() -> Path:
    """Where the key lies. StoreError where there is no home."""
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named).absolute()
    config = os.environ.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(config):  # the standard: a relative one is to be ignored
        config = os.path.join(os.path.expanduser("~"), ".config")
    if not os.path.isabs(config):
        raise StoreError("there is no home folder to keep florc's key in", f"name a file with {VARIABLE}")
    return Path(config, "florc", "key")


def read(warn: Callable[[str], None] = lambda text: None) -> Key | None:
    """The user's key; None if there is none yet. StoreError for one that is not fit for use.

    A file that others can read is used with a warning: to misuse it they would have to write into the
    store as well, which is closed to them. One that others can write, or own, is not the user's key.
    """
    file = path()
    try:
        fd = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StoreError(f"cannot read the key {file}: {error.strerror}", "check its permissions") from None
    try:
        _check(os.fstat(fd), file, warn)
        secret = _secret(fd)
    finally:
        os.close(fd)
    if len(secret) != SIZE:
        raise StoreError(f"{file} holds no key of florc", f"move it away, or name another with {VARIABLE}")
    return Key(secret)


def _secret(fd: int) -> bytes:
    digits = os.read(fd, 4 * SIZE)
    end = time.monotonic() + WAIT_SECONDS
    while len(digits) < 2 * SIZE and time.monotonic() < end:  # somebody is just writing it
        time.sleep(WAIT_STEP)
        digits += os.read(fd, 4 * SIZE)
    try:
        return bytes.fromhex(digits.decode("ascii"))
    except ValueError:
        return b""


def _check(status: os.stat_result, file: Path, warn: Callable[[str], None]) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise StoreError(f"the key {file} is no regular file", f"name another with {VARIABLE}")
    if status.st_uid != os.geteuid():
        raise StoreError(f"the key {file} belongs to another user", f"name your own with {VARIABLE}")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise StoreError(f"others can write the key {file}", f"make a new one: rm {file}")
    if status.st_mode & (stat.S_IRGRP | stat.S_IROTH):
        warn(f"others can read the key {file}, and could sign runs in your name; chmod 600 {file}")


def obtain(warn: Callable[[str], None] = lambda text: None) -> Key:
    """The user's key, made if there is none. OSError or StoreError where it cannot be kept."""
    found = read(warn)
    if found is None:
        _make(path())
        found = read(warn)
    if found is None:
        raise StoreError(f"the key {path()} is gone again", "record again")
    return found


def _make(file: Path) -> None:
    """Make the file whole at once; of two that try, one makes it and both use it."""
    private.make_folder(file.parent)
    text = os.urandom(SIZE).hex().encode("ascii") + b"\n"
    aside = file.with_name(f".{file.name}.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        _write_new(aside, text)
        try:
            os.link(aside, file)
        except FileExistsError:
            return
        except OSError:  # no hard links here: readers wait until it is whole
            with suppress(FileExistsError):
                _write_new(file, text)
    finally:
        aside.unlink(missing_ok=True)


def _write_new(file: Path, text: bytes) -> None:
    fd = private.open_file(file, os.O_WRONLY | os.O_EXCL)
    try:
        os.write(fd, text)
        os.fsync(fd)
    finally:
        os.close(fd)
