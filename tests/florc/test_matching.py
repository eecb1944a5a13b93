"""Two versions of a small project, and what the runtime is told of the edit."""

from __future__ import annotations

from pathlib import Path

import pytest

from florc.cache import Cache
from florc.errors import EXIT_REFUSED, EXIT_SYNTAX, FlorcError
from florc.matching import FileMatch, edits_of, match_project
from florc.runtime.key import Key
from florc.runtime.lockstep import Edits
from florc.runtime.script import parse
from tests.florc.running import lay

TRAIN = """\
import model

def step(x):
    print("step", x)
    return model.loss(x)

best = 9
for epoch in range(3):
    for x in range(4):
        loss = step(x)
    if loss > best:
        print("worse")
    print("epoch", epoch)
print("done")
"""
MODEL = """\
import torch

@torch.jit.script
def fast(x):
    y = x + 1
    return y

def loss(x):
    return fast(x)
"""
FILES = {"train.py": TRAIN, "model.py": MODEL}


def matched(folder: Path, *edits: tuple[str, str, str]) -> dict[str, FileMatch]:
    """Match the recorded files with what they are after some replacements: (file, before, after)."""
    now = dict(FILES)
    for file, before, after in edits:
        assert before in now[file]
        now[file] = now[file].replace(before, after)
    lay(folder, now)
    return match_project(
        parse([["M", Path(file).stem, file, f"/old/{file}", text] for file, text in FILES.items()]),
        str(folder),
    )


def edits(folder: Path, *changes: tuple[str, str, str]) -> Edits:
    return edits_of(matched(folder, *changes))


def region(found: dict[str, FileMatch], file: str, line: int) -> int:
    """The index of the recorded region whose body begins at a line."""
    return next(region.index for region in found[file].plan.regions if region.line == line and region.index)


def test_no_edit_is_no_probe(tmp_path):
    found = edits(tmp_path)
    assert (found.probes, found.regions) == ({"train.py": frozenset(), "model.py": frozenset()},) * 2
    assert (found.dropped, found.everywhere) == (frozenset(), False)
    assert found.lines["train.py", 4] == 4


def test_comments_and_blank_lines_are_no_probes_but_move_lines(tmp_path):
    found = edits(tmp_path, ("train.py", "best = 9\n", "# why\n\nbest = 9\n"))
    assert not any(found.probes.values())
    assert found.lines["train.py", 13] == 15
    assert found.lines["train.py", 4] == 4


def test_an_added_print_is_a_probe_in_its_region(tmp_path):
    found = matched(
        tmp_path, ("train.py", "        loss = step(x)\n", "        loss = step(x)\n        print(loss)\n")
    )
    told = edits_of(found)
    assert told.probes["train.py"] == {11}
    assert told.regions["train.py"] == {region(found, "train.py", 10)}
    assert told.lines["train.py", 14] == 15
    assert (told.dropped, told.everywhere) == (frozenset(), False)


def test_a_print_in_a_rare_branch_touches_that_branch_alone(tmp_path):
    found = matched(
        tmp_path, ("train.py", '        print("worse")\n', '        print("worse")\n        print(best)\n')
    )
    told = edits_of(found)
    inside = region(found, "train.py", 12)
    assert told.regions["train.py"] == {inside}
    assert told.touch({"train.py": frozenset({inside})})
    assert not told.touch({"train.py": frozenset(range(1, 20)) - {inside}})


def test_a_probe_stands_in_the_loops_around_it_and_no_others(tmp_path):
    inner = ("train.py", "        loss = step(x)\n", "        loss = step(x)\n        print(x)\n")
    outer = ("train.py", '        print("worse")\n', '        print("worse")\n        print(best)\n')
    assert edits(tmp_path, inner).around == {"train.py::for#0", "train.py::for#0/for#0"}
    assert edits(tmp_path, outer).around == {"train.py::for#0"}
    after = ("train.py", 'print("done")\n', 'print("done")\nprint(best)\n')
    assert edits(tmp_path, after).around == frozenset()


def test_an_edited_print_is_a_probe_whose_old_text_is_dropped(tmp_path):
    told = edits(tmp_path, ("train.py", 'print("epoch", epoch)', 'print("epoch", epoch, loss)'))
    assert told.dropped == {("train.py", 13)}
    assert told.probes["train.py"] == {13}


def test_a_removed_print_is_dropped_and_touches_nothing(tmp_path):
    told = edits(tmp_path, ("train.py", '    print("epoch", epoch)\n', ""))
    assert told.dropped == {("train.py", 13)}
    assert not told.probes["train.py"]
    assert not told.regions["train.py"]
    assert told.lines["train.py", 14] == 13


def test_an_edit_of_several_lines_drops_them_all(tmp_path):
    long = 'print(\n        "epoch",\n        epoch,\n        loss,\n    )'
    told = edits(tmp_path, ("train.py", 'print("epoch", epoch)', long))
    assert told.probes["train.py"] == {13, 14, 15, 16, 17}
    assert told.lines["train.py", 14] == 18


def test_a_probe_in_another_file_of_the_project_is_found(tmp_path):
    found = matched(tmp_path, ("model.py", "    return fast(x)\n", "    print(x)\n    return fast(x)\n"))
    told = edits_of(found)
    assert told.probes == {"train.py": frozenset(), "model.py": frozenset({9})}
    assert told.regions == {"train.py": frozenset(), "model.py": frozenset({region(found, "model.py", 9)})}
    assert not told.everywhere


def test_a_probe_in_a_compiled_function_may_run_anywhere(tmp_path):
    told = edits(tmp_path, ("model.py", "    y = x + 1\n", "    y = x + 1\n    print(y)\n"))
    assert told.everywhere
    assert told.touch({})


def test_a_probe_in_a_function_of_its_own_edit_is_no_compiled_one(tmp_path):
    helper = "def show(value):\n    print(value)\n\nbest = 9\n"
    call = ("train.py", "        loss = step(x)\n", "        loss = step(x)\n        show(loss)\n")
    told = edits(tmp_path, ("train.py", "best = 9\n", helper), call)
    assert not told.everywhere


def test_definitions_and_imports_touch_nothing_but_are_probe_lines(tmp_path):
    told = edits(tmp_path, ("train.py", "best = 9\n", "import math\ndef show(v):\n    print(v)\nbest = 9\n"))
    assert told.probes["train.py"] == {7, 8, 9}
    assert not told.regions["train.py"]
    assert told.own["train.py"] == {0: {"math", "show"}}


def test_names_of_probes_are_theirs(tmp_path):
    told = edits(
        tmp_path,
        (
            "train.py",
            "        loss = step(x)\n",
            "        loss = step(x)\n        twice = 2 * loss\n        print(twice)\n",
        ),
    )
    assert told.own["train.py"] == {0: {"twice"}}


def test_only_recorded_guards_are_guards_again(tmp_path):
    added = "best = 9\nfor i in range(2):\n    print(step)\n"
    found = matched(tmp_path, ("train.py", "best = 9\n", added))
    assert sorted(found["train.py"].match.ids.values()) == ["train.py::for#0", "train.py::for#0/for#0"]
    assert min(line for line, _ in found["train.py"].match.ids) == 10


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (("train.py", "best = 9", "best = 8"), 7),
        (("train.py", "range(3)", "range(4)"), 8),
        (("model.py", "x + 1", "x + 2"), 5),
        (("train.py", "        loss = step(x)\n", "        loss = step(x)\n        break\n"), 11),
    ],
)
def test_another_program_is_refused_and_its_lines_are_named(tmp_path, capfd, change, line):
    with pytest.raises(FlorcError, match="another program") as error:
        matched(tmp_path, change)
    assert error.value.exit_code == EXIT_REFUSED
    assert f"{change[0]}:{line}: " in capfd.readouterr().err


def test_a_file_that_is_gone_is_refused(tmp_path):
    lay(tmp_path, {"train.py": TRAIN})
    events = [["M", "m", file, file, text] for file, text in FILES.items()]
    with pytest.raises(FlorcError, match="cannot be read") as error:
        match_project(parse(events), str(tmp_path))
    assert (error.value.exit_code, error.value.file) == (EXIT_REFUSED, "model.py")


def test_an_edit_that_is_no_python_is_a_syntax_error_of_that_file(tmp_path):
    with pytest.raises(FlorcError) as error:
        matched(tmp_path, ("model.py", "y = x + 1", "y = x +"))
    assert error.value.exit_code == EXIT_SYNTAX
    assert (error.value.file, error.value.line) == (str(tmp_path / "model.py"), 5)


def test_the_source_of_a_record_is_its_bytes(tmp_path):
    text = "# coding: latin-1\nprint('\xe9')\n"
    (tmp_path / "a.py").write_bytes(text.encode("latin-1"))
    found = match_project(parse([["M", "a", "a.py", "/a.py", text]]), str(tmp_path))
    assert not found["a.py"].match.probes


TWO_ON_A_LINE = "for i in range(3):\n    print('a', i); print('b', i)\n"


def test_a_print_removed_beside_another_on_its_line_is_refused(tmp_path):
    (tmp_path / "a.py").write_text(TWO_ON_A_LINE.replace("print('a', i); ", ""))
    with pytest.raises(FlorcError, match="a line that it shared"):
        edits_of(match_project(parse([["M", "a", "a.py", "/a.py", TWO_ON_A_LINE]]), str(tmp_path)))


CALLS_OUTSIDE_THE_BODY = [
    pytest.param(
        "total = 0\nfor x in numbers():\n    total += x\n", "    total += x\n", id="in the iterable"
    ),
    pytest.param(
        "total = 0\nwhile more(total):\n    total += 1\n", "    total += 1\n", id="in the condition"
    ),
]


@pytest.mark.parametrize(("source", "last"), CALLS_OUTSIDE_THE_BODY)
def test_a_probe_in_a_guarded_loop_without_calls_in_its_body_is_not_skipped(tmp_path, source, last):
    (tmp_path / "a.py").write_text(source.replace(last, f"{last}    print(total)\n"))
    found = match_project(parse([["M", "a", "a.py", "/a.py", source]]), str(tmp_path))
    assert any(loop.guarded for loop in found["a.py"].plan.loops)
    told = edits_of(found)
    assert told.everywhere or any(region for region in told.regions["a.py"])


def test_what_was_matched_once_is_read_from_the_cache(tmp_path, monkeypatch):
    (tmp_path / "a.py").write_text("x = 1\nprint(x)\n")
    script = parse([["M", "a", "a.py", "/a.py", "x = 1\n"]])
    cache = Cache(tmp_path / ".florc", Key(bytes(32)))
    first = match_project(script, str(tmp_path), cache)
    monkeypatch.setattr("florc.matching._match", lambda *_: pytest.fail("matched again"))
    assert match_project(script, str(tmp_path), cache) == first
    (entry,) = (tmp_path / ".florc" / "cache").iterdir()
    entry.write_bytes(entry.read_bytes()[:-1] + b"?")
    with pytest.raises(pytest.fail.Exception):  # what the key has not signed is not loaded
        match_project(script, str(tmp_path), cache)


def test_another_source_is_another_match(tmp_path):
    cache = Cache(tmp_path / ".florc", Key(bytes(32)))
    script = parse([["M", "a", "a.py", "/a.py", "x = 1\n"]])
    found = []
    for text in ("x = 1\nprint(x)\n", "x = 1\n", "print(2)\nx = 1\n"):
        (tmp_path / "a.py").write_text(text)
        found.append(len(match_project(script, str(tmp_path), cache)["a.py"].match.probes))
    assert found == [1, 0, 1]
