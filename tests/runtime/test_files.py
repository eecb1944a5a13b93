"""A replay sees the files as the recorded run saw them, and touches none of the user's."""
from __future__ import annotations

import builtins
import bz2
import csv
import glob
import gzip
import io
import json
import logging
import os
import pathlib
import pickle
import shutil
import sqlite3
import stat
import tempfile
import zipfile
from pathlib import Path

import pytest

from tests.runtime.files_bench import Bench, snapshot


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


def put(name, text, mode="w"):
    with open(name, mode) as file:
        file.write(text)


def get(name):
    with open(name) as file:
        return file.read()


def outcome(action, *args):
    """What an action returns or the exception it raises, as plain words."""
    try:
        return action(*args)
    except OSError as failure:
        return type(failure).__name__, failure.errno, failure.filename


# -- whole programs: recorded once, replayed complete and with parts skipped -----------------------------


def metrics(bench):
    """A csv kept open over the loop, the best result, a summary; everything is read back."""
    os.makedirs("out", exist_ok=True)
    table = open("metrics.csv", "w", newline="")  # noqa: SIM115
    writer = csv.writer(table)
    writer.writerow(["epoch", "loss"])
    for epoch in range(4):
        if bench.enter(f"epoch {epoch}"):
            writer.writerow([epoch, 1 / (epoch + 1)])
            table.flush()
            put(os.path.join("out", "best.txt"), f"epoch {epoch}")
            bench.leave(f"epoch {epoch}")
    table.close()
    with open("out/summary.json", "w") as file:
        json.dump({"epochs": 4}, file)
    with open("metrics.csv", newline="") as file:
        bench.tell(list(csv.reader(file)))
    bench.tell(get("out/best.txt"))
    bench.tell(sorted(os.listdir("out")))


def resuming(bench):
    """Goes on from a checkpoint if there is one: the replay must not see the finished run's."""
    start = int(get("ckpt.txt")) if os.path.exists("ckpt.txt") else 0
    bench.tell(start)
    for epoch in range(start, start + 3):
        if bench.enter(f"epoch {epoch}"):
            put("ckpt.tmp", str(epoch + 1))
            os.replace("ckpt.tmp", "ckpt.txt")
            bench.leave(f"epoch {epoch}")
    bench.tell(get("ckpt.txt"))
    bench.tell(os.path.exists("ckpt.tmp"))


def keeping_the_last(bench):
    """Removes old checkpoints, finds the newest by glob."""
    Path("ckpts").mkdir(exist_ok=True)
    for epoch in range(5):
        if bench.enter(f"epoch {epoch}"):
            put(f"ckpts/{epoch}.txt", f"state {epoch}")
            bench.leave(f"epoch {epoch}")
        for old in sorted(glob.glob("ckpts/*.txt"))[:-2]:
            os.remove(old)
        bench.tell(sorted(path.name for path in Path("ckpts").iterdir()))
    bench.tell(Path(max(glob.glob("ckpts/*.txt"))).read_text())


def fresh_folder(bench):
    """Empties its folder first, as many scripts do."""
    if os.path.isdir("out"):
        bench.tell(sorted(os.listdir("out")))
        shutil.rmtree("out")
    bench.tell(os.path.exists("out"))
    os.makedirs("out/logs")
    put("out/logs/log.txt", "one\n")
    put("out/logs/log.txt", "two\n", "a")
    bench.tell(get("out/logs/log.txt"))
    bench.tell([(top, sorted(folders), sorted(files)) for top, folders, files in os.walk("out")])


def growing_log(bench):
    """Appends to a log that was there before."""
    for epoch in range(3):
        if bench.enter(f"epoch {epoch}"):
            with open("log.txt", "a") as file:
                bench.tell(file.tell())
                file.write(f"epoch {epoch}\n")
            bench.leave(f"epoch {epoch}")
    bench.tell(get("log.txt"))


def linking(bench):
    """Points a link at the newest checkpoint."""
    for epoch in range(3):
        if bench.enter(f"epoch {epoch}"):
            put(f"ckpt_{epoch}.txt", f"state {epoch}")
            if os.path.lexists("latest"):
                os.remove("latest")
            os.symlink(f"ckpt_{epoch}.txt", "latest")
            bench.leave(f"epoch {epoch}")
    bench.tell(os.readlink("latest"))
    bench.tell(get("latest"))
    bench.tell(os.path.realpath("latest") == os.path.abspath("ckpt_2.txt"))


def publishing(bench):
    """Writes into a folder aside and renames it."""
    for epoch in range(3):
        if bench.enter(f"epoch {epoch}"):
            os.mkdir("aside")
            put("aside/model.txt", f"state {epoch}")
            if os.path.exists("public"):
                shutil.rmtree("public")
            os.rename("aside", "public")
            bench.leave(f"epoch {epoch}")
    bench.tell(get("public/model.txt"))
    bench.tell(outcome(os.listdir, "aside"))
    bench.tell(os.listdir("public"))


def copying(bench):
    """Copies, moves, updates in place, temporary files in the user's folder and elsewhere."""
    shutil.copyfile("data.txt", "copy.txt")
    shutil.copy2("data.txt", "copy2.txt")
    with open("copy.txt", "r+") as file:
        file.seek(2)
        file.write("XX")
    bench.tell(get("copy.txt"))
    shutil.move("copy2.txt", "moved.txt")
    bench.tell([get("moved.txt"), os.path.exists("copy2.txt")])
    with tempfile.NamedTemporaryFile("w", dir=".", delete=False) as aside:
        aside.write("by a name drawn anew")
    os.replace(aside.name, "final.txt")
    bench.tell([get("final.txt"), os.path.exists(aside.name)])
    with tempfile.NamedTemporaryFile("w+", dir=".") as aside:
        aside.write("short-lived")
        aside.seek(0)
        bench.tell(aside.read())
    with tempfile.TemporaryDirectory() as folder:
        put(os.path.join(folder, "x"), "elsewhere")
        bench.tell(get(os.path.join(folder, "x")))


def formats(bench):
    """Writers of the standard library, each by its own way to open."""
    with gzip.open("a.gz", "wt") as file:
        file.write("gzip")
    with bz2.open("a.bz2", "wt") as file:
        file.write("bz2")
    with zipfile.ZipFile("a.zip", "w") as archive:
        archive.writestr("member", "zip")
    handler = logging.FileHandler("run.log", mode="w")
    handler.emit(logging.LogRecord("name", 20, "file", 1, "logged", None, None))
    handler.close()
    Path("p.txt").write_text("pathlib")
    with open("p.pkl", "wb") as file:
        pickle.dump({"a": 1}, file)
    with gzip.open("a.gz", "rt") as file:
        bench.tell(file.read())
    with bz2.open("a.bz2", "rt") as file:
        bench.tell(file.read())
    with zipfile.ZipFile("a.zip") as archive:
        bench.tell(archive.read("member"))
    bench.tell([get("run.log"), Path("p.txt").read_text(), Path("p.txt").exists()])
    bench.tell(Path("p.txt").stat().st_size)
    bench.tell(sorted(str(path) for path in Path(".").glob("*.*")))
    bench.tell(sorted(str(path) for path in Path(".").rglob("p.*")))
    with open("p.pkl", "rb") as file:
        bench.tell(pickle.load(file))
    Path("p.txt").rename("q.txt")
    Path("q.txt").touch()
    bench.tell([Path("p.txt").is_file(), Path("q.txt").is_file()])
    Path("q.txt").unlink()
    bench.tell(outcome(Path("q.txt").read_text))


def failing(bench):
    """What goes wrong goes wrong in the same way."""
    for action, *args in [
        (open, "none.txt"), (open, "none/x", "w"), (open, "out", "w"), (open, "data.txt", "x"),
        (os.mkdir, "out"), (os.mkdir, "none/x"), (os.remove, "none.txt"), (os.rmdir, "out"),
        (os.rename, "none", "x"), (os.stat, "none.txt"), (os.listdir, "data.txt"), (os.listdir, "none"),
        (os.makedirs, "out"), (os.scandir, "none"), (os.open, "none.txt", os.O_RDONLY), (os.chdir, "none"),
        (os.remove, b"none.txt"),
    ]:
        bench.tell(outcome(action, *args))
        os.makedirs("out", exist_ok=True)
        put("out/file.txt", "so that it is not empty")
    bench.tell([os.access("none.txt", os.R_OK), os.access("out/file.txt", os.R_OK)])


PROGRAMS = [metrics, resuming, keeping_the_last, fresh_folder, growing_log, linking, publishing, copying,
            formats, failing]


def prepare(bench):
    (bench.home / "data.txt").write_text("an input\n")
    (bench.home / "log.txt").write_text("an older run\n")
    (bench.home / "out").mkdir()
    (bench.home / "out" / "old.txt").write_text("of an older run\n")


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_record_and_replay_tell_what_plain_python_tells(bench, tmp_path, program):
    (tmp_path / "plain").mkdir()
    plain = Bench(tmp_path / "plain")
    prepare(plain)
    prepare(bench)
    told = plain.plain(program)
    assert bench.record(program) == told
    assert bench.replay(program) == told
    assert bench.reports == []
    assert bench.replay(program) == told      # the overlay of an earlier replay does not matter


SKIPS = [("epoch 0",), ("epoch 1",), ("epoch 2",), ("epoch 0", "epoch 1"), ("epoch 0", "epoch 1", "epoch 2")]


@pytest.mark.parametrize("skip", SKIPS, ids=" ".join)
@pytest.mark.parametrize("program", [metrics, resuming, linking, publishing, keeping_the_last])
def test_skipped_parts_leave_what_is_read_later(bench, program, skip):
    told = list(bench.record(program))
    assert bench.replay(program, *skip) == told
    assert bench.reports == []


@pytest.mark.parametrize("skip", SKIPS, ids=" ".join)
def test_an_appended_file_tells_its_length_after_skipped_parts(bench, skip):
    prepare(bench)
    told = list(bench.record(growing_log))
    skipped = [int(part.split()[1]) for part in skip]
    assert bench.replay(growing_log, *skip) == [value for i, value in enumerate(told) if i not in skipped]


# -- probes ----------------------------------------------------------------------------------------------


def test_a_probe_reads_what_the_program_had_written_by_then(bench):
    def program(bench):
        for epoch in range(3):
            put("best.txt", f"epoch {epoch}")
            bench.probe(lambda: get("best.txt"))
        bench.tell(get("best.txt"))

    bench.record(program)
    assert bench.replay(program) == ["epoch 0", "epoch 1", "epoch 2", "epoch 2"]


def test_a_probe_reading_moves_no_cursor(bench):
    def program(bench):
        if bench.enter("a"):
            put("x", "1")
            bench.leave("a")
        bench.probe(lambda: [get("x"), get("x")])
        bench.tell(get("x"))
        if bench.enter("b"):
            put("x", "2")
            bench.leave("b")
        bench.probe(lambda: get("x"))
        bench.tell(get("x"))

    bench.record(program)
    assert bench.replay(program, "a", "b") == [["1", "1"], "1", "2", "2"]


def test_a_probe_cannot_read_what_nobody_kept(bench):
    def program(bench):
        for epoch in range(3):
            if bench.enter(f"epoch {epoch}"):
                put("best.txt", f"epoch {epoch}")
                bench.leave(f"epoch {epoch}")
            bench.probe(lambda: outcome(get, "best.txt"))

    bench.record(program)
    told = bench.replay(program, "epoch 0", "epoch 1", "epoch 2")
    assert [value[0] for value in told[:2]] == ["FileNotFoundError"] * 2
    assert told[2] == "epoch 2"                # the run's last: the user's file is still that
    assert len(bench.reports) == 2
    assert "best.txt" in bench.reports[0]


def test_a_probe_reads_the_last_file_only_while_it_is_what_the_run_left(bench):
    def program(bench):
        if bench.enter("a"):
            put("best.txt", "by the run")
            bench.leave("a")
        bench.probe(lambda: outcome(get, "best.txt"))

    bench.record(program)
    (bench.home / "best.txt").write_text("by another run")
    assert bench.replay(program, "a")[0][0] == "FileNotFoundError"
    assert len(bench.reports) == 1


def test_a_file_left_open_in_a_skipped_part_is_not_taken_for_complete(bench):
    def program(bench):
        table = open("metrics.csv", "w")  # noqa: SIM115
        table.write("header\n")
        if bench.enter("a"):
            table.write("row\n")
            bench.leave("a")
        table.flush()
        bench.probe(lambda: outcome(get, "metrics.csv"))
        table.close()

    bench.record(program)
    assert bench.replay(program)[0] == "header\nrow\n"
    assert bench.replay(program, "a")[0][0] == "FileNotFoundError"


def test_what_a_probe_writes_is_a_real_file_unless_it_is_the_programs(tmp_path):
    bench = Bench(tmp_path)

    def program(bench):
        put("mine.txt", "program")
        bench.tell(get("mine.txt"))

    bench.record(program)
    replayer = bench.replayer()
    os.chdir(bench.home)
    replayer.install()
    try:
        program(bench)
        bench.probing = True
        os.makedirs("probe/deep")
        put("probe/deep/note.txt", "note")
        put("mine.txt", "probe")
        os.rename("probe/deep/note.txt", "probe/deep/moved.txt")
        os.replace("probe/deep/moved.txt", "probe/deep/note.txt")
        assert get("probe/deep/note.txt") == "note"
        assert get("mine.txt") == "probe"
        bench.probing = False
    finally:
        replayer.uninstall()
        os.chdir(tmp_path)
    assert (bench.home / "probe/deep/note.txt").read_text() == "note"
    assert (bench.home / "mine.txt").read_text() == "program"


# -- contents that are not kept --------------------------------------------------------------------------


def test_a_large_file_read_back_is_the_users_own_while_unchanged(bench):
    def program(bench):
        if bench.enter("a"):
            put("big.txt", "x" * 5000)
            bench.leave("a")
        bench.tell(len(get("big.txt")))

    bench.record(program)
    assert bench.replay(program, "a") == [5000]
    assert bench.reports == []
    (bench.home / "big.txt").write_text("changed since")
    with pytest.raises(FileNotFoundError):
        bench.replay(program, "a")
    assert "5000 bytes" in bench.reports[0]


def test_a_large_file_that_the_run_overwrote_is_reported(bench):
    (bench.home / "big.txt").write_text("y" * 5000)

    def program(bench):
        bench.tell(len(get("big.txt")))
        put("big.txt", "short")
        bench.tell(get("big.txt"))

    bench.record(program)
    with pytest.raises(FileNotFoundError):
        bench.replay(program)
    assert len(bench.reports) == 1


# -- events ----------------------------------------------------------------------------------------------


def test_events_of_a_small_run(bench):
    (bench.home / "old.txt").write_text("old")
    (bench.home / "in.txt").write_text("input")

    def program(bench):
        get("in.txt")
        get("in.txt")
        put("old.txt", "new")
        get("old.txt")
        os.mkdir("d")
        put("d/x", "x")
        os.rename("d/x", "d/y")
        os.remove("d/y")
        sqlite3.connect("base.db").close()

    bench.record(program)
    plain = [tuple(str(atom).replace(bench.path("") + "/", "") for atom in event[:4])
             for _, event in bench.events if event[0] != "left"]
    key = next(key for key, value in bench.kept.items() if value == b"new")
    assert [event[:2] if event[0] == "input" else event for event in plain] == [
        ("input", "in.txt"), ("prior", "old.txt", "True", "file"), ("write", "old.txt", "1", "0"),
        ("read", "old.txt", "1", key), ("prior", "d", "False", ""), ("mkdir", "d"),
        ("prior", "d/x", "False", ""), ("write", "d/x", "1", "0"), ("prior", "d/y", "False", ""),
        ("rename", "d/x", "d/y"), ("remove", "d/y"), ("prior", "base.db", "False", ""), ("opaque", "base.db")]
    assert b"old" in bench.kept.values()


def test_what_fails_leaves_no_event(bench):
    def program(bench):
        for action, *args in [(open, "none/x", "w"), (open, ".", "w"), (os.mkdir, "none/x"), (os.mkdir, "."),
                              (os.remove, "none"), (os.rename, "none", "x"), (os.rmdir, "none")]:
            outcome(action, *args)

    bench.record(program)
    assert bench.events == []


def test_links_devices_and_descriptors(bench):
    os.symlink(bench.home, bench.home.parent / "way")

    def program(bench):
        put("../way/x", "through a link")
        put(os.devnull, "nothing")
        descriptor = os.open("y", os.O_WRONLY | os.O_CREAT)
        with open(descriptor, "w") as file:
            file.write("by descriptor")
        bench.tell([get("x"), get("../way/x"), get("y")])

    told = list(bench.record(program))
    assert {event[1] for _, event in bench.events} == {bench.path("x"), bench.path("y")}
    assert bench.replay(program) == told


def test_a_library_that_leads_to_the_users_files_shows_them_as_the_run_had_them(bench):
    bench.libraries.mkdir()
    os.symlink(bench.home, bench.libraries / "data")
    (bench.libraries / "code.py").write_text("pass")

    def program(bench):
        if bench.enter("loop"):
            put("log", "written in the loop")
        bench.leave("loop")
        for name in ("code.py", "data/log", "data/../code.py", "none", "data", "data/.."):
            path = f"{bench.libraries}/{name}"
            bench.tell((name, os.path.lexists(path) and stat.S_IFMT(os.lstat(path).st_mode)))

    told = list(bench.record(program))
    os.remove(bench.path("log"))
    assert bench.replay(program, "loop") == told


def test_a_forked_child_records_nothing(bench):
    def program(bench):
        child = os.fork()
        if not child:
            put("child.txt", "x")
            os._exit(0)
        os.waitpid(child, 0)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("warnings.filters", [])
        bench.record(program)
    assert bench.events == []


def test_a_traceback_under_record_shows_no_foreign_frame(bench):
    def program(bench):
        try:
            open("none.txt")  # noqa: SIM115
        except FileNotFoundError as failure:
            trace = failure.__traceback__
            bench.tell(trace is not None and trace.tb_next is None)

    assert bench.record(program) == [True]


# -- under replay ----------------------------------------------------------------------------------------


def test_names_of_open_files_are_the_programs(bench):
    def program(bench):
        opens: list[tuple[str | bytes | Path, str]] = [("x", "w"), (Path("x"), "r"), ("x", "rb"), (b"x", "a")]
        for name, mode in opens:
            with open(name, mode) as file:
                bench.tell(file.name)
        with open("x", "rb", buffering=0) as file:
            bench.tell(file.name)

    told = list(bench.record(program))
    assert bench.replay(program) == told == ["x", "x", "x", b"x", "x"]


def test_a_folder_named_after_the_time_is_recognised(bench):
    names = iter(["run_0912", "run_0934", "run_1055"])

    def program(bench):
        folder = os.path.join("runs", next(names))
        os.makedirs(folder)
        put(f"{folder}/log.txt", "started\n")
        if bench.enter("a"):
            put(f"{folder}/log.txt", "trained\n", "a")
            put(f"{folder}/model.txt", "weights")
            bench.leave("a")
        bench.tell(get(f"{folder}/log.txt"))
        bench.tell(get(f"{folder}/model.txt"))
        bench.tell(os.path.exists(f"{folder}/none"))

    told = list(bench.record(program))
    assert bench.replay(program) == told
    assert bench.replay(program, "a") == told
    assert bench.reports == []


def test_the_current_folder_may_be_one_that_the_run_made(bench):
    def program(bench):
        os.makedirs("work/deep")
        os.chdir("work")
        put("x", "there")
        bench.tell([os.path.basename(os.getcwd()), get("x"), get("../data.txt"), os.path.isfile("deep/../x")])
        os.chdir("..")
        shutil.rmtree("work")
        bench.tell(os.path.exists("work"))

    prepare(bench)
    told = list(bench.record(program))
    assert bench.replay(program) == told


def test_a_database_is_the_replays_own(bench):
    def program(bench):
        if bench.enter("a"):
            base = sqlite3.connect("base.db")
            base.execute("create table if not exists t (x)")
            base.execute("insert into t values (1)")
            base.commit()
            base.close()
            bench.leave("a")
        base = sqlite3.connect("base.db")
        bench.tell(outcome(lambda: base.execute("select count(*) from sqlite_master").fetchall()))
        base.close()

    told = list(bench.record(program))
    assert bench.replay(program) == told
    assert bench.reports == []
    bench.replay(program, "a")
    assert "database" in bench.reports[0]


def test_a_change_around_the_stand_ins_is_stopped_and_reported(bench):
    raw = io.FileIO

    def program(bench):
        put("x", "run")
        if bench.events and bench._replayer is not None:
            bench.tell(outcome(raw, "x", "w"))

    bench.record(program)
    assert bench.replay(program)[0][0] == "OSError"
    assert bench.path("x") in bench.reports[0]


def test_modes_times_and_links_of_inputs_stay(bench):
    prepare(bench)

    def program(bench):
        os.chmod("data.txt", 0o600)
        os.utime("data.txt", (1, 1))
        put("x", "1")
        os.chmod("x", 0o600)
        os.utime("x", (1, 1))
        bench.tell(os.stat("x").st_mode & 0o777)
        bench.tell(os.path.getmtime("x"))
        os.link("x", "y")
        bench.tell(get("y"))
        os.truncate("y", 0)
        bench.tell(os.path.getsize("y"))

    told = list(bench.record(program))
    assert bench.replay(program) == told


NAMES = ["open", "stat", "lstat", "mkdir", "remove", "unlink", "rename", "replace", "scandir", "listdir",
         "access", "chmod", "utime", "chdir", "getcwd", "truncate", "symlink", "readlink"]


def test_uninstalling_puts_everything_back(bench):
    def state():
        held = [getattr(os, name) for name in NAMES]
        held += [builtins.open, io.open, os.path.getsize, sqlite3.connect, dict(vars(bz2))]
        held += [dict(vars(shutil)), dict(vars(os))]
        held += [set(os.supports_dir_fd), set(os.supports_fd), set(os.supports_follow_symlinks)]
        held += [dict(vars(getattr(pathlib, "_NormalAccessor", object)))]
        held += [dict(vars(getattr(glob, "_StringGlobber", object)))]
        closer = getattr(tempfile, "_TemporaryFileCloser", object)
        held += [[getattr(function, "__defaults__", None) for function in vars(closer).values()]]
        return held

    before = state()
    recorder = bench.recorder()
    recorder.install()
    assert builtins.open is io.open
    recorder.uninstall()
    assert state() == before
    replayer = bench.replayer()
    replayer.install()
    stand_in = builtins.open
    assert stand_in is io.open is not before[len(NAMES)]
    assert pickle.loads(pickle.dumps(stand_in)) is stand_in
    replayer.uninstall()
    assert state() == before
    with stand_in(bench.home / "x", "w"):      # whoever holds a stand-in still has Python's function
        pass
    assert list(snapshot(bench.home)) == ["x"]


def test_threads_write_to_the_overlay_as_well(bench):
    import threading

    def program(bench):
        thread = threading.Thread(target=put, args=("by_thread.txt", "x"))
        thread.start()
        thread.join()
        bench.tell(get("by_thread.txt"))

    told = list(bench.record(program))
    assert bench.replay(program) == told


def test_importing_goes_on_under_replay(bench):
    def program(bench):
        put("fresh_module_of_a_test.py", "value = 1\n")
        bench.tell(1)

    bench.record(program)
    replayer = bench.replayer()
    replayer.install()
    try:
        import wave
    finally:
        replayer.uninstall()
    assert wave.__name__ == "wave"
