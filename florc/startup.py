"""What has to happen before florc's own imports: the hash seed, the import path, a note of what was loaded.

Imports next to nothing, since all of it is lost when the interpreter is started again.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

HASH_SEED = "PYTHONHASHSEED"
DEFAULT_SEED = "0"

_loaded_before: frozenset[str] = frozenset()
_began = time.perf_counter()
_path_was_inserted = False
_path_entry: str | None = None


def begin() -> None:
    """Note the time and the modules that are loaded, and take python's own entry off the import path.

    Under `python -m florc` that entry is the current folder: a `queue.py` or `click.py` of the user
    lying there must not be imported by florc. `runner` puts the program's entry in its place.
    """
    global _began, _loaded_before, _path_was_inserted
    _began = time.perf_counter()
    _loaded_before = frozenset(sys.modules)
    _path_was_inserted = not (getattr(sys.flags, "safe_path", False) or sys.flags.isolated)
    if _path_was_inserted and sys.path:
        del sys.path[0]


def began() -> float:
    """When this process came to florc, by perf_counter."""
    return _began


def loaded_before() -> frozenset[str]:
    """The names of the modules that were loaded before florc imported anything (as in every python)."""
    return _loaded_before


def set_path_entry(folder: str) -> None:
    """Give the program the first entry of sys.path that python would have given it (none under -P and -I)."""
    global _path_entry
    if _path_was_inserted:
        sys.path.insert(0, folder)
        _path_entry = folder


@contextmanager
def own_imports() -> Iterator[None]:
    """Import for florc's own sake, without looking into the program's folder."""
    entry = sys.path[0] if sys.path and _path_entry is not None and sys.path[0] == _path_entry else None
    if entry is None:
        yield
        return
    del sys.path[0]
    try:
        yield
    finally:
        sys.path.insert(0, entry)


def hash_seed() -> str | None:
    """The fixed hash seed of this process, None when strings hash differently in each process."""
    seed = os.environ.get(HASH_SEED)
    if not seed or seed == "random" or sys.flags.ignore_environment:
        return None
    return seed


def pin_hash_seed(seed: str | None = None) -> None:
    """Start the interpreter again with the hash seed fixed; return at once if it is so already.

    seed: the value it must have (a replay takes the recorded one); None: any fixed value will do.
    The process id, the standard streams, -X, -W and -m stay as they are. Nothing is done under -E
    and -I, where python does not read the environment.
    """
    have = hash_seed()
    if sys.flags.ignore_environment or not sys.executable or (have is not None and seed in (None, have)):
        return
    environment = {**os.environ, HASH_SEED: seed or DEFAULT_SEED}
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)


def forget_shadowed(folder: str) -> None:
    """Forget the modules florc imported whose names the program's own folder has too.

    A `click.py` or `queue.py` beside the script is what the script imports under python; florc keeps
    the ones it has already bound.
    """
    try:
        entries = os.listdir(folder)
    except OSError:
        return
    own = {entry.partition(".")[0] for entry in entries if _is_importable(folder, entry)}
    for name in list(sys.modules):
        top = name.partition(".")[0]
        if top in own and name not in _loaded_before and top not in _NEVER_FORGOTTEN:
            del sys.modules[name]


# florc itself (started in its own source tree), and the program's own module
_NEVER_FORGOTTEN = frozenset({"florc", "__main__", "__mp_main__", *sys.builtin_module_names})


def _is_importable(folder: str, entry: str) -> bool:
    if entry.endswith((".py", ".so", ".pyd")):
        return True
    return os.path.isfile(os.path.join(folder, entry, "__init__.py"))
