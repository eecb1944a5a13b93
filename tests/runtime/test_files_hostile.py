"""A journal that means harm: whatever its file events say, a replay writes nothing outside of its overlay."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from florc.runtime import events as shapes
from florc.runtime.errors import StoreError
from florc.runtime.files import FileReplayer
from tests.runtime.files_bench import snapshot

KEY = "0" * 32
HOME, ASIDE = "@HOME", "@ASIDE"
PATHS = st.sampled_from(
    [f"{HOME}/{name}" for name in ("out", "out/x", "out/x/y", "log", "new", "new/x", "evil")]
    + [f"{ASIDE}/{name}" for name in ("secret", "folder", "folder/x", "new")]
    + ["/dev/null", "/etc/passwd", f"{HOME}/.florc/runs/x", f"{HOME}/__pycache__/x", "/tmp/florc-no-such/x"]
)
RELATIVE = st.sampled_from(["..", ".", "../aside", "../../aside/folder", "/", "out", "../home/log", ""])
TARGETS = st.one_of(PATHS, RELATIVE)
EVENTS = st.one_of(
    st.tuples(st.sampled_from(["mkdir", "remove", "opaque"]), PATHS),
    st.tuples(st.just("symlink"), PATHS, TARGETS),
    st.tuples(st.sampled_from(["rename", "link"]), PATHS, PATHS),
    st.tuples(st.just("write"), PATHS, st.integers(1, 3), st.sampled_from([0, 7, 1 << 20])),
    st.tuples(st.just("read"), PATHS, st.integers(1, 3), st.just(KEY), st.just(""), st.just(3), st.just(0)),
    st.tuples(st.just("prior"), PATHS, st.just(True), st.just("link"), st.none(), TARGETS, st.just(0)),
    st.tuples(st.just("prior"), PATHS, st.just(True), st.just("file"), st.just(KEY), st.just(""), st.just(0)),
    st.tuples(st.just("prior"), PATHS, st.just(False), st.just(""), st.none(), st.just(""), st.just(0)),
    st.tuples(st.just("left"), PATHS, st.just(3), st.just(0)),
)


@contextmanager
def stage() -> Iterator[Path]:
    """A user's folder, and one aside that is no business of the replay's."""
    with tempfile.TemporaryDirectory() as name:
        top = Path(name).resolve()
        for folder in ("home/out", "home/__pycache__", "home/.florc/runs", "aside/folder"):
            (top / folder).mkdir(parents=True)
        for file in ("home/log", "home/out/x", "aside/secret", "aside/folder/x", "home/.florc/runs/x"):
            (top / file).write_text("old")
        yield top


def steps(skip: Any) -> Iterator[Any]:
    """What a program does with its files; `skip` jumps over a part of the record."""
    yield lambda: Path("log").write_text("new")
    yield lambda: os.lstat("out/x")
    yield lambda: os.lstat("log")
    yield lambda: os.lstat("out")
    yield lambda: skip(2)
    yield lambda: Path("out/x").write_text("new")
    yield lambda: open("log", "a").close()
    yield lambda: os.makedirs("new/x")
    yield lambda: skip(4)
    yield lambda: Path("new/file").write_text("new")
    yield lambda: os.lstat("new")
    yield lambda: open("out/x", "r+").close()
    yield lambda: os.rename("log", "evil")
    yield lambda: skip(9)
    yield lambda: Path("out/x").write_text("newer")
    yield lambda: Path("log").write_text("newer")
    yield lambda: os.symlink("log", "mine")
    yield lambda: Path("mine").write_text("newer")
    yield lambda: os.truncate("log", 1)
    yield lambda: os.chmod("out/x", 0o777)
    yield lambda: os.utime("log", (1, 1))
    yield lambda: os.link("log", "new/hard")
    yield lambda: os.remove("out/x")
    yield lambda: shutil.rmtree("out")


def put(value: Any, top: Path) -> Any:
    if not isinstance(value, str):
        return value
    return value.replace(HOME, f"{top}/home").replace(ASIDE, f"{top}/aside")


def replay(top: Path, events: list[tuple[Any, ...]]) -> None:
    """Replay the steps against these events, as far as they get past the journal's door."""
    taken = []
    for number, event in enumerate(events):
        line = json.dumps(["f", [put(part, top) for part in event]]).encode()
        with suppress(ValueError):
            taken.append((number, tuple(shapes.loads(line)[1])))
    cwd = os.getcwd()
    os.chdir(top / "home")
    replayer = FileReplayer(top / "overlay", taken, lambda key: b"kept", lambda: False, lambda words: None)
    replayer.install()
    try:
        for step in steps(replayer.skip_to):
            with suppress(OSError, StoreError):
                step()
    finally:
        replayer.uninstall()
        os.chdir(cwd)


@settings(max_examples=400, deadline=None)
@example([("symlink", f"{HOME}/log", f"{ASIDE}/secret"), ("write", f"{HOME}/log", 1, 0)])
@example([("symlink", f"{HOME}/out", "/dev"), ("write", f"{HOME}/out/x", 1, 0)])
@example([("symlink", f"{HOME}/out", f"{HOME}/.florc/runs"), ("write", f"{HOME}/out/x", 1, 0)])
@example([("symlink", f"{HOME}/out", "/tmp"), ("write", f"{HOME}/out/x", 1, 0)])
@example([("symlink", f"{HOME}/new", f"{ASIDE}/folder"), ("rename", f"{HOME}/log", f"{HOME}/new/x")])
@given(st.lists(EVENTS, max_size=10))
def test_nothing_is_written_outside_of_the_overlay(events):
    with stage() as top:
        before = {folder: snapshot(top / folder) for folder in ("home", "aside")}
        modes = (top / "home/out/x").stat().st_mode
        replay(top, events)
        assert {folder: snapshot(top / folder) for folder in ("home", "aside")} == before
        assert (top / "home/out/x").stat().st_mode == modes
        links = [path for path in (top / "overlay").rglob("*") if path.is_symlink()]
        assert all(path.parent == top / "overlay" / ".links" for path in links)


def test_the_steps_do_write_where_nothing_stands_in_their_way():
    with stage() as top:
        replay(top, [("write", f"{HOME}/log", 1, 0)])
        assert any((top / "overlay").rglob("log")) or any((top / "overlay").rglob("evil"))
        assert (top / "home/log").read_text() == "old"


@pytest.mark.parametrize(
    "path", ["/", "/a/..", "/../a", "/a/./b", "//a", "/a//b", "/a/", "a", "", "/a\0b", 5, None]
)
def test_what_is_no_plain_absolute_path_gets_through_no_door(path):
    assert not shapes.is_path(path)


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=20).map(lambda text: "/" + text))
def test_a_path_that_gets_through_stays_below_any_folder_it_is_put_into(path):
    if shapes.is_path(path):
        assert os.path.normpath("/overlay" + path) == "/overlay" + path
