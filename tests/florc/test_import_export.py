"""Runs as files: what goes out comes in again, foreign ones only on request, hostile ones not at all."""

from __future__ import annotations

import io
import json
import os
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from florc.errors import FlorcError
from florc.runtime import runs
from florc.runtime.errors import StoreError
from florc.stored import archive
from tests.warm import NUMPY, Done, Warm, environment

PROGRAM = """\
import json, os, random
class Meter:
    def __init__(self):
        self.values = []
    def add(self, value):
        self.values.append(value)
random.seed(7)
meter = Meter()
for epoch in range(4):
    for step in range(300):
        meter.add(random.random())
    print("was there:", os.path.exists("state.json"))
    with open("state.json", "w") as file:
        json.dump(meter.values[-2:], file)
    print("epoch", epoch, json.load(open("state.json")))
"""
BEFORE, AFTER = '    print("epoch"', '    print("probe", sum(meter.values))\n    print("epoch"'
PROBED = PROGRAM.replace(BEFORE, AFTER)


@pytest.fixture(scope="module")
def warm() -> Iterator[Warm]:
    with Warm(NUMPY) as server:
        yield server


class Desk:
    """One user's folder, on one machine, with one key."""

    def __init__(self, home: Path, key: Path, warm: Warm) -> None:
        self.home, self.key, self._warm = home, key, warm
        home.mkdir(parents=True)
        self.script = home / "train.py"

    def florc(self, *words: str, **env: str) -> Done:
        return self._warm.run(
            ["-m", "florc", *words], self.home, environment({"FLORC_KEY_FILE": str(self.key), **env})
        )

    def plain(self) -> str:
        (self.home / "state.json").unlink(missing_ok=True)
        out = self._warm.run(["train.py"], self.home).out.decode()
        (self.home / "state.json").unlink()
        return out


@pytest.fixture
def mine(warm: Warm, tmp_path: Path) -> Desk:
    """The desk of the one who has recorded and exported."""
    desk = Desk(tmp_path / "mine", tmp_path / "my-key", warm)
    desk.script.write_text(PROGRAM)
    assert desk.florc("record", "--overhead", "1", "--name", "one", "train.py").code == 0
    assert desk.florc("runs", "export", "one", "-o", "../one.tar").code == 0
    return desk


@pytest.fixture
def other(warm: Warm, tmp_path: Path) -> Desk:
    """The desk of somebody else, who has the program with a line added."""
    desk = Desk(tmp_path / "other" / "place", tmp_path / "other-key", warm)
    desk.script.write_text(PROBED)
    return desk


@pytest.mark.program
def test_an_exported_run_comes_back_without_a_question(mine, other):
    other.key = mine.key
    wanted = other.plain()
    done = other.florc("runs", "import", "../../one.tar")
    assert (done.code, done.out) == (0, b"")
    assert b"imported one; to replay it: florc replay --run one train.py" in done.err
    done = other.florc("replay", "-q", "--summary", "s.json", "train.py")
    assert (done.code, done.out.decode(), done.err) == (0, wanted, b"")
    assert not (other.home / "state.json").exists()
    summary = json.loads((other.home / "s.json").read_text())
    assert summary["exact"] and summary["blocks"]["skipped"] == 4


@pytest.mark.program
def test_a_foreign_run_is_refused_and_says_why_and_comes_in_on_request(mine, other):
    done = other.florc("runs", "import", "../../one.tar")
    assert (done.code, done.out, done.err.count(b"\n")) == (69, b"", 1)
    hint = "florc runs import --trust ../../one.tar"
    for words in ["one says that", "pickles", "nothing was imported", hint]:
        assert words.encode() in done.err
    assert not any((other.home / ".florc" / "runs").iterdir())
    assert other.florc("replay", "-q", "train.py").code == 69

    done = other.florc("runs", "import", "--trust", "../../one.tar")
    assert done.code == 0
    wanted = other.plain()
    done = other.florc("replay", "-q", "train.py")
    assert (done.code, done.out.decode(), done.err) == (0, wanted, b"")
    shown = json.loads(other.florc("runs", "show", "--json", "one").out)
    assert shown["imported_from"]["trusted"] is True
    assert shown["imported_from"]["run"] == "one" and shown["imported_from"]["user"] == shown["user"]
    assert other.florc("verify", "one").code == 0


@pytest.mark.program
def test_a_folder_is_imported_like_a_file_and_one_of_the_store_in_place(mine, other, warm, tmp_path):
    folder = str(mine.home / ".florc" / "runs" / "one")
    assert other.florc("runs", "import", folder).code == 69
    assert other.florc("runs", "import", "--trust", "--name", "two", folder).code == 0
    wanted = other.plain()
    assert other.florc("replay", "--run", "two", "train.py").out.decode() == wanted

    (tmp_path / "file").write_text("")
    done = other.florc("record", "--name", "three", "train.py", FLORC_KEY_FILE=str(tmp_path / "file" / "k"))
    assert done.code == 0 and b"import --trust" in done.err
    assert other.florc("replay", "--run", "three", "train.py").code == 69
    assert other.florc("runs", "import", "--trust", ".florc/runs/three").code == 0
    done = other.florc("replay", "--run", "three", "train.py")
    assert (done.code, done.out.decode()) == (0, wanted)
    assert sorted(os.listdir(other.home / ".florc" / "runs")) == ["three", "two"]


@pytest.mark.program
def test_nothing_is_imported_where_no_key_can_be_kept(mine, other, tmp_path):
    (tmp_path / "file").write_text("")
    other.key = tmp_path / "file" / "key"
    done = other.florc("runs", "import", "--trust", "../../one.tar")
    assert (done.code, done.out, done.err.count(b"\n")) == (69, b"", 1)
    assert b"no key can be kept" in done.err and b"FLORC_KEY_FILE" in done.err


@pytest.mark.program
def test_a_program_that_lies_elsewhere_is_found_here(mine, other, tmp_path):
    store = str(tmp_path / "stores" / "mine")
    (mine.home / "state.json").unlink()
    assert mine.florc("record", "--name", "far", "train.py", FLORC_DIR=store).code == 0
    assert mine.florc("runs", "export", "far", "-o", "../far.tar", FLORC_DIR=store).code == 0
    wanted = other.plain()
    assert other.florc("runs", "import", "--trust", "../../far.tar").code == 0
    assert other.florc("replay", "-q", "train.py").out.decode() == wanted
    other.script.rename(other.home / "other.py")
    done = other.florc("runs", "import", "--trust", "--name", "b", "--script", "other.py", "../../far.tar")
    assert b"florc replay --run b other.py" in done.err
    assert other.florc("replay", "other.py").code == 69  # its own name is part of a program


@pytest.mark.program
def test_a_project_that_has_moved_is_replayed_where_it_lies_now(mine, tmp_path):
    (mine.home / "state.json").unlink()
    mine.script.write_text(PROBED)
    wanted = mine.plain()
    mine.home = mine.home.rename(tmp_path / "moved")
    done = mine.florc("replay", "-q", "train.py")
    assert (done.code, done.out.decode(), done.err) == (0, wanted, b"")


@pytest.mark.program
def test_a_killed_run_is_shared_as_far_as_it_came(mine, other):
    kill = PROGRAM + "    if epoch == 2 and 'KILL' in os.environ:\n        os.kill(os.getpid(), 9)\n"
    for desk in (mine, other):
        desk.script.write_text(kill)
    (mine.home / "state.json").unlink()
    assert mine.florc("record", "--overhead", "1", "--name", "dead", "train.py", KILL="1").code == -9
    other.script.write_text(kill.replace(BEFORE, AFTER))
    wanted = other.plain()
    assert mine.florc("runs", "export", "dead", "-o", "../dead.tar").code == 0
    assert other.florc("runs", "import", "--trust", "../../dead.tar").code == 0
    done = other.florc("replay", "-q", "train.py")
    assert done.code == 0 and b"the replay ends there" in done.err
    assert wanted.startswith(done.out.decode()) and "epoch 2" in done.out.decode()


@pytest.mark.program
def test_names_that_are_taken_or_unfit_are_refused(mine, other):
    for words, code in [
        (("runs", "export", "one", "-o", "../one.tar"), 2),
        (("runs", "export", "none"), 69),
        (("runs", "export", "../one"), 69),
        (("runs", "import", "../one.tar"), 69),
        (("runs", "import", "../one.tar", "--name", "../x"), 69),
        (("runs", "import", "nothing.tar"), 69),
        (("runs", "import", "/dev/null"), 69),
        (("runs", "import", "train.py"), 69),
    ]:
        done = mine.florc(*words)
        assert (done.code, done.out, done.err.count(b"\n")) == (code, b"", 1), words
    assert os.listdir(mine.home / ".florc" / "runs") == ["one"]


def flip(path: Path, place: int) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)


DAMAGE: dict[str, tuple[Callable[[Path], None], int, bytes]] = {
    "a text": (lambda run: flip(run / "journal.jsonl", -300), 65, b"damaged between byte"),
    "a payload": (lambda run: flip(run / "data.pack", 70), 0, b"payloads were damaged"),
    "a line of the index": (lambda run: flip(run / "data.idx", 20), 0, b"payloads were damaged"),
    "the description": (lambda run: flip(run / "run.json", -80), 65, b"altered"),
}


@pytest.mark.program
@pytest.mark.parametrize("what", DAMAGE)
def test_what_is_damaged_stays_out_and_every_replay_tells_of_it(mine, other, tmp_path, what):
    damage, code, words = DAMAGE[what]
    run = tmp_path / "copy"
    shutil.copytree(mine.home / ".florc" / "runs" / "one", run)
    damage(run)
    done = other.florc("runs", "import", "--trust", "--name", "one", str(run))
    assert done.code == 65
    assert words in done.err
    wanted = other.plain()
    done = other.florc("replay", "-q", "train.py")
    assert done.code == code
    assert wanted.startswith(done.out.decode()) and done.out
    assert code == 65 or done.out.decode() == wanted


# -- archives that somebody has made ---------------------------------------------------------------


def tar(members: list[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    """An archive of these members, as they are."""
    out = io.BytesIO()
    for member, data in members:
        out.write(member.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape"))
        out.write(data + b"\0" * (-len(data) % archive.BLOCK))
    return out.getvalue() + b"\0" * 2 * archive.BLOCK


def member(name: str, size: int = 1, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    found = tarfile.TarInfo(name)
    found.size, found.type, found.linkname = size, kind, link
    return found


GOOD = [(member(f"{archive.FOLDER}/{name}"), b"x") for name in archive.NAMES]


def unpacked(data: bytes) -> list[str]:
    """Unpack into a folder that lies deep in a fresh one; fail if anything is written beside it."""
    with tempfile.TemporaryDirectory() as name:
        top = Path(name).resolve()
        folder = top / "a" / "b" / "in"
        folder.mkdir(parents=True)
        file = top / "run.tar"
        file.write_bytes(data)
        try:
            archive.unpack(file, folder, lambda: None)
        finally:
            found = {path.relative_to(top).as_posix() for path in top.rglob("*")}
            names = [*archive.NAMES, "large", *(f"large/{key}" for key in KEYS)]
            assert found <= {"run.tar", "a", "a/b", "a/b/in", *(f"a/b/in/{name}" for name in names)}
            assert not any(path.is_symlink() for path in folder.iterdir())
        return sorted(os.listdir(folder))


def test_an_archive_of_a_run_is_unpacked():
    assert unpacked(tar(GOOD)) == sorted(archive.NAMES)


KEYS = ["0" * 32, "a" * 32]
INDEX = "".join(f"{key} 0 1048576 l {'0' * 32}\n" for key in KEYS).encode()
FOUR = [(member(f"{archive.FOLDER}/{name}", len(INDEX)), INDEX) for name in archive.NAMES]


def payload(key: str) -> tuple[tarfile.TarInfo, bytes]:
    return member(f"{archive.FOLDER}/large/{key}"), b"x"


@pytest.mark.parametrize("keys", [KEYS, KEYS[:1], KEYS[1:]])
def test_large_payloads_that_the_index_names_may_follow(tmp_path, keys):
    (tmp_path / "run.tar").write_bytes(tar([*FOUR, *map(payload, keys)]))
    (tmp_path / "in").mkdir()
    archive.unpack(tmp_path / "run.tar", tmp_path / "in", lambda: None)
    assert sorted(os.listdir(tmp_path / "in" / "large")) == keys


def changed(place: int, new: tuple[tarfile.TarInfo, bytes]) -> list[tuple[tarfile.TarInfo, bytes]]:
    return [*GOOD[:place], new, *GOOD[place + 1 :]]


HOSTILE: dict[str, bytes] = {
    "an absolute name": tar(changed(1, (member("/tmp/journal.jsonl"), b"x"))),
    "a way out": tar(changed(1, (member(f"{archive.FOLDER}/../../journal.jsonl"), b"x"))),
    "a way out by the folder": tar(changed(1, (member("../journal.jsonl"), b"x"))),
    "another folder": tar(changed(1, (member("other/journal.jsonl"), b"x"))),
    "another name": tar([*GOOD, (member(f"{archive.FOLDER}/.bashrc"), b"x")]),
    "no folder": tar(changed(1, (member("journal.jsonl"), b"x"))),
    "a symbolic link": tar(changed(1, (member(GOOD[1][0].name, 0, tarfile.SYMTYPE, "/etc/passwd"), b""))),
    "a hard link": tar(changed(1, (member(GOOD[1][0].name, 0, tarfile.LNKTYPE, "florc-run/run.json"), b""))),
    "a device": tar(changed(1, (member(GOOD[1][0].name, 0, tarfile.CHRTYPE), b""))),
    "a pipe": tar(changed(1, (member(GOOD[1][0].name, 0, tarfile.FIFOTYPE), b""))),
    "a folder": tar(changed(1, (member(GOOD[1][0].name, 0, tarfile.DIRTYPE), b""))),
    "a sparse file": tar(changed(1, (member(GOOD[1][0].name, 1, tarfile.GNUTYPE_SPARSE), b"x"))),
    "a long name": tar([(member("././@LongLink", 9, tarfile.GNUTYPE_LONGNAME), b"../../x\0\0"), *GOOD]),
    "an extended header": tar([(member("h", 20, tarfile.XHDTYPE), b"20 path=../../aaaaa\n"), *GOOD]),
    "a global header": tar([(member("h", 20, tarfile.XGLTYPE), b"20 path=../../aaaaa\n"), *GOOD]),
    "the same name twice": tar([*GOOD[:2], GOOD[1], *GOOD[2:]]),
    "another order": tar(GOOD[::-1]),
    "a missing file": tar(GOOD[:3]),
    "a file too many": tar([*GOOD, GOOD[0]]),
    "more declared than there is": tar(changed(3, (member(GOOD[3][0].name, 1 << 40), b"x"))),
    "less than nothing declared": tar(changed(1, (member(GOOD[1][0].name, -5), b"x"))),
    "more there than declared": tar(changed(1, (member(GOOD[1][0].name, 1), b"x" * 600))),
    "something after the end": tar(GOOD) + b"more",
    "nothing": b"",
    "no tar": b"no tar" * 1000,
    "half a tar": tar(GOOD)[:700],
    "a payload that the index does not name": tar([*FOUR, payload("b" * 32)]),
    "a payload too early": tar([*FOUR[:3], payload(KEYS[0]), *FOUR[3:]]),
    "a payload twice": tar([*FOUR, payload(KEYS[0]), payload(KEYS[0])]),
    "payloads in another order": tar([*FOUR, payload(KEYS[1]), payload(KEYS[0])]),
    "a payload that is a way out": tar([*FOUR, payload("../" + KEYS[0])]),
    "a payload that is a link": tar(
        [*FOUR, (member(payload(KEYS[0])[0].name, 0, tarfile.SYMTYPE, "x"), b"")]
    ),
    "a packed tar": b"\x1f\x8b\x08" + bytes(2000),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_an_archive_that_is_not_of_a_run_is_refused_and_writes_nothing_elsewhere(what):
    with pytest.raises(FlorcError, match="nothing was imported") as told:
        unpacked(HOSTILE[what])
    assert told.value.exit_code == 69


NAMES = st.one_of(
    st.sampled_from([member.name for member, _ in GOOD]),
    st.sampled_from(["..", "/", "~", ".", "a", "florc-run", "run.json", "\u202e", "-rf"]),
    st.lists(st.sampled_from(["..", ".", "", "a", "florc-run", "run.json"]), max_size=5).map("/".join),
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30),
)
KINDS = st.sampled_from([bytes([letter]) for letter in b"\x000123456789ADKLMNSVXgx"])
MEMBERS = st.builds(
    lambda name, kind, link, declared, data: (member(name, max(declared, 0), kind, link), data),
    NAMES, KINDS, NAMES, st.integers(0, 3000), st.binary(max_size=1500),
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(MEMBERS, st.sampled_from(GOOD)), max_size=6))
def test_no_archive_writes_outside_its_folder(members):
    try:
        assert unpacked(tar(members)) == sorted(archive.NAMES)
    except FlorcError as error:
        assert error.exit_code == 69


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(0, 255)), max_size=6))
def test_no_damage_to_an_archive_writes_outside_its_folder(changes):
    data = bytearray(tar(GOOD))
    for place, byte in changes:
        data[place % len(data)] = byte
    try:
        unpacked(bytes(data))
    except FlorcError as error:
        assert error.exit_code == 69


@settings(max_examples=300, deadline=None)
@given(st.one_of(NAMES, st.text(max_size=120)))
def test_no_name_of_a_run_leads_out_of_the_store(name):
    try:
        folder = runs.run_folder(Path("/store"), name)
    except StoreError:
        return
    assert Path(os.path.normpath(folder)).parent == Path("/store/runs")
    assert not name.startswith(".")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("run", "../../evil"), ("run", 5), ("argv", "abc"), ("argv", [1]), ("env", []), ("env", {"A": 1}),
        ("hash_seed", "random; rm"), ("script", None), ("script", "a\0b"), ("pid", -1), ("pid", 10**30),
        ("rank", "0"), ("threads", 1.5), ("format", 1), ("format", 99), ("format", "2"), ("module", "yes"),
        ("flaws", "x"), ("imported_from", []), ("include", [None]), ("exit_code", "0"), ("salt", 7),
    ],
)  # fmt: skip
@pytest.mark.program
def test_a_description_that_makes_no_sense_is_refused(mine, other, tmp_path, field, value):
    run = tmp_path / "copy"
    shutil.copytree(mine.home / ".florc" / "runs" / "one", run)
    data = json.loads((run / "run.json").read_text())
    data[field] = value
    (run / "run.json").write_text(json.dumps(data))
    done = other.florc("runs", "import", "--trust", str(run))
    assert (done.code, done.out, done.err.count(b"\n")) == (69, b"", 1), done.err.decode()
    assert list((other.home / ".florc" / "runs").iterdir()) == []
    assert not (tmp_path / "other" / "evil").exists()


@pytest.mark.program
def test_what_a_run_says_of_itself_cannot_speak_to_the_terminal(mine, other, tmp_path):
    run = tmp_path / "copy"
    shutil.copytree(mine.home / ".florc" / "runs" / "one", run)
    data = json.loads((run / "run.json").read_text())
    data.update(user="\x1b[2Jbob\nflorc: fine\u202e", host="h" * 500)
    (run / "run.json").write_text(json.dumps(data))
    done = other.florc("runs", "import", str(run))
    assert (done.code, done.err.count(b"\n")) == (69, 1)
    assert b"\x1b" not in done.err and "\u202e" not in done.err.decode() and len(done.err) < 700
