"""A run's description, `run.json`: fields in, fields out, with the MAC that says who wrote them.

    format      the version of all the files of a run
    key, salt   which key the run is sealed with (null: one that could not be kept), and the salt of its seal
    check, mac  plain and keyed hash of all other fields
"""

from __future__ import annotations

import hmac
import json
import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from . import large, private
from .errors import StoreError
from .key import Key
from .seal import Seal, canonical, checksum

FORMAT = 7
OLDEST = 6  # the oldest format that can be read: earlier ones number what an iterator holds otherwise
FILE = "run.json"
FRAME = frozenset({"format", "check", "mac"})  # what is said of the fields
MAX_BYTES = 64 << 20  # a description has some kilobytes; its arguments may be a few megabytes (ARG_MAX)
MAX_PID = 1 << 22  # Linux's own limit


class Foreign(StoreError):
    """A run that this user's key has not sealed, as intact as a look at it can tell.

    script: what it says of its program.
    """

    def __init__(self, message: str, hint: str, script: str) -> None:
        super().__init__(message, hint)
        self.script = script


def trust_hint(folder: Path) -> str:
    """How a run becomes the user's own."""
    return f"if you trust who wrote it: florc runs import --trust {folder}"


def check_owner(folder: Path) -> None:
    """Refuse a run whose files are not all this user's own; StoreError.

    Large payloads, which may be thousands, are looked at when they are read.
    """
    for entry in (folder, *sorted(folder.iterdir())):
        status = entry.lstat()
        is_right = stat.S_ISDIR if entry in (folder, folder / large.FOLDER) else stat.S_ISREG
        if not is_right(status.st_mode):
            raise StoreError(f"{entry} is a link or device", f"remove the run: florc runs rm {folder.name}")
        if status.st_uid != os.geteuid():
            raise StoreError(f"{entry} belongs to another user (uid {status.st_uid})", trust_hint(folder))


def read(folder: Path, name: str | None = None) -> dict[str, Any]:
    """The fields of a description; StoreError where there are none that this version can read.

    name: what the run is called in words, where that is not its folder's name.
    """
    name = name or folder.name
    path = folder / FILE
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(fd, "rb") as stream:
            text = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}", "the run may be incomplete") from None
    try:
        data = json.loads(text) if len(text) <= MAX_BYTES else None
    except (ValueError, RecursionError):
        raise StoreError(
            f"{path} is damaged",
            f"restore it from a copy, or remove the run: florc runs rm {name}",
        ) from None
    if not isinstance(data, dict) or type(data.get("format")) is not int:
        raise StoreError(f"{path} is no description of a run", f"remove it: florc runs rm {name}")
    _check_format(data["format"], name)
    return data


def _check_format(version: int, name: str) -> None:
    if version > FORMAT:
        message = f"the run {name} was recorded by a newer florc (format {version}, known: {FORMAT})"
        raise StoreError(message, "upgrade florc to read it")
    if version < OLDEST:
        message = f"the run {name} was recorded by an older florc (format {version}, needed: {OLDEST})"
        raise StoreError(message, f"record again, and remove it: florc runs rm {name}")


def verify(data: Mapping[str, Any], folder: Path, key: Key | None) -> Seal:
    """The seal of a run, if this key has sealed its description; Foreign or StoreError otherwise."""
    fields = plain(data)
    hint = trust_hint(folder)
    if key is None or fields.get("key") != key.id:
        raise Foreign(_not_mine(folder.name, fields), hint, str(fields.get("script")))
    seal = seal_of(data, key)
    if seal is None:
        message = f"{folder / FILE} was altered or damaged after florc wrote it: its signature is wrong"
        raise StoreError(message, hint)
    if fields.get("run") != folder.name:
        raise StoreError(f"{folder} holds the run {fields.get('run')}, not {folder.name}", hint)
    return seal


def seal_of(data: Mapping[str, Any], key: Key) -> Seal | None:
    """The seal of a run whose description this key has signed; None if it has not, or not as it is now."""
    fields = plain(data)
    if fields.get("key") != key.id:
        return None
    seal = Seal.of(key, str(fields.get("salt")))
    said = data.get("mac")
    right = seal.description(fields)
    return seal if isinstance(said, str) and hmac.compare_digest(right.encode(), said.encode()) else None


def _not_mine(name: str, fields: Mapping[str, Any]) -> str:
    """Why a run is not this user's, in words."""
    if fields.get("key") is None:
        return f"the run {name} was recorded where no key could be kept, so nothing shows that it is yours"
    return f"the run {name} was not recorded with your key: its checkpoints may be somebody else's code"


def plain(data: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that the hashes are of."""
    return {name: value for name, value in data.items() if name not in FRAME}


def is_whole(data: Mapping[str, Any]) -> bool:
    """Whether a description is as some florc has written it (everybody can make this so)."""
    return bool(data.get("check") == checksum(plain(data)))


def write(folder: Path, fields: Mapping[str, Any], seal: Seal) -> None:
    """Write a description with its hashes. In ASCII: paths may hold bytes that are no text."""
    fields = json.loads(canonical(fields))  # as a reader will see them
    data = {"format": FORMAT, **fields, "check": checksum(fields), "mac": seal.description(fields)}
    private.write(folder / FILE, (json.dumps(data, indent=1) + "\n").encode("ascii"), sync=True)


def check_fields(fields: Mapping[str, Any], folder: Path) -> None:
    """StoreError for a field of another kind than the run's description has."""
    for name, value in fields.items():
        check = _KINDS.get(name, _is_text)
        if not check(value):
            message = f"{folder / FILE}: its field '{name}' makes no sense"
            raise StoreError(message, f"remove the run: florc runs rm {folder.name}")
    if "script" not in fields:
        raise StoreError(f"{folder / FILE} does not name its script")


def _is_text(value: Any) -> bool:
    """A string that may be a path, an argument or an environment variable's value."""
    return isinstance(value, str) and "\0" not in value


def _texts(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(map(_is_text, value))


def _maybe(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or check(value)


def _is_int(value: Any) -> bool:
    return type(value) is int


_KINDS: dict[str, Callable[[Any], bool]] = {
    "module": lambda value: isinstance(value, bool),
    "argv": _texts,
    "include": _texts,
    "flaws": _texts,
    "finished": _maybe(_is_text),
    "exit_code": _maybe(_is_int),
    "torch": _maybe(_is_text),
    "env": lambda value: isinstance(value, dict) and all(map(_is_text, value.values())),
    "hash_seed": _maybe(lambda value: isinstance(value, str) and value.isascii() and value.isdigit()),
    "git": _maybe(_is_text),
    "threads": _maybe(_is_int),
    "rank": _maybe(_is_int),
    "pid": _maybe(lambda value: _is_int(value) and 0 < value <= MAX_PID),
    "key": _maybe(_is_text),
    "imported_from": lambda value: isinstance(value, dict),
}
