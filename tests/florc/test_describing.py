"""`florc runs show`: what a run keeps, for people and for programs."""

from __future__ import annotations

import json
import marshal
from pathlib import Path
from typing import Any

import pytest

from florc import cli, project
from florc.runtime import journal, runs
from florc.runtime.figures import Chances, Figures
from florc.runtime.graph import MARSHAL_VERSION
from florc.runtime.runs import Run
from florc.runtime.store import BlobWriter
from florc.stored import describing

MAIN, BLOCK, HOT = "train.py::for#0", "train.py::for#0/for#0", "train.py::for#0/for#1"
WEIGHTS, ROWS = bytes(range(250)) * 8, bytes(3000)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Three epochs: checkpoints after the first and at the exit, of weights that never change."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FLORC_DIR", raising=False)
    home = tmp_path / ".florc"
    project.prepare_store(home)
    run = runs.create(home, "one", "train.py", argv=("--name", "a b"), florc="0.1.0", python="CPython 3.12.1")
    blobs = BlobWriter(run.folder, run.seal)
    events = journal.JournalWriter(run.folder, run.seal)

    def sealed(value: Any) -> str:
        return blobs.put(marshal.dumps(value, MARSHAL_VERSION), sealed=True)

    def checkpoint(count: int) -> list[str]:
        nodes: dict[int, Any] = {
            1: ("storage", 2000, "cpu", 0, blobs.put(WEIGHTS)),
            2: ("array", "C", b"", (), blobs.put(ROWS)),
            3: ("list", [count]),
        }
        contents = {number: marshal.dumps(node, MARSHAL_VERSION) for number, node in nodes.items()}
        return [sealed((contents, {}, [], [], {})), sealed(["names"]), sealed([1, 2])]

    base = sealed("base")
    kept = blobs.put(b"a file", sealed=True)
    events.add(["f", ["prior", "/tmp/x", True, "file", kept, "", 0]])
    for event in (
        ["L", MAIN], ["B", base], ["H", 0, {}], ["I", 0, {}, None, 0],
        ["L", BLOCK], ["X", "end", 0.5, None, 0], ["L", HOT], ["X", "end", 0.5, None, 0], ["Q", HOT],
        ["I", 1, {}, checkpoint(1), 0], ["I", 2, {}, None, 0], ["L", BLOCK], ["Z", BLOCK],
        ["X", "end", 0.1, checkpoint(2), 0], ["n", "a note"], ["E", 3, False, blobs.count],
    ):  # fmt: skip
        events.add(event)
    blobs.close()
    events.close()
    facts = {"exit_code": 3, "finished": "2026-01-02T03:04:05+00:00", "started": "2026-01-02T03:02:00+00:00"}
    return runs.update(run, status=runs.FAILED, libraries={"dill": "1.0", "numpy": "2.0"}, **facts)


def told(capfd: pytest.CaptureFixture[str], *words: str) -> str:
    assert cli.main(["runs", "show", *words]) == 0
    out, err = capfd.readouterr()
    assert err == ""
    return out


def test_loops_are_counted(run):
    assert describing.contents(run).loops == (
        describing.Loop(MAIN, True, runs=1, iterations=3, checkpoints=2, skipped=1),
        describing.Loop(BLOCK, False, runs=2, skipped=1),  # what an exception left could not have one
        describing.Loop(HOT, False, runs=1, skipped=1, followed=False),
    )


def test_bytes_are_counted_once_and_as_often_as_they_were_kept(run):
    sizes = describing.contents(run).sizes
    assert sizes.logical - sizes.payloads == len(WEIGHTS) + len(ROWS) + sum(
        len(marshal.dumps(value, MARSHAL_VERSION)) for value in (["names"], [1, 2])
    )
    assert sizes.factor == sizes.logical / sizes.payloads
    assert sizes.disk == sum(entry.stat().st_size for entry in run.folder.iterdir()) > sizes.payloads


def ended(run: Run, figures: Figures) -> None:
    """Let the run end with what it says of itself, as a recording does."""
    read = journal.read(run.folder, run.seal)
    read.events[-1].append(figures.packed())
    (run.folder / journal.NAME).unlink()
    journal.write_again(run.folder, read, run.seal)


def test_what_the_recording_says_of_itself_is_taken_from_there(run, capfd, monkeypatch):
    chances = Chances(taken=2, refused=0, behind=3, blind=1)
    ended(run, Figures(5_000_000, 4_000_000, 1.25, {MAIN: chances}))
    monkeypatch.setattr(describing, "_kept", lambda *_: pytest.fail("nothing has to be unmarshalled"))
    found = json.loads(told(capfd, "--json"))
    assert (found["bytes"]["logical"], found["overhead_seconds"]) == (5_000_000, 1.25)
    assert found["loops"][0]["chances"] == {"taken": 2, "refused": 0, "behind": 3, "blind": 1}
    assert found["loops"][1]["chances"] is None
    lines = told(capfd).splitlines()
    assert "overhead     1.2 s" in lines
    words = "3 skipped while the disk was behind; 1 skipped because florc could not see all"
    assert any(line.startswith(f"  {MAIN} ") and line.endswith(words) for line in lines)


def test_people_read_lines(run, capfd):
    lines = told(capfd).splitlines()
    assert lines[:2] == ["run          one", "program      train.py --name 'a b'"]
    assert lines[2] == "state        failed, exit code 3"
    assert lines[4:6] == ["took         2:05.0", "versions     florc 0.1.0, CPython 3.12.1, numpy 2.0"]
    assert lines[7].startswith("in full      11 kB, 1.9 times the 5.5 kB of payloads")
    assert [line.split() for line in lines[8:12]] == [
        ["loops"],
        ["loop", "runs", "iterations", "checkpoints", "skipped"],
        [MAIN, "1", "3", "2", "1"],
        [BLOCK, "2", "0", "1"],
    ]
    assert lines[12].endswith("takes next to nothing: not followed to its end")
    assert lines[13:] == ["note         a note"]


def test_programs_read_json(run, capfd):
    found = json.loads(told(capfd, "one", "--json"))
    assert (found["run"], found["exit_code"], found["libraries"]["dill"]) == ("one", 3, "1.0")
    assert [loop["id"] for loop in found["loops"]] == [MAIN, BLOCK, HOT]
    assert found["bytes"]["factor"] == round(found["bytes"]["logical"] / found["bytes"]["payloads"], 2) > 1.5
    assert found["notes"] == ["a note"] and found["flaws"] == []


def test_what_is_damaged_is_told_and_stops_nothing(run, capfd):
    journal_file = run.folder / journal.NAME
    data = journal_file.read_bytes()
    journal_file.write_bytes(data.replace(b"a note", b"a n0te"))
    assert "not whole    journal.jsonl is damaged between byte" in told(capfd)
    journal_file.write_bytes(data)
    (run.folder / "data.pack").write_bytes(b"")
    assert f"  {MAIN}  " in told(capfd)


def test_a_killed_run_has_no_end(run, capfd):
    runs.update(run, status=runs.RUNNING, exit_code=None, finished=None, host="another", pid=7)
    lines = told(capfd).splitlines()
    assert lines[2] == "state        running, process 7"
    assert not any(line.startswith("took") for line in lines)
