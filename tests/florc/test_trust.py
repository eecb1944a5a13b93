"""Nothing that was altered, damaged or written by others is printed in silence, and none of it is loaded."""

from __future__ import annotations

import json
import marshal
import os
import pickle
import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from florc.runtime import journal, runs
from florc.runtime.key import Key
from florc.runtime.store import INDEX, PACK, BlobWriter
from tests.warm import NUMPY, Cold, Done, Warm, environment

pytestmark = pytest.mark.program

PROGRAM = """\
import json
import random
from datetime import date

class Meter:
    def __init__(self):
        self.values, self.born = [], date(2020, 1, 1)
    def add(self, value):
        self.values.append(value)

random.seed(7)
meter, big = Meter(), bytearray(3000)
for epoch in range(5):
    for step in range(300):
        meter.add(random.random())
        big[step] = (epoch + step) % 251
    with open("log.json", "w") as file:
        json.dump(meter.values[-2:], file)
    print("epoch", epoch, json.load(open("log.json")))
print("end", sum(big))
"""
BEFORE, AFTER = '    print("epoch"', '    print("probe", sum(meter.values), meter.born)\n    print("epoch"'
JOURNAL, DESCRIPTION = "journal.jsonl", "run.json"


@dataclass(frozen=True)
class Desk:
    """A folder with a recorded program, edited since; and what the edited one prints."""

    home: Path
    truth: str
    warm: Warm

    @property
    def run(self) -> Path:
        return self.home / ".florc" / "runs" / "one"

    def florc(self, *words: str, **env: str) -> Done:
        return self.warm.run(["-m", "florc", *words], self.home, environment(env))

    def copy(self, home: Path) -> Desk:
        shutil.copytree(self.home, home)
        return Desk(home, self.truth, self.warm)

    def never_wrong(self, *words: str) -> int:
        """Replay: the truth, or the first part of it and an exit code that says so; the code."""
        done = self.florc("replay", *words, "train.py")
        out = done.out.decode()
        assert done.code in (0, 65, 69), done.err.decode()
        assert b"Traceback" not in done.err, done.err.decode()
        assert self.truth.startswith(out)
        assert done.code != 69 or not out
        assert done.code != 0 or out == self.truth
        assert done.code == 0 or done.err
        return done.code


@pytest.fixture(scope="module")
def warm() -> Iterator[Warm]:
    with Warm(NUMPY) as server:
        yield server


@pytest.fixture(scope="module")
def recorded(warm: Warm, tmp_path_factory: pytest.TempPathFactory) -> Desk:
    home = tmp_path_factory.mktemp("recorded") / "home"
    home.mkdir()
    script = home / "train.py"
    script.write_text(PROGRAM.replace(BEFORE, AFTER))
    truth = warm.run(["train.py"], home).out.decode()
    script.write_text(PROGRAM)
    desk = Desk(home, truth, warm)
    done = desk.florc("record", "--overhead", "1", "--name", "one", "train.py")
    assert (done.code, done.err) == (0, b"")
    script.write_text(PROGRAM.replace(BEFORE, AFTER))
    assert desk.never_wrong() == 0
    return desk


@pytest.fixture
def desk(recorded: Desk, tmp_path: Path) -> Desk:
    return recorded.copy(tmp_path / "home")


def places(size: int, count: int, seed: str) -> list[int]:
    """Positions all over a file, its ends among them."""
    return sorted({0, size - 1, *random.Random(seed).sample(range(size), min(count, size))})


def means(data: bytes | bytearray) -> dict[str, object]:
    """What a description says (its plain checksum is for those who have not the key)."""
    fields: dict[str, object] = json.loads(data)
    del fields["check"]
    return fields


FLIPS = {JOURNAL: 20, INDEX: 8, PACK: 12, DESCRIPTION: 12}


@pytest.mark.parametrize("name", FLIPS)
def test_a_flipped_bit_is_never_printed_in_silence(desk, name):
    file = desk.run / name
    sound = file.read_bytes()
    for place in places(len(sound), FLIPS[name], name):
        data = bytearray(sound)
        data[place] ^= 1 << place % 8
        file.write_bytes(data)
        code = desk.never_wrong()
        assert code == 69 or name != DESCRIPTION or means(data) == means(sound), place
    file.write_bytes(sound)
    assert desk.never_wrong() == 0


def test_a_flipped_bit_in_a_text_ends_the_replay_before_it_and_says_where(desk):
    file = desk.run / JOURNAL
    data = file.read_bytes()
    assert data.count(b'"epoch"') >= 5
    place = data.rindex(b'"epoch"')
    file.write_bytes(data[: place + 1] + b"E" + data[place + 2 :])
    done = desk.florc("replay", "train.py")
    assert done.code == 65
    assert done.out.decode() and desk.truth.startswith(done.out.decode())
    assert b"epoch 3" in done.out and b"epoch 4" not in done.out and b"Epoch" not in done.out
    assert b"journal.jsonl is damaged between byte" in done.err
    plan = desk.florc("replay", "--plan", "train.py")
    assert plan.code == 65 and b"journal.jsonl is damaged between byte" in plan.err
    checked = desk.florc("verify", "one")
    assert checked.code == 65 and b"journal.jsonl is damaged between byte" in checked.out


@pytest.mark.parametrize("name", FLIPS)
def test_a_file_cut_short_is_never_silent(desk, name):
    file = desk.run / name
    sound = file.read_bytes()
    for place in places(len(sound), 6, name):
        file.write_bytes(sound[:place])
        code = desk.never_wrong()
        whole = name == DESCRIPTION and place == len(sound) - 1  # only the last line's end is missing
        assert code in (65, 69) or name in (INDEX, PACK) or whole, place
    file.unlink()
    assert desk.never_wrong() in (65, 69) or name in (INDEX, PACK)


def test_files_of_another_run_do_not_fit(desk):
    script = desk.home / "train.py"
    script.write_text(PROGRAM.replace("seed(7)", "seed(8)"))
    assert desk.florc("record", "--overhead", "1", "--name", "two", "train.py").code == 0
    script.write_text(PROGRAM.replace(BEFORE, AFTER))
    other = desk.run.with_name("two")
    for names in [{JOURNAL}, {INDEX, PACK}, {DESCRIPTION}, {JOURNAL, INDEX, PACK}, {*FLIPS}]:
        shutil.copytree(desk.run, desk.home / "kept")
        for name in names:
            shutil.copyfile(other / name, desk.run / name)
        code = desk.never_wrong("--run", "one")
        assert code == (0 if names == {INDEX, PACK} else 69)
        shutil.rmtree(desk.run)
        (desk.home / "kept").rename(desk.run)
    assert desk.never_wrong("--run", "one") == 0


FIELDS = ["argv", "script", "hash_seed", "status", "started", "key", "salt", "run", "env"]


ODD: list[Any] = [None, 0, -1, 10**9, "", "../..", "/etc/passwd", "0" * 32, [], {}, True, ["0" * 32] * 3]


def mutated(events: list[list[Any]], dice: random.Random) -> list[list[Any]]:
    """The events with one changed, left out, doubled, or taken to another place."""
    found = json.loads(json.dumps(events))
    place, other = dice.randrange(len(found)), dice.randrange(len(found))
    how = dice.choice(["change", "change", "drop", "double", "swap"])
    if how == "change":
        event = found[place]
        event[dice.randrange(1, len(event))] = dice.choice(ODD)
    elif how == "drop":
        del found[place]
    elif how == "double":
        found.insert(other, found[place])
    else:
        found[place], found[other] = found[other], found[place]
    return list(found)


@pytest.mark.parametrize("seed", range(12))
def test_a_journal_that_is_signed_and_makes_no_sense_does_no_harm(desk, seed):
    """What an import with --trust may let in: no fault of florc's own, and no file of the user's changes."""
    run = runs.load(desk.home / ".florc", "one")
    events = journal.read(run.folder, run.seal).events
    (run.folder / JOURNAL).unlink()
    journal.write_again(run.folder, journal.Reading(mutated(events, random.Random(seed))), run.seal)
    before = {path: path.read_bytes() for path in desk.home.iterdir() if path.is_file()}
    done = desk.florc("replay", "train.py")
    assert {path: path.read_bytes() for path in desk.home.iterdir() if path.is_file()} == before
    assert done.code in (0, 1, 65, 69)  # 1: of the program, whose file could not be read, say
    assert b"/florc/" not in done.err and b"/runtime/" not in done.err, done.err.decode()


@pytest.mark.parametrize("field", FIELDS)
def test_an_edited_description_is_refused(desk, field):
    file = desk.run / DESCRIPTION
    data = json.loads(file.read_text())
    data[field] = {"argv": ["--lr", "2"], "env": {"OMP_NUM_THREADS": "2"}}.get(field, "1")
    file.write_text(json.dumps(data))
    done = desk.florc("replay", "train.py")
    assert (done.code, done.out) == (69, b"")
    assert b"florc runs import --trust" in done.err
    assert done.err.count(b"\n") == 1


def test_an_older_run_does_not_stand_in_for_one_that_cannot_be_believed(desk):
    assert desk.florc("record", "--name", "two", "train.py").code == 0
    file = desk.run.with_name("two") / DESCRIPTION
    file.write_text(file.read_text().replace("train.py", "brain.py"))
    done = desk.florc("replay", "train.py")
    assert (done.code, done.out) == (69, b"")
    assert b"--run, as one" in done.err
    assert desk.never_wrong("--run", "one") == 0


def test_a_run_signed_with_another_key_is_refused(desk, tmp_path):
    done = desk.florc("replay", "train.py", FLORC_KEY_FILE=str(tmp_path / "none"))
    assert (done.code, done.out) == (69, b"")
    assert b"not recorded with your key" in done.err and b"import --trust" in done.err
    assert not (tmp_path / "none").exists()


def test_a_run_of_another_user_is_refused(desk):
    try:
        os.chown(desk.run / PACK, os.getuid() + 1, -1)
    except PermissionError:
        pytest.skip("only root can give files away")
    done = desk.florc("replay", "train.py")
    assert (done.code, done.out) == (69, b"")
    assert b"belongs to another user" in done.err and b"import --trust" in done.err


def test_where_no_key_can_be_kept_the_run_is_recorded_and_says_what_it_will_need(desk, tmp_path):
    (tmp_path / "file").write_text("")
    env = {"FLORC_KEY_FILE": str(tmp_path / "file" / "key")}
    script = desk.home / "train.py"
    done = desk.florc("record", "--name", "two", "train.py", **env)
    assert (done.code, done.out.decode()) == (0, desk.truth)
    assert done.err.count(b"\n") == 1 and b"no key can be kept" in done.err and b"import --trust" in done.err
    assert desk.florc("record", "train.py").err == b""
    script.write_text(script.read_text() + "print(1)\n")
    for words in (["--run", "two"], ["--run", "two", "--new"]):
        done = desk.florc("replay", *words, "train.py")
        assert (done.code, done.out) == (69, b"")
        assert b"no key could be kept" in done.err and b"import --trust" in done.err


class Bomb:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return os.mkdir, (str(self._path),)


@pytest.mark.parametrize("signed", ["another key", "the key's name alone", "the old lines", "no seal"])
def test_what_others_pickled_is_never_loaded(desk, tmp_path, signed):
    """One who can write the store, and knows all but the key, puts a pickle into every payload."""
    hit = tmp_path / "hit"
    mine = runs.load(desk.home / ".florc", "one")
    thief = runs.sign(mine, Key(b"of somebody else" * 2)) if signed != "the old lines" else mine
    if signed == "the key's name alone":
        file = desk.run / DESCRIPTION
        file.write_text(file.read_text().replace(str(thief.key), str(mine.key)))
    if signed == "no seal":
        runs._write(mine)
    bomb = marshal.dumps(({0: marshal.dumps(("pickled", [], pickle.dumps(Bomb(hit))), 4)}, {}, [], []), 4)
    lines = (desk.run / INDEX).read_text().splitlines()
    for name in (PACK, INDEX):
        (desk.run / name).unlink()
    writer = BlobWriter(desk.run, thief.seal)
    for line in lines:
        writer.put(bomb, line.split()[0], sealed=True)
    writer.close()
    if signed == "the old lines":
        (desk.run / INDEX).write_text("\n".join(lines) + "\n")
    code = desk.never_wrong()
    assert code == (69 if signed in ("another key", "the key's name alone") else 0)
    assert not hit.exists()


def test_code_that_others_put_into_the_cache_is_never_run(desk, tmp_path):
    script = desk.home / "train.py"
    script.write_text(PROGRAM)
    hit = tmp_path / "hit"
    code = marshal.dumps(compile(f"import os; os.mkdir({str(hit)!r})", "train.py", "exec"))
    pickled = pickle.dumps(Bomb(hit))
    assert desk.florc("replay", "train.py").code == 0
    entries = list((desk.home / ".florc" / "cache").iterdir())
    assert len(entries) > 2  # what was recorded, how the two sources go together, what was replayed
    kept = {entry: entry.read_bytes() for entry in entries}
    for payload in (code, pickled):
        for head in (16, 0):
            for entry, was in kept.items():
                entry.write_bytes(was[:head] + payload)
            for command in ("replay", "record"):
                done = desk.florc(command, "train.py")
                assert done.code == 0 and b"end" in done.out
            assert not hit.exists()


def test_the_store_is_private_whatever_the_umask(desk):
    shutil.rmtree(desk.home / ".florc")
    before = os.umask(0)
    try:
        assert Cold().run(["-m", "florc", "record", "train.py"], desk.home).code == 0
    finally:
        os.umask(before)
    found = [desk.home / ".florc", *(desk.home / ".florc").rglob("*")]
    assert len(found) == 10
    assert {(path.is_dir(), path.stat().st_mode & 0o777) for path in found} == {(True, 0o700), (False, 0o600)}


def test_a_store_that_everybody_may_write_is_refused_and_one_of_a_group_told(desk):
    store = desk.home / ".florc"
    store.chmod(0o777)
    for command, code in [("record", 2), ("replay", 69)]:
        done = desk.florc(command, "train.py")
        assert (done.code, done.out) == (code, b"")
        words = f"florc: error: everybody can write the store {store}; chmod o-w {store}\n"
        assert done.err.decode() == words
    store.chmod(0o770)
    done = desk.florc("replay", "train.py")
    assert (done.code, done.out.decode()) == (0, desk.truth)
    assert b"its group can write the store" in done.err
