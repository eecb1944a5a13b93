"""What the command line answers: exit codes, one line for every error, no traceback of florc's own."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from florc import cli
from tests.florc.running import ROOT, environment, florc, lay, python

LOOP = "def work(step):\n    print('work', step)\n\n\nfor step in range(3):\n    work(step)\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A user's folder with a script in it, and the current one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FLORC_DIR", raising=False)
    return lay(tmp_path, {"train.py": LOOP})


@pytest.fixture
def ask(folder, capfd):
    """Ask the command line in this process; gives exit code, stdout, stderr."""

    def ask(*words: str) -> tuple[int, str, str]:
        code = cli.main(list(words))
        return (code, *capfd.readouterr())

    return ask


def one_error(err: str, *parts: str) -> None:
    """Fail unless stderr is one line of florc's that holds all the parts."""
    assert err.startswith("florc: error: "), err
    assert err.count("\n") == 1, err
    for part in parts:
        assert part in err


def test_florc_alone_shows_its_help_line_by_line(ask):
    code, out, err = ask()
    assert (code, out) == (2, "")
    assert err.startswith("Usage: florc") and err.count("\n") > 5 and "florc: error" not in err


def test_runs_alone_lists_them(ask):
    assert ask("runs") == ask("runs", "ls")


@pytest.mark.parametrize(
    ("words", "code", "parts"),
    [
        (("record",), 2, ["script", "florc record --help"]),
        (("record", "-q"), 2, ["script"]),
        (("record", "-m"), 2, ["-m"]),
        (("record", "nowhere.py"), 2, ["nowhere.py", "No such file", "check the path"]),
        (("record", "."), 2, ["directory"]),
        (("record", "--bogus", "train.py"), 2, ["--bogus", "florc record --help"]),
        (("record", "--overhead", "much", "train.py"), 2, ["--overhead", "much"]),
        (("record", "--overhead", "-1", "train.py"), 2, ["--overhead"]),
        (("record", "--overhead", "nan", "train.py"), 2, ["--overhead", "not a number"]),
        (("record", "broken.py"), 1, ["broken.py:2", "SyntaxError"]),
        (("record", "zero.py"), 1, ["zero.py", "null bytes"]),
        (("record", "--name", "../out", "train.py"), 2, ["../out", "letters"]),
        (("record", "--name", "", "train.py"), 2, ["name of a run"]),
        (("record", "-m", "nowhere.mod"), 1, ["nowhere.mod"]),
        (("record", "-m", "empty"), 1, ["empty", "__main__"]),
        (("replay",), 2, ["script"]),
        (("replay", "train.py", "--epochs", "3"), 2, ["recorded arguments"]),
        (("replay", "--workers", "0", "train.py"), 2, ["--workers"]),
        (("replay", "--on", "dask", "train.py"), 2, ["dask", "ray://HOST:PORT"]),
        (("replay", "--gpus-per-worker", "1", "train.py"), 2, ["--gpus-per-worker goes with --on ray"]),
        (("replay", "--plan", "--summary", "-", "train.py"), 2, ["--plan and --summary do not go together"]),
        (("replay", "--workers", "many", "train.py"), 2, ["--workers", "'many'"]),
        (("replay", "--cpus-per-worker", "2", "train.py"), 2, ["--cpus-per-worker goes with --on ray"]),
        (("replay", "train.py"), 69, ["train.py", "florc record"]),
        (("replay", "--run", "nowhen", "train.py"), 69, ["nowhen", "florc runs ls"]),
    ],
)
def test_an_error_of_the_users_is_one_line(folder, words, code, parts):
    lay(folder, {"broken.py": "x = 1\ndef f(:\n", "zero.py": "x = 1\0\n", "empty/__init__.py": ""})
    ended = florc(folder, *words)
    one_error(ended.err, *parts)
    assert (ended.code, ended.out) == (code, "")
    assert not (folder / ".florc" / "runs").exists() or not list((folder / ".florc" / "runs").iterdir())


@pytest.mark.parametrize(
    ("words", "code", "parts"),
    [
        (("nonsense",), 2, ["nonsense"]),
        (("instrument", "nowhere.py"), 2, ["nowhere.py", "No such file"]),
        (("instrument", "broken.py"), 1, ["broken.py:2", "SyntaxError"]),
        (("instrument", "--diff", "--full", "train.py"), 2, ["one of"]),
        (("instrument", "-o", "no/such/folder.py", "train.py"), 2, ["no/such/folder.py", "cannot write"]),
        (("instrument", "--check", "nowhere.py", "train.py"), 2, ["nowhere.py"]),
        (("explain", "broken.py"), 1, ["broken.py:2"]),
        (("explain",), 2, ["SCRIPT"]),
        (("runs", "show", "nowhen"), 69, ["nowhen", "florc runs ls"]),
        (("runs", "show", "../.."), 69, ["../.."]),
        (("runs", "show"), 69, ["no runs", "florc record"]),
        (("runs", "rm", "nowhen"), 69, ["nowhen"]),
        (("runs", "rm"), 2, ["RUN"]),
    ],
)
def test_an_error_in_looking_at_things_is_one_line(ask, folder, words, code, parts):
    lay(folder, {"broken.py": "x = 1\ndef f(:\n"})
    got, out, err = ask(*words)
    one_error(err, *parts)
    assert (got, out) == (code, "")


@pytest.mark.parametrize(
    ("words", "argv"),
    [
        (["train.py", "--help"], ["train.py", "--help"]),
        (["-q", "--overhead", "0.1", "train.py", "-q", "--name", "x"], ["train.py", "-q", "--name", "x"]),
        (["--overhead=0.1", "--", "train.py", "--", "a"], ["train.py", "--", "a"]),
        (["-m", "mod", "--help"], ["--help"]),
        (["--store", "s", "-m", "mod", "--store", "t", "-m", "x"], ["--store", "t", "-m", "x"]),
        (["-mmod", "-q", "3"], ["-q", "3"]),
        (["-q", "train.py", ""], ["train.py", ""]),
    ],
)
def test_what_follows_the_program_is_the_programs(folder, words, argv):
    lay(
        folder,
        dict.fromkeys(("train.py", "mod.py"), "import sys\nprint(sys.argv[__name__ != '__main__':])\n"),
    )
    ended = florc(folder, "record", *words)
    expected = argv if argv[:1] == ["train.py"] else [str(folder / "mod.py"), *argv]
    assert (ended.code, ended.out) == (0, f"{expected}\n")


def test_help_and_version_are_told(ask):
    assert ask("--version")[:2] == (0, "florc 0.1.0\n")
    code, out, _ = ask("record", "--help")
    assert code == 0
    assert "SCRIPT|-m MOD [ARGS]..." in out
    assert ask("-h")[0] == 0


def test_recorded_runs_are_listed_shown_and_removed(folder, ask):
    assert florc(folder, "record", "--name", "first", "train.py", "--epochs", "3").code == 0
    assert florc(folder, "record", "--name", "second", "-m", "train").code == 0
    lines = ask("runs", "ls")[1].splitlines()
    assert [line.split()[:4] for line in lines[1:]] == [
        ["first", "train.py", "done", "0"],
        ["second", "-m", "train", "done"],
    ]
    assert [json.loads(line)["run"] for line in ask("runs", "ls", "--json")[1].splitlines()] == [
        "first",
        "second",
    ]
    shown = json.loads(ask("runs", "show", "first", "--json")[1])
    assert (shown["argv"], shown["exit_code"], shown["module"]) == (["--epochs", "3"], 0, False)
    assert json.loads(ask("runs", "show", "--json")[1])["run"] == "second"
    assert ask("runs", "rm", "first", "nowhen")[0] == 69
    assert ask("runs", "rm", "first", "second") == (0, "", "")
    assert ask("runs", "ls")[:2] == (0, "")


def on_a_terminal(folder: Path, *words: str) -> str:
    """What florc writes to standard error where that is a terminal."""
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "florc", *words], cwd=folder, env=environment(), stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=theirs, timeout=120, check=True,
    )  # fmt: skip
    assert done.returncode == 0
    os.close(theirs)
    os.set_blocking(ours, False)
    with open(ours, "rb", closefd=True, buffering=0) as stream:
        try:
            return (stream.read(4096) or b"").decode()
        except OSError:  # Linux's word for: nobody has written, and nobody will
            return ""


def test_a_record_says_on_a_terminal_what_it_kept(folder):
    told = on_a_terminal(folder, "record", "--overhead", "1", "--name", "one", "train.py")
    pattern = (
        r"florc: recorded as one: [1-9]\d* checkpoints?, [\d.]+ (kB|bytes)( \([\d.]+ kB in full\))?, "
        r"\d+\.\d s of overhead; "
        r"add print lines, then: florc replay train\.py\r\n"
    )
    assert re.fullmatch(pattern, told), told
    assert on_a_terminal(folder, "record", "-q", "--name", "two", "train.py") == ""


def test_a_taken_name_is_refused_before_the_program_runs(folder):
    assert florc(folder, "record", "--name", "one", "train.py").code == 0
    again = florc(folder, "record", "--name", "one", "train.py")
    one_error(again.err, "already a run named 'one'", "florc runs rm one")
    assert (again.code, again.out) == (2, "")


@pytest.mark.parametrize(
    ("end", "status", "code"),
    [
        ("", "done", 0),
        ("import sys; sys.exit(3)", "failed", 3),
        ("1/0", "failed", 1),
        ("raise KeyboardInterrupt", "interrupted", 130),
        ("import os; os._exit(5)", "interrupted", None),
    ],
)
def test_a_run_says_how_it_ended(folder, ask, end, status, code):
    lay(folder, {"train.py": LOOP + end + "\n"})
    florc(folder, "record", "train.py")
    shown = json.loads(ask("runs", "show", "--json")[1])
    assert (shown["status"], shown["exit_code"]) == (status, code)


def test_a_run_keeps_what_it_may_depend_on_and_no_secrets(folder, ask):
    subprocess.run(
        "git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x",
        shell=True,
        check=True,
    )
    env = environment(HF_TOKEN="hidden", CUDA_API_KEY="hidden", OMP_NUM_THREADS="1", RANK="1", WORLD_SIZE="2")
    florc(folder, "record", "train.py", env=env)
    shown = json.loads(ask("runs", "show", "--json")[1])
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True
    ).stdout.strip()
    assert (shown["git"], shown["hash_seed"], shown["rank"], shown["cwd"]) == (head, "0", 1, str(folder))
    assert shown["env"]["OMP_NUM_THREADS"] == "1"
    assert "hidden" not in json.dumps(shown)


@pytest.mark.parametrize("where", ["option", "variable"])
def test_the_store_lies_where_it_is_told(folder, ask, where):
    words, env = (
        (("--store", "kept"), environment()) if where == "option" else ((), environment(FLORC_DIR="kept"))
    )
    florc(folder, "record", *words, "train.py", env=env)
    assert (folder / "kept" / ".gitignore").read_text().endswith("*\n")
    assert not (folder / ".florc").exists()
    assert ask("runs", "ls", "--store", "kept")[1].count("train.py") == 1


def test_a_store_that_cannot_be_written_stops_nothing(folder):
    lay(folder, {"file": ""})
    ended = florc(folder, "record", "--store", "file/store", "train.py")
    assert (ended.code, ended.out) == (0, python(folder, "train.py").out)
    assert ended.err.startswith("florc: warning: cannot write the store")
    assert ended.err.count("\n") == 1


def test_what_cannot_be_instrumented_runs_with_one_warning(folder):
    lay(folder, {"train.py": "def f(x):\n\t with x:\n\t\t pass\n" + LOOP})
    ended = florc(folder, "record", "train.py")
    assert (ended.code, ended.out) == (0, python(folder, "train.py").out)
    assert ended.err.startswith("florc: warning: train.py runs uninstrumented: ")
    assert ended.err.count("\n") == 1


def test_the_instrumented_program_is_printed_written_and_checked(ask, folder):
    lay(folder, {"train.py": LOOP.replace("\n", "\r\n")})
    code, text, _ = ask("instrument", "train.py")
    assert code == 0
    assert "import florc.runtime as _florc" in text
    assert ask("instrument", "-o", "out.py", "train.py") == (0, "", "")
    assert (folder / "out.py").read_bytes().count(b"\r\n") == text.count("\n")
    assert ask("instrument", "--check", "out.py", "train.py") == (0, "", "")
    code, out, _ = ask("instrument", "--check", "train.py", "train.py")
    assert (code, out[:3]) == (1, "---")
    code, out, _ = ask("instrument", "--diff", "train.py")
    assert code == 0
    assert not [line for line in out.splitlines() if line.startswith("-") and "for step" not in line][1:]
    assert "_florc_marks" in ask("instrument", "--full", "train.py")[1]


def test_each_loop_is_explained(ask, folder):
    lay(folder, {"train.py": "from near import work\n" + LOOP + "for i in range(2):\n    print(i)\n"})
    code, out, _ = ask("explain", "train.py")
    assert code == 0
    assert "train.py:6" in out
    assert "guarded" in out
    loops = json.loads(ask("explain", "--json", "train.py")[1])["loops"]
    assert [(loop["line"], loop["guarded"]) for loop in loops] == [(6, True), (8, False)]


@pytest.mark.parametrize("command", ["instrument", "explain"])
def test_looking_at_source_never_imports_torch(folder, command):
    check = f"import sys; from florc.cli import main; main([{command!r}, 'train.py'])"
    assert python(folder, "-c", check + "; sys.exit('torch' in sys.modules)").code == 0


def test_importing_florc_imports_next_to_nothing():
    heavy = "{'torch', 'numpy', 'libcst', 'click', 'dill'}"
    assert python(ROOT, "-c", f"import florc, sys; sys.exit(bool({heavy} & set(sys.modules)))").code == 0


def test_a_forked_child_records_nothing(folder, ask):
    lay(folder, {"train.py": LOOP + "import os, sys\nif not os.fork():\n    sys.exit(4)\nos.wait()\n"})
    florc(folder, "record", "train.py")
    assert json.loads(ask("runs", "show", "--json")[1])["exit_code"] == 0


def test_a_link_to_the_script_names_the_same_program(folder, ask):
    (folder / "link.py").symlink_to("train.py")
    (folder / "sub").mkdir()
    florc(folder, "record", "link.py")
    florc(folder / "sub", "record", "--store", "../.florc", str(Path("..") / "train.py"))
    assert [line.split()[1] for line in ask("runs", "ls")[1].splitlines()[1:]] == ["train.py", "train.py"]
