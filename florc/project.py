"""What belongs to the user's project, how its files are named, and where the store lies."""

from __future__ import annotations

import os
import sys
import sysconfig
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from .errors import FlorcError
from .runtime import private

STORE_VARIABLE = "FLORC_DIR"
STORE_NAME = ".florc"
IGNORE_ALL = "# made by florc: nothing in here belongs into version control\n*\n"

# folders of installed packages, wherever they lie (another virtual environment inside the project too)
_PACKAGE_FOLDERS = frozenset({"site-packages", "dist-packages"})


def store_name(option: str | None) -> str:
    """What names the store: --store, else FLORC_DIR, else ./.florc."""
    return option or os.environ.get(STORE_VARIABLE) or STORE_NAME


def is_url(name: str) -> bool:
    """True for a store that lies on no file system."""
    return "://" in name


def store_folder(option: str | None) -> Path:
    """The absolute path of the store. Creates nothing. FlorcError for a URL, which replays alone can read."""
    name = store_name(option)
    if is_url(name):
        raise FlorcError(
            f"a store behind a URL ({name}) can be replayed from, and no more",
            hint="use a folder, and copy it there with the tools of that place",
        )
    return Path(name).absolute()


def store_above(store: Path) -> Path | None:
    """The nearest store in a folder above, where `store` is the default one and is not there."""
    if store.name != STORE_NAME or store.exists():
        return None
    return next((above / STORE_NAME for above in store.parent.parents if (above / STORE_NAME).is_dir()), None)


def prepare_store(store: Path) -> None:
    """Create the store, private, with its own .gitignore; raise OSError where that fails."""
    private.make_folder(store)
    ignore = store / ".gitignore"
    if not ignore.exists():
        private.write(ignore, IGNORE_ALL.encode("utf-8"))


def git_root(folder: str) -> str | None:
    """The nearest folder at or above `folder` that holds a .git entry."""
    for candidate in (Path(folder), *Path(folder).parents):
        if (candidate / ".git").exists():
            return str(candidate)
    return None


@lru_cache(maxsize=1)
def _own_folders() -> tuple[str, ...]:
    """Where florc itself lies, its rooms linked from elsewhere included."""
    here = os.path.dirname(os.path.abspath(__file__))
    rooms = [here, *(os.path.join(here, room) for room in ("transforms", "runtime"))]
    return tuple({*rooms, *map(os.path.realpath, rooms)})


def _is_own(path: str) -> bool:
    return any(is_inside(path, folder) for folder in _own_folders())


@lru_cache(maxsize=1)
def _python_folders() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The standard library's and installed packages' folders, and the prefixes python lives in."""
    library = {path for key, path in sysconfig.get_paths().items() if key in _LIBRARY_KEYS}
    prefixes = {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix}
    return tuple(sorted(library)), tuple(sorted(prefixes))


_LIBRARY_KEYS = frozenset({"stdlib", "platstdlib", "purelib", "platlib"})


def is_inside(path: str, folder: str) -> bool:
    """Whether the absolute `path` is `folder` or lies below it (by name alone)."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


@dataclass(frozen=True)
class Project:
    """The user's project, seen from the program that runs.

    folder: what python puts first on sys.path: the script's folder, or the current one under -m.
    root: the git root that holds `folder`, else the current folder if that holds it, else `folder` itself.
    include: top-level packages to be treated as the project's, wherever they are installed.
    """

    folder: str
    root: str
    include: frozenset[str] = frozenset()

    @classmethod
    def of(cls, folder: str, include: tuple[str, ...] = ()) -> Project:
        """The project a program in `folder` belongs to."""
        here = os.getcwd()
        without_git = here if is_inside(folder, os.path.realpath(here)) else folder
        return cls(folder, git_root(folder) or without_git, frozenset(include))

    def file_id(self, path: str) -> str:
        """The name of a file in block ids: its posix path as seen from the program's folder.

        A module beside that folder is `../lib/model.py`: a name that cannot be that of another file.
        """
        return Path(os.path.relpath(path, self.folder)).as_posix()

    def owns(self, path: str, module: str = "") -> bool:
        """Whether the source file at `path`, imported as `module`, is the project's own code."""
        path = os.path.abspath(path)
        if self.include and module.partition(".")[0] in self.include:
            return not _is_own(path)
        return self._is_below(path) and not self.is_installed(path)

    def _is_below(self, path: str) -> bool:
        return is_inside(path, self.folder) or is_inside(path, self.root)

    def is_installed(self, path: str) -> bool:
        """Whether a file belongs to python, to an installed package or to florc.

        A prefix that holds the project itself (a project in /usr/src, a python in /usr) says nothing.
        """
        if not _PACKAGE_FOLDERS.isdisjoint(path.split(os.sep)):
            return True
        library, prefixes = _python_folders()
        telling = [*library, *(prefix for prefix in prefixes if not is_inside(self.folder, prefix))]
        return any(is_inside(path, folder) for folder in telling) or _is_own(path)
