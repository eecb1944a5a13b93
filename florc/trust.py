"""Whom florc believes: the user's key, who else may write the store, what is wrong with a run's record."""

from __future__ import annotations

from pathlib import Path

from . import messages
from .cache import CodeCache
from .errors import EXIT_REFUSED, EXIT_USAGE, FlorcError
from .runtime import key as keys
from .runtime import private
from .runtime.errors import StoreError
from .runtime.journal import Reading
from .runtime.key import Key
from .runtime.runs import Run


def signing_key() -> Key:
    """The key to record with: the user's; where none can be kept, one for this run, with a warning."""
    try:
        return kept_key()
    except FlorcError as error:
        messages.warning(
            f"{error.message}: the run is recorded, but to be replayed it will need "
            f"florc runs import --trust; or {error.hint}"
        )
        return keys.unkept()


def kept_key() -> Key:
    """The user's key, made if there is none; FlorcError where none can be kept."""
    try:
        return keys.obtain(messages.warning)
    except (OSError, StoreError) as error:
        why = error.message if isinstance(error, StoreError) else f"{keys.path()}: {error.strerror}"
        hint = f"name a file for the key with {keys.VARIABLE}"
        raise FlorcError(f"no key can be kept ({why})", hint=hint, exit_code=EXIT_REFUSED) from None


def cache(store: Path) -> CodeCache:
    """What replays keep in a store, as far as the user's key is at hand."""
    return CodeCache(store, keys.read() or keys.unkept())


def check_store(store: Path, *, recording: bool = False) -> None:
    """Refuse a store that everybody may write, warn of one that its group may.

    What florc loads is signed, so others can hardly do more than damage it; but nothing good needs such a
    folder, and one command mends it. Groups share folders for good reasons.
    """
    try:
        who = private.writers(store)
    except OSError:
        return  # there is none, or it will say so itself
    if who == "everybody":
        code = EXIT_USAGE if recording else EXIT_REFUSED
        raise FlorcError(f"everybody can write the store {store}", hint=f"chmod o-w {store}", exit_code=code)
    if who:
        messages.warning(
            f"{who} can write the store {store}, and so remove or damage runs; chmod go-w {store}"
        )


def flaws(run: Run, read: Reading) -> tuple[str, ...]:
    """Why a run's record is not whole, each in a sentence; empty if it is, or a kill explains what lacks."""
    found = list(run.flaws)
    if read.damage:
        found.append(f"{read.damage}: nothing after that is printed")
    elif run.finished is not None and not any(event[0] in ("E", "stop") for event in read.events):
        place = f"byte {read.end} of {read.size}"
        found.append(f"the journal of the run ends before the run did: it was cut short ({place})")
    return tuple(found)
