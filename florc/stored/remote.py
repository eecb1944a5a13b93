"""A store behind a URL (`s3://…`, `gs://…`, `file://…`), read through a copy on this machine.

fsspec and what it brings along (threads, event loops) stay out of the process that replays a program:
another one fetches. The copy is a store like any other: what florc loads from it is looked at as everywhere,
so whoever can write there can damage a run, and no more. The runs' descriptions come first; of the run that
is replayed, all.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from florc import messages, project
from florc.errors import EXIT_REFUSED, EXIT_USAGE, FlorcError
from florc.runtime import description, large, private, runs
from florc.runtime.errors import StoreError

from .archive import NAMES, large_of

FOLDER = "stores"  # in the user's cache
ASIDE = ".fetched"  # behind the name of a file that is being fetched
_DIGEST_SIZE = 8  # bytes: tells one user's URLs apart


def opened(option: str | None, run: str | None) -> tuple[Path, str]:
    """(the store's folder, its URL or "" if it is none); a copy has the descriptions of its runs.

    run: the one that will be replayed, if it was named. FlorcError where the URL cannot be read.
    """
    url = project.store_name(option)
    if not project.is_url(url):
        return project.store_folder(option), ""
    folder = _copy_of(url)
    _fetch(url, "descriptions", folder, run or "")
    return folder, url


def complete(url: str, run: runs.Run) -> None:
    """Fetch what the copy lacks of a run."""
    _fetch(url, "run", run.folder.parents[1], run.run)


def beside(store: Path, url: str) -> Path:
    """The store as scripts are named: one behind a URL counts as ./.florc."""
    return Path(project.STORE_NAME).absolute() if url else store


def _copy_of(url: str) -> Path:
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):  # the standard: a relative one is to be ignored
        base = os.path.join(os.path.expanduser("~"), ".cache")
    name = hashlib.blake2b(url.encode(errors="surrogateescape"), digest_size=_DIGEST_SIZE).hexdigest()
    folder = Path(base, "florc", FOLDER, name)
    try:
        private.make_folder(folder)
        private.make_folder(folder / runs.FOLDER)
    except OSError as error:
        raise FlorcError(
            f"no copy of {url} can be kept in {folder}: {error.strerror}",
            hint="name another folder with XDG_CACHE_HOME",
            exit_code=EXIT_REFUSED,
        ) from None
    return folder


def _fetch(url: str, what: str, folder: Path, run: str) -> None:
    """Let another process fetch; what it says is passed on."""
    import subprocess  # no replay of a store on this machine should load it

    words = [sys.executable, "-m", "florc.stored.fetching", url, what, str(folder), run]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False)
    if done.returncode:
        raise FlorcError(
            f"the store {url} cannot be read",
            hint="the line above says why",
            exit_code=EXIT_USAGE if done.returncode == EXIT_USAGE else EXIT_REFUSED,
        )


# -- in the other process -----------------------------------------------------------------------------------
def fetch(url: str, what: str, folder: str, run: str) -> int:
    """Fetch descriptions or a run into the copy; an exit code, told if it is not 0."""
    try:
        import fsspec
    except ImportError:
        messages.error(f"a store behind a URL ({url}) needs fsspec; pip install 'florc[remote]'")
        return EXIT_USAGE
    try:
        files, path = fsspec.core.url_to_fs(url)
        with _alone(Path(folder)):
            if what == "run":
                _run(files, path, Path(folder), run)
            else:
                _descriptions(files, path, Path(folder), run)
    except Exception as error:  # of any kind: each protocol has its own
        what_it_says = " ".join(str(error).split())
        messages.error(f"{url}: {type(error).__name__}: {what_it_says}")
        return EXIT_REFUSED
    return 0


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Workers of one machine fetch one after the other; the later ones find what the first has fetched."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(OSError):  # a file system without locks: each fetches for itself
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _descriptions(files: Any, path: str, folder: Path, only: str) -> None:
    """The descriptions of all runs, or of one; runs that are not there any more go."""
    above = f"{path.rstrip('/')}/{runs.FOLDER}"
    names = [name for name in ([only] if only else _names(files, above)) if _fits(folder, name)]
    places = {name: f"{above}/{name}/{description.FILE}" for name in names}
    texts = files.cat(list(places.values()), on_error="return") if places else {}
    for run in (folder / runs.FOLDER).iterdir():
        if run.name not in names and not only:
            _empty(run)
    for name, place in places.items():
        text = texts[place]
        if isinstance(text, Exception) and not isinstance(text, FileNotFoundError):
            raise text
        _describe(runs.run_folder(folder, name), text if isinstance(text, bytes) else None)


def _names(files: Any, path: str) -> list[str]:
    """The folders there: what cannot be read in one of them must be told, it may be the newest run."""
    entries = [entry for entry in files.ls(path, detail=True) if entry["type"] == "directory"]
    return [str(entry["name"]).rstrip("/").rpartition("/")[2] for entry in entries]


def _fits(folder: Path, name: str) -> bool:
    """False for what is no run's name: it could lead out of the copy."""
    try:
        return runs.run_folder(folder, name).parent == folder / runs.FOLDER
    except StoreError:
        return False


def _describe(run: Path, text: bytes | None) -> None:
    """Keep a description, None for one that is missing; what was kept with another one is of another run."""
    with suppress(OSError):
        if (run / description.FILE).read_bytes() == text:
            return
    if run.is_dir():
        _empty(run)
    private.make_folder(run)
    if text is not None:
        private.write(run / description.FILE, text)


def _empty(run: Path) -> None:
    shutil.rmtree(run)


def _run(files: Any, path: str, folder: Path, name: str) -> None:
    """The other files of a run, those that are not here in the size that they have there."""
    run = runs.run_folder(folder, name)
    grows = description.read(run).get("status") == runs.RUNNING
    there = f"{path.rstrip('/')}/{runs.FOLDER}/{name}"
    for file in NAMES:
        if file != description.FILE:
            _file(files, f"{there}/{file}", run / file, grows)
    for payload in large_of(run):
        private.make_folder(run / large.FOLDER)
        with suppress(FileNotFoundError):  # the replay does without it, and tells
            _file(files, f"{there}/{large.FOLDER}/{payload}", run / large.FOLDER / payload, False)


def _file(files: Any, there: str, here: Path, grows: bool) -> None:
    """Fetch a file; one that is here stays, unless it grows or has another size there."""
    size = files.info(there)["size"]
    if not grows and here.is_file() and here.stat().st_size == size:
        return
    aside = here.with_name(here.name + ASIDE)
    os.close(private.open_file(aside, os.O_WRONLY | os.O_TRUNC))
    files.get_file(there, str(aside))
    os.replace(aside, here)
