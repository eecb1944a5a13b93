"""Text given out, and a second attempt that goes on where the first had stopped."""

from __future__ import annotations

import json
import os

import pytest

from florc.runtime import emitter as module
from florc.runtime.emitter import VARIABLE, Emitter


def attempt(environment: dict[str, str], texts: list[str], fd: int = 1) -> tuple[Emitter, list[str]]:
    """An attempt that gives out some texts; what came out."""
    out: list[str] = []
    emitter = Emitter(environment)
    emitter.writers = {1: out.append, 2: out.append}
    for text in texts:
        emitter(fd, text)
    return emitter, out


def handed(emitter: Emitter, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The environment that a restart gives to the next attempt."""
    given: list[dict[str, str]] = []
    monkeypatch.setattr(os, "execve", lambda path, words, environment: given.append(environment))
    module.restart(emitter.hand_over("why", "t.py::for#0"), {"A": "1"}, os.getcwd())
    return given[0]


def test_a_first_attempt_gives_out_everything():
    emitter, out = attempt({}, ["a\n", "", "b"])
    assert out == ["a\n", "b"]
    assert (emitter.reason, emitter.banned, emitter.scratch) == ("", [], False)
    assert emitter.finish()


@pytest.mark.parametrize("fd", [1, 2])
def test_nothing_goes_out_while_muted_or_to_a_stream_that_is_not_there(fd):
    emitter, out = attempt({}, [])
    emitter.muted = True
    emitter(fd, "x")
    emitter.muted = False
    del emitter.writers[fd]
    emitter(fd, "x")
    assert out == []
    assert emitter.hand_over("why", "")["chars"] == 0


@pytest.mark.parametrize(
    ("first", "second", "wanted", "right"),
    [
        pytest.param(["ab\n"], ["ab\n", "cd\n"], "cd\n", True, id="the same, and more"),
        pytest.param(["ab\n"], ["a", "b", "\ncd"], "cd", True, id="the same in other pieces"),
        pytest.param(["ab\n"], ["ab\n"], "", True, id="nothing more"),
        pytest.param([], ["ab\n"], "ab\n", True, id="nothing had been printed"),
        pytest.param(["ünï\udc80"], ["ünï\udc80x"], "x", True, id="characters, not bytes"),
        pytest.param(["ab\n"], ["aX\n", "cd\n"], "cd\n", False, id="another text"),
        pytest.param(["ab\n"], ["a"], "", False, id="less than before"),
    ],
)
def test_a_second_attempt_leaves_out_what_was_printed_and_checks_it(
    monkeypatch, first, second, wanted, right
):
    environment = handed(attempt({}, first)[0], monkeypatch)
    emitter, out = attempt(environment, second)
    assert "".join(out) == wanted
    assert emitter.finish() is right
    assert (emitter.reason, emitter.banned) == ("why", ["t.py::for#0"])


def test_text_on_standard_error_is_neither_counted_nor_left_out(monkeypatch):
    emitter, _ = attempt({}, ["out\n"])
    emitter(2, "err\n")
    emitter, out = attempt(handed(emitter, monkeypatch), ["err\n"], fd=2)
    assert out == ["err\n"]
    assert not emitter.finish()


def test_muted_text_does_not_count_as_printed(monkeypatch):
    emitter, _ = attempt({}, ["ab"])
    emitter.muted = True
    emitter(1, "dying words")
    assert json.loads(handed(emitter, monkeypatch)[VARIABLE])["chars"] == 2


def test_the_program_does_not_see_what_was_handed_over(monkeypatch):
    environment = handed(attempt({}, ["ab"])[0], monkeypatch)
    monkeypatch.setitem(os.environ, VARIABLE, environment[VARIABLE])
    attempt(environment, [])
    assert VARIABLE not in os.environ
    assert environment["A"] == "1"


def test_a_restart_runs_the_same_command_in_the_first_folder(monkeypatch, tmp_path):
    ran = []
    monkeypatch.setattr(os, "execve", lambda *words: ran.append((os.getcwd(), *words[:2])))
    monkeypatch.setattr("sys.orig_argv", ["python", "-m", "florc", "replay", "train.py"])
    monkeypatch.setattr("sys.executable", "/bin/python")
    monkeypatch.chdir(os.getcwd())  # is put back at the end
    module.restart(attempt({}, [])[0].hand_over("why", ""), {}, str(tmp_path))
    assert ran == [(str(tmp_path), "/bin/python", ["/bin/python", "-m", "florc", "replay", "train.py"])]


def test_three_attempts_print_a_text_once(monkeypatch):
    first = handed(attempt({}, ["ab\n"])[0], monkeypatch)
    shorter = handed(attempt(first, ["a"])[0], monkeypatch)  # gave up before it had come so far
    longer = handed(attempt(first, ["ab\nc"])[0], monkeypatch)
    for environment, wanted in ((shorter, "cd\n"), (longer, "d\n")):
        emitter, out = attempt(environment, ["ab\n", "cd\n"])
        assert "".join(out) == wanted
        assert emitter.finish()
    assert not attempt(longer, ["ab\n", "xd\n"])[0].finish()


@pytest.mark.parametrize(
    ("suspects", "scratch"),
    [
        pytest.param(["a"], [False], id="one loop"),
        pytest.param(["a", "b", "c"], [False, False, True], id="three loops"),
        pytest.param(["a", "a"], [False, True], id="the same again"),
        pytest.param([""], [True], id="no checkpoint to suspect"),
    ],
)
def test_attempts_leave_out_what_is_suspected_and_in_the_end_everything(monkeypatch, suspects, scratch):
    environment: dict[str, str] = {}
    for number, suspect in enumerate(suspects):
        emitter = attempt(environment, [])[0]
        given = emitter.hand_over(f"why {number}", suspect)
        assert given["banned"] == suspects[: number + 1]
        assert given["scratch"] is scratch[number]
        environment = {VARIABLE: json.dumps(given)}
