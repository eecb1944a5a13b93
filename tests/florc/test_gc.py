"""`florc runs gc`: what goes, what stays, and that nothing goes that a run needs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from florc import cache, cli, overlays, project
from florc.runtime import journal, large, runs
from florc.runtime.runs import Run
from florc.runtime.store import BlobReader, BlobWriter
from florc.spread import places
from florc.stored import sharing
from florc.stored.choosing import Candidate, Freed, Shared, Wanted, choose
from tests.florc.running import environment, florc, lay

DAY = 24 * 3600


def candidates(text: str) -> list[Candidate]:
    """Runs, oldest first: `a1:40` is a run of script a, 40 days old, 10 bytes; `!`: it is busy."""
    parts = re.findall(r"(\S+):(\d+)(!?)", text)
    return [Candidate(name, (name[0],), int(days) * DAY, 10, bool(busy)) for name, days, busy in parts]


RUNS = "a1:40 b1:35 a2:20 a3:10 b2:5"


@pytest.mark.parametrize(
    ("text", "wanted", "going"),
    [
        (RUNS, Wanted(), ""),
        (RUNS, Wanted(keep=1), "a1 b1 a2"),
        (RUNS, Wanted(keep=2), "a1"),
        (RUNS, Wanted(keep=3), ""),
        (RUNS, Wanted(older_than=30 * DAY), "a1 b1"),
        (RUNS, Wanted(older_than=1 * DAY), "a1 b1 a2 a3 b2"),
        (RUNS, Wanted(max_size=50), ""),
        (RUNS, Wanted(max_size=49), "a1"),
        (RUNS, Wanted(max_size=25), "a1 b1 a2"),
        (RUNS, Wanted(max_size=0), "a1 b1 a2 a3 b2"),
        # beside the others --keep only protects
        (RUNS, Wanted(keep=2, older_than=30 * DAY), "a1"),
        (RUNS, Wanted(keep=1, max_size=0), "a1 b1 a2"),
        # any wish is enough; what goes for one counts for the other
        (RUNS, Wanted(older_than=30 * DAY, max_size=30), "a1 b1"),
        (RUNS, Wanted(older_than=30 * DAY, max_size=29), "a1 b1 a2"),
        # a run in use stays; it is one of the newest all the same
        ("a1:3 a2:2 a3:1!", Wanted(keep=1), "a1 a2"),
        ("a1:9! a2:2 a3:1", Wanted(older_than=DAY / 2), "a2 a3"),
        ("a1:9! a2:2 a3:1", Wanted(max_size=10), "a2 a3"),
    ],
)
def test_the_runs_that_go(text, wanted, going):
    assert list(choose(candidates(text), wanted)) == going.split()


def test_what_belongs_to_no_run_counts_for_the_size():
    assert list(choose(candidates(RUNS), Wanted(max_size=50), others=15)) == ["a1", "b1"]


def test_what_runs_share_goes_with_the_last_of_them():
    """a, b and c hold a file of 100 bytes in common, a and one that cannot be read another one."""
    common, elsewhere = Shared("x", 100, 3), Shared("y", 50, 2)
    runs = [
        Candidate("a", ("s",), 3, 10, shared=(common, elsewhere)),
        Candidate("b", ("s",), 2, 10, shared=(common,)),
        Candidate("c", ("s",), 1, 10, shared=(common,)),
    ]
    assert list(choose(runs, Wanted(max_size=180))) == []
    assert list(choose(runs, Wanted(max_size=160))) == ["a", "b"]
    assert list(choose(runs, Wanted(max_size=159))) == ["a", "b", "c"]
    assert list(choose(runs, Wanted(max_size=165, older_than=2.5))) == ["a", "b"]
    freed = Freed()
    assert [freed.by(run) for run in runs] == [10, 10, 110]


def test_a_run_of_unknown_age_is_not_old():
    assert choose([Candidate("a1", ("a",), None, 10)], Wanted(older_than=0)) == {}


# -- on the disk --------------------------------------------------------------------------
@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store, and a place for temporary files of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FLORC_DIR", raising=False)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    project.prepare_store(tmp_path / ".florc")
    return tmp_path / ".florc"


@pytest.fixture
def gc(home: Path, capfd: pytest.CaptureFixture[str]):
    """Ask for it; gives what was written to standard output, and fails on anything else."""

    def gc(*words: str, code: int = 0) -> list[str]:
        assert cli.main(["runs", "gc", *words]) == code
        out, err = capfd.readouterr()
        assert err == ""
        return out.splitlines()

    return gc


def recorded(
    home: Path, name: str, days: float = 0, *, script: str = "train.py", killed: bool = False
) -> Run:
    """A run with two payloads; a killed one has bytes of a third that the index does not know."""
    run = runs.create(home, name, script)
    blobs = BlobWriter(run.folder, run.seal)
    for size in (1000, 3000):
        blobs.put(bytes([size % 251]) * size)
    blobs.close()
    events = journal.JournalWriter(run.folder, run.seal)
    events.add(["n", "a note"])
    if not killed:
        events.add(["E", 0, False, 2])
    events.close()
    then = (datetime.now(timezone.utc) - timedelta(days=days)).isoformat()
    if killed:
        with open(run.folder / "data.pack", "ab") as pack:
            pack.write(bytes(5000))
        return runs.update(run, started=then, order=then, pid=_dead())
    return runs.update(run, started=then, order=then, status=runs.DONE, finished=then, exit_code=0)


def _dead() -> int:
    """The number of a process that has ended."""
    with subprocess.Popen([sys.executable, "-S", "-c", ""]) as process:
        process.wait()
    return process.pid


def old(path: Path, days: float = 400) -> Path:
    """Let a file or folder look old."""
    then = time.time() - days * DAY
    for entry in (*path.rglob("*"), path) if path.is_dir() else (path,):
        os.utime(entry, (then, then))
    return path


def names(home: Path) -> list[str]:
    return [run.run for run in runs.all_runs(home)]


def whole(run: Run) -> bool:
    """Whether all payloads that the index names can be read."""
    reader = BlobReader(run.folder, run.seal)
    return sorted(len(reader.get(name)) for name in list(reader.keys())) == [1000, 3000]


def test_nothing_goes_where_there_is_no_garbage(home, gc):
    run = recorded(home, "one", 500)
    before = sorted(path.stat().st_size for path in home.rglob("*"))
    assert gc() == ["0 bytes freed"]
    assert sorted(path.stat().st_size for path in home.rglob("*")) == before and whole(run)


def test_where_there_is_no_store_none_is_made(tmp_path, home, gc):
    assert gc("--store", "nowhere") == ["0 bytes freed"]
    assert not (tmp_path / "nowhere").exists()


def test_the_end_of_a_killed_runs_pack_is_cut_and_its_payloads_stay(home, gc):
    run = recorded(home, "one", killed=True)
    size = (run.folder / "data.pack").stat().st_size
    told = gc("--dry-run")
    assert told[0].startswith("would cut the end of data.pack of run one") and told[0].endswith("(5.0 kB)")
    assert told[1:] == ["5.0 kB would be freed"]
    assert (run.folder / "data.pack").stat().st_size == size
    assert gc() == [told[0].removeprefix("would "), "5.0 kB freed"]
    assert (run.folder / "data.pack").stat().st_size == size - 5000 and whole(run)
    assert gc() == ["0 bytes freed"]


@pytest.mark.parametrize("damage", ["cut", "flip", "missing"])
def test_a_pack_whose_index_is_damaged_is_left_alone(home, gc, damage):
    """Somebody may have a copy of the index."""
    run = recorded(home, "one")
    index, size = run.folder / "data.idx", (run.folder / "data.pack").stat().st_size
    lines = index.read_bytes().splitlines(keepends=True)
    if damage == "cut":
        index.write_bytes(lines[0])
    elif damage == "flip":
        index.write_bytes(lines[0] + b"x" + lines[1][1:])
    else:
        index.unlink()
    assert gc() == ["0 bytes freed"]
    assert (run.folder / "data.pack").stat().st_size == size


def test_a_torn_last_line_of_the_index_keeps_nothing(home, gc):
    run = recorded(home, "one", killed=True)
    with open(run.folder / "data.idx", "ab") as index:
        index.write(b"0" * 32 + b" 999")
    assert gc()[-1] == "5.0 kB freed"
    assert whole(run)


def test_leftovers_go_and_what_is_in_use_stays(home, gc):
    run = recorded(home, "one")
    (run.folder / "reserve.123").write_bytes(bytes(100))
    (run.folder / "run.json.123").write_bytes(bytes(50))
    (home / "runs" / ".removed-1234").mkdir()
    (home / "runs" / ".removed-1234" / "data.pack").write_bytes(bytes(700))
    imports = [home / "runs" / f"{sharing.TEMPORARY}{name}" for name in ("old", "new", "replacing")]
    for folder in imports:
        (folder / "in").mkdir(parents=True)
    (imports[2] / sharing.REPLACED).mkdir()
    old(imports[0]), old(imports[2])
    (home / "runs" / "empty").mkdir()
    (home / "runs" / "fresh").mkdir()
    old(home / "runs" / "empty")
    told = gc()
    assert [re.sub(r" \(.*", "", line) for line in told] == [
        "removed reserve.123 of run one",
        "removed run.json.123 of run one",
        "removed an interrupted import",
        "removed what was left of a run that was being removed",
        "removed run empty, which never began",
        "850 bytes freed",
    ]
    left = {entry.name for entry in (home / "runs").iterdir()}
    assert left == {"one", "fresh", imports[1].name, imports[2].name} and whole(run)


def test_large_payloads_that_a_kill_left_without_a_line_go(home, gc):
    run = recorded(home, "one")
    (run.folder / large.FOLDER).mkdir()
    for name in ("0" * 32, f".{'1' * 32}.77"):
        (run.folder / large.FOLDER / name).write_bytes(bytes(400))
    (home / large.OBJECTS).mkdir()
    os.link(run.folder / large.FOLDER / ("0" * 32), home / large.OBJECTS / ("0" * 32))
    words = "removed a payload of run one, which nothing refers to (400 bytes)"
    assert gc() == [words, words, "800 bytes freed"]
    assert not any(home.joinpath(large.OBJECTS).iterdir()) and whole(run)


def test_leftovers_of_killed_replays_go_and_those_of_living_ones_stay(tmp_path, home, gc):
    living = overlays.make()
    try:
        killed = tmp_path / "tmp" / f"{overlays.PREFIX}killed"
        killed.mkdir()
        (killed / "model.pt").write_bytes(bytes(2000))
        for name in ("dead", "alive"):
            (tmp_path / "tmp" / f"{places.PREFIX}{name}").mkdir()
            (tmp_path / "tmp" / f"{places.PREFIX}{name}" / "worker-0.out1").write_bytes(bytes(300))
        old(tmp_path / "tmp" / f"{places.PREFIX}dead")
        assert gc("--dry-run")[-1] == "2.3 kB would be freed"
        assert gc()[-1] == "2.3 kB freed"
        left = {entry.name for entry in (tmp_path / "tmp").iterdir()}
        assert left == {living.name, f"{places.PREFIX}alive"}
    finally:
        overlays.remove(living)


def test_cached_code_that_was_not_used_for_long_goes(home, gc):
    folder = home / cache.FOLDER
    folder.mkdir()
    for name in ("used.code", "unused.code", "half.code.77", "writing.code.78"):
        (folder / name).write_bytes(bytes(10))
    old(folder / "unused.code", 31), old(folder / "half.code.77", 2)
    assert gc() == ["removed 2 cached modules that were not used for long (20 bytes)", "20 bytes freed"]
    assert {entry.name for entry in folder.iterdir()} == {"used.code", "writing.code.78"}


def test_runs_go_by_number_age_and_size(home, gc, capfd):
    for name, days, script in [("a", 50, "a.py"), ("b", 40, "b.py"), ("c", 30, "a.py"), ("d", 1, "a.py")]:
        recorded(home, name, days, script=script)
    told = gc("--dry-run", "--keep", "1", "--older-than", "35d")
    assert told[0].startswith("would remove run a of a.py: 50 days old (") and len(told) == 2
    assert names(home) == ["a", "b", "c", "d"]
    assert gc("--keep", "2")[0].startswith("removed run a of a.py: not among the newest 2 of its script (")
    assert gc("--older-than", "35d")[0].startswith("removed run b of b.py: 40 days old (")
    assert names(home) == ["c", "d"]
    size = sum(path.stat().st_size for path in home.rglob("*") if path.is_file())
    assert gc("--max-size", f"{size} B") == ["0 bytes freed"]
    assert gc("--max-size", f"{size - 1} B")[0].startswith("removed run c of a.py: the oldest, while")
    assert cli.main(["runs", "gc", "--max-size", "1KiB", "--keep", "1"]) == 0
    out, err = capfd.readouterr()
    assert out == "0 bytes freed\n" and err.startswith("florc: the store has ") and "more than 1.0 kB" in err
    assert names(home) == ["d"]


def test_garbage_counts_before_runs_do(home, gc):
    """A run need not go for the sake of bytes that go anyway."""
    recorded(home, "a", 3, killed=True)
    recorded(home, "b", 2)
    size = sum(path.stat().st_size for path in home.rglob("*") if path.is_file())
    assert gc("--max-size", f"{size - 4000} B")[-1] == "5.0 kB freed"
    assert names(home) == ["a", "b"]


def test_a_run_that_is_recorded_or_replayed_stays(home, gc):
    running = runs.create(home, "running", "train.py")
    elsewhere = runs.update(recorded(home, "elsewhere"), status=runs.RUNNING, host="another")
    read = recorded(home, "read", 9, killed=True)
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(read.folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        env=environment(),
    ) as reading:  # fmt: skip
        assert reading.stdout is not None and reading.stdin is not None
        assert reading.stdout.readline() == b"held\n"
        assert gc("--older-than", "0s") == ["0 bytes freed"]
        assert set(names(home)) == {elsewhere.run, read.run, running.run}
        reading.stdin.close()
    assert len(gc("--older-than", "0s")) == 2
    assert set(names(home)) == {elsewhere.run, running.run}


HOLD = """\
import sys
from pathlib import Path
from florc.stored import locks
locks.share(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def test_a_replay_holds_its_run(tmp_path):
    """A program that is replayed asks for the removal of its own run."""
    words = [sys.executable, "-m", "florc", "runs", "gc", "--older-than", "0s"]
    ask = f"import subprocess\nsubprocess.run({words})\n"
    lay(tmp_path, {"train.py": ask})
    assert florc(tmp_path, "record", "--name", "one", "train.py").out == "0 bytes freed\n"
    assert florc(tmp_path, "replay", "train.py").out == "0 bytes freed\n"
    assert florc(tmp_path, "runs", "gc", "--older-than", "0s").out.startswith("removed run one of train.py: ")


def test_runs_that_cannot_be_read_stay(home, gc, monkeypatch):
    foreign = recorded(home, "foreign", 99, killed=True)
    monkeypatch.setenv("FLORC_KEY_FILE", str(home.parent / "another-key"))
    recorded(home, "own", 99)
    assert gc("--older-than", "1d")[0].startswith("removed run own")
    assert foreign.folder.is_dir() and names(home) == []


def test_an_imported_run_is_as_old_as_its_import(home, gc):
    now = datetime.now(timezone.utc).isoformat()
    runs.update(recorded(home, "one", 99), imported_from={"at": now})
    assert gc("--older-than", "30d") == ["0 bytes freed"]


@pytest.mark.parametrize("words", [["--keep", "0"], ["--older-than", "30"], ["--max-size", "much"]])
def test_a_wish_that_makes_no_sense_is_a_usage_error(home, capfd, words):
    assert cli.main(["runs", "gc", *words]) == 2
    assert capfd.readouterr().err.count("\n") == 1
