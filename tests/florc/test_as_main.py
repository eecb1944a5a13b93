"""A program runs under `florc record` as it does under python: what it sees, what it writes, how it ends."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.florc.running import RUNPY_FRAMES, TIMEOUT_S, alike, environment, florc, lay, python

DATA = Path(__file__).parent / "data"

LOOP = "for step in range(3):\n    work(step)\n"
HEAD = "import sys, os, time, atexit\ndef work(step):\n    print('work', step)\n"


def test_a_program_sees_itself_as_under_python(tmp_path):
    shutil.copytree(DATA, tmp_path / "sub")
    shutil.copy(DATA / "aside.py", tmp_path)
    ended = alike(tmp_path, "sub/probe_main.py", "--help", "-x", "a b", "--", "-m", stdin="typed\n")
    assert ended.code == 1
    assert ended.err.endswith("written to stderr\nthe end\n")
    assert ended.out.endswith("thread done\nat exit True\n")


@pytest.mark.program
def test_a_torch_program_saves_loads_and_feeds_as_under_python(tmp_path):
    shutil.copy(DATA / "probe_torch.py", tmp_path)
    assert alike(tmp_path, "probe_torch.py").code == 3


@pytest.mark.parametrize(
    "end",
    [
        "sys.exit()",
        "sys.exit(None)",
        "sys.exit(0)",
        "sys.exit(3)",
        "sys.exit(256)",
        "sys.exit(-1)",
        "sys.exit('message')",
        "sys.exit(('a', 1))",
        "raise SystemExit(True)",
        "def leave():\n    for i in range(2):\n        work(i)\n        sys.exit(5)\nleave()",
        "1/0",
        "raise KeyboardInterrupt",
        "os._exit(9)",
        "os.kill(os.getpid(), 15)",
        "os.kill(os.getpid(), 9)",
        "os.abort()",
        "raise ValueError('a') from KeyError('b')",
        "try:\n    1/0\nexcept Exception:\n    raise ValueError('during')",
        "sys.excepthook = lambda *error: print('hook', error[0].__name__)\n1/0",
        "sys.excepthook = lambda: None\n1/0",
        "atexit.register(lambda: print('late'))\nsys.exit(4)",
        "atexit.register(lambda: 1/0)",
        "atexit.register(lambda: sys.exit(6))",
        "def late():\n    time.sleep(0.1)\n    print('thread')\n"
        "import threading\nthreading.Thread(target=late).start()\nsys.exit(2)",
        "for i in range(2):\n    work(i)\n    assert i < 1, 'too far'",
        "def deep(n):\n    for i in range(1):\n        work(n)\n        deep(n - 1) if n else 1/0\ndeep(2)",
        "class Odd(BaseException): pass\nraise Odd('x')",
        "sys.stderr = None\n1/0",
        "import signal\nsignal.signal(2, lambda *a: sys.exit('handled'))\nos.kill(os.getpid(), 2)",
    ],
)
def test_a_program_ends_as_under_python(tmp_path, end):
    lay(tmp_path, {"train.py": HEAD + LOOP + end + "\n"})
    alike(tmp_path, "train.py")


@pytest.mark.parametrize("words", [("-m", "pkg.mod", "--help"), ("-m", "pkg", "x"), ("-mpkg.mod",)])
def test_a_module_runs_as_under_python(tmp_path, words):
    body = (
        "import sys\nfrom . import other\nfrom .other import work\n"
        "print(sys.argv, sys.path[0], __name__, __package__, __file__, __cached__)\n"
        "print(__spec__.name, __spec__.origin)\n"
        "print(other.__file__, sys.modules['pkg'].__file__)\n" + LOOP + "other.fail()\n"
    )
    other = "def work(step):\n    for i in range(2):\n        print(step, i)\n"
    other += "def fail():\n    raise ValueError(1)\n"
    package = "import sys\nprint('package', sys.argv)\n"
    lay(
        tmp_path,
        {"pkg/__init__.py": package, "pkg/mod.py": body, "pkg/__main__.py": body, "pkg/other.py": other},
    )
    alike(tmp_path, *words)


def test_a_module_imported_by_its_package_is_warned_of_as_by_runpy(tmp_path):
    lay(tmp_path, {"pkg/__init__.py": "from . import mod\n", "pkg/mod.py": "print(__name__)\n"})
    plain, recorded = python(tmp_path, "-m", "pkg.mod"), florc(tmp_path, "record", "-m", "pkg.mod")
    assert recorded.out == plain.out
    assert "'pkg.mod' found in sys.modules after import of package 'pkg'" in recorded.err


def test_an_error_in_a_parent_package_is_the_programs_own(tmp_path):
    lay(tmp_path, {"pkg/__init__.py": "import not_there_either\n", "pkg/mod.py": ""})
    recorded = florc(tmp_path, "record", "-m", "pkg.mod")
    assert recorded.code == 1
    assert "No module named 'not_there_either'" in recorded.err
    assert "florc/" not in recorded.err


def test_an_imported_module_with_a_syntax_error_ends_the_program_as_under_python(tmp_path):
    lay(tmp_path, {"train.py": "import broken\n", "broken.py": "x = (\n"})
    alike(tmp_path, "train.py")


def test_the_programs_folder_comes_first_as_under_python(tmp_path):
    files = {
        "sub/train.py": "import sys, neighbour, click, queue, glob\nprint(sys.path[0], neighbour.WHERE)\n"
        "print(click.MINE, queue.MINE, glob.MINE)\n",
        "sub/neighbour.py": "WHERE = __file__\n",
        "neighbour.py": "WHERE = 'the wrong one'\n",
        "elsewhere/click.py": "1/0\n",
        "elsewhere/dataclasses.py": "1/0\n",
    }
    mine = {f"sub/{name}.py": "MINE = __file__\n" for name in ("click", "queue", "glob")}
    lay(tmp_path, files | mine)
    alike(tmp_path / "elsewhere", "../sub/train.py")


def test_a_linked_script_finds_the_neighbours_of_the_file_it_names(tmp_path):
    lay(
        tmp_path,
        {
            "real/train.py": "import sys, near\nprint(__file__, sys.path[0], near.X)\n",
            "real/near.py": "X = 1\n",
        },
    )
    (tmp_path / "link.py").symlink_to("real/train.py")
    alike(tmp_path, "./link.py")


def test_interpreter_options_reach_the_program_when_the_hash_seed_is_pinned(tmp_path):
    text = "import sys\nprint(sys._xoptions, sys.warnoptions, sys.stdin.read())\n"
    text += "print(sys.flags.optimize, sys.flags.hash_randomization)\n"
    lay(tmp_path, {"train.py": text})
    env = environment()
    del env["PYTHONHASHSEED"]
    words = ("-X", "faulthandler", "-W", "ignore", "-O", "-m", "florc", "record", "train.py")
    recorded = python(tmp_path, *words, stdin="typed", env=env)
    assert recorded.out == "{'faulthandler': True} ['ignore'] typed\n1 0\n"


def test_strings_hash_alike_in_two_recordings(tmp_path):
    lay(tmp_path, {"train.py": "print(hash('a word'))\n"})
    env = environment()
    del env["PYTHONHASHSEED"]
    first, second = (florc(tmp_path, "record", "train.py", env=env).out for _ in range(2))
    assert first == second != ""
    assert florc(tmp_path, "record", "train.py", env=environment(PYTHONHASHSEED="7")).out != first


def test_an_interrupt_while_threads_are_waited_for_is_told_as_under_python(tmp_path):
    thread = "import threading, time\nthreading.Thread(target=time.sleep, args=(2,)).start()\n"
    lay(tmp_path, {"train.py": thread + "print('ready', flush=True)\n"})
    ends = [
        _signalled(tmp_path, signal.SIGINT, *words)
        for words in (("train.py",), ("-m", "florc", "record", "train.py"))
    ]
    assert ends[0] == ends[1]


SETTLE_S = 0.5  # from the line it writes to the sleep in which the signal is to find it

WAITS = HEAD + "import signal\n{}\nfor step in range(9):\n    work(step)\n"
WAITS += "    print('ready', flush=True)\n    time.sleep(30)\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    "handler",
    [
        "",
        "signal.signal(signal.SIGINT, lambda *a: sys.exit(11))",
        "signal.signal(signal.SIGTERM, lambda *a: (print('saved'), sys.exit(12)))",
        "atexit.register(lambda: print('at exit'))",
    ],
)
def test_a_signal_ends_the_program_as_under_python(tmp_path, number, handler):
    lay(tmp_path, {"train.py": WAITS.format(handler)})
    ends = [
        _signalled(tmp_path, number, *words)
        for words in (("train.py",), ("-m", "florc", "record", "train.py"))
    ]
    assert ends[0] == ends[1]


def _hear_interrupts() -> None:
    """Undo what a shell does to the commands it runs in the background."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _signalled(cwd: Path, number: int, *words: str) -> tuple[int, str, str]:
    process = subprocess.Popen(
        [sys.executable, *words], cwd=cwd, env=environment(), text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, preexec_fn=_hear_interrupts,
    )  # fmt: skip
    assert process.stdout is not None
    seen = ""
    for line in process.stdout:
        seen += line
        if line == "ready\n":
            break
    time.sleep(SETTLE_S)
    os.kill(process.pid, number)
    rest, err = process.communicate(timeout=TIMEOUT_S)
    return process.returncode, seen + rest, RUNPY_FRAMES.sub("", err)


def test_an_edit_during_the_run_does_not_show_in_its_source(tmp_path):
    text = (
        "import inspect, pathlib\ndef f():\n    return 1\n"
        "pathlib.Path(__file__).write_text('# edited\\n' * 9)\nprint(inspect.getsource(f))\n"
    )
    lay(tmp_path, {"train.py": text})
    assert florc(tmp_path, "record", "train.py").out == "def f():\n    return 1\n\n"
