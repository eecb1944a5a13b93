"""A warm child behaves as a process of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.warm import NUMPY, Cold, Warm, environment

pytestmark = pytest.mark.program


@pytest.fixture(scope="module")
def warm() -> Iterator[Warm]:
    with Warm(NUMPY) as server:
        yield server


PROGRAMS = {
    "names": "import sys, os\nprint(__name__, __file__ == os.path.abspath('train.py'), sys.argv, __spec__)\n"
             "print(sys.path[0] == os.getcwd(), sys.orig_argv[1:], os.environ['PYTHONHASHSEED'])",
    "exit code": "import sys\nprint('a')\nsys.exit(7)",
    "exit words": "import sys\nsys.exit('no')",
    "exception": "print('a')\n1 / 0",
    "no text lost": "import os\nprint('lost')\nos._exit(3)",
    "end": "import atexit\natexit.register(print, 'bye')\nclass A:\n    def __del__(self): print('gone')\n"
           "_a = A()\nprint('last')",
    "pickle": "import pickle, dill\nclass A: pass\nprint(pickle.loads(pickle.dumps(A())).__class__ is A)\n"
              "print(dill.loads(dill.dumps(A())).__class__ is A)",
    "threads": "import threading, time\n"
               "threading.Thread(target=lambda: (time.sleep(.1), print('late'))).start()\nprint('early')",
    "signal": "import os, signal\nprint('x', flush=True)\nos.kill(os.getpid(), signal.SIGKILL)",
    "input": "import sys\nprint(repr(sys.stdin.read()), sys.stdout.isatty())",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_prints_and_exits_as_in_a_process_of_its_own(name: str, warm: Warm, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAMS[name])
    (here, there) = (where.run(["train.py"], tmp_path) for where in (warm, Cold()))
    assert (here.code, here.out) == (there.code, there.out)
    assert here.err.splitlines()[-1:] == there.err.splitlines()[-1:]


LOOP = """import random
random.seed(0)
class Meter:
    total = 0.0
    def add(self):
        for _ in range(3000):
            self.total += random.random()
meter = Meter()
for epoch in range(4):
    for step in range(9):
        meter.add()
    print(epoch, meter.total)
"""


def test_florc_records_and_replays(warm: Warm, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(LOOP)
    plain = warm.run(["train.py"], tmp_path)
    record = warm.run(["-m", "florc", "record", "--overhead", "1", "train.py"], tmp_path)
    assert (record.code, record.out, record.err) == (plain.code, plain.out, b"")
    (tmp_path / "train.py").write_text(LOOP + "    print(step, vars(meter))\n")
    truth = warm.run(["train.py"], tmp_path)
    summary = tmp_path / "summary.json"
    replay = warm.run(["-m", "florc", "replay", "-q", "--summary", str(summary), "train.py"], tmp_path)
    assert (replay.code, replay.out, replay.err) == (0, truth.out, b"")
    assert json.loads(summary.read_text())["blocks"]["skipped"] > 0


def test_a_command_that_starts_itself_again_is_forked_again(warm: Warm, tmp_path: Path) -> None:
    """The stand-in is a package called florc that lies in the job's folder."""
    (tmp_path / "florc").mkdir()
    (tmp_path / "florc" / "__init__.py").touch()
    (tmp_path / "florc" / "__main__.py").write_text(
        "import os, sys\nprint(os.environ.get('AGAIN'), sys.argv[1:], sys.orig_argv[1:], flush=True)\n"
        "if 'AGAIN' not in os.environ:\n"
        "    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, 'AGAIN': '1'})\n"
        "sys.exit(4)\n")
    with Warm(("json",)) as bare:
        done = bare.run(["-m", "florc", "replay", "x.py"], tmp_path)
    words = ["-m", "florc", "replay", "x.py"]
    assert done.code == 4
    assert done.out.decode() == "".join(f"{again} {words[2:]} {words}\n" for again in (None, 1))


def test_a_job_that_hangs_is_killed_and_the_next_one_runs(warm: Warm, tmp_path: Path) -> None:
    (tmp_path / "hangs.py").write_text("import time\ntime.sleep(60)")
    (tmp_path / "train.py").write_text("print(1)")
    assert warm.run(["hangs.py"], tmp_path, timeout=0.5).code is None
    assert warm.run(["train.py"], tmp_path).out == b"1\n"


def test_a_job_has_an_environment_of_its_own(warm: Warm, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import os\nprint(os.environ.get('A'), 'HOME' in os.environ)")
    assert warm.run(["train.py"], tmp_path, environment({"A": "1", "HOME": None})).out == b"1 False\n"
    assert warm.run(["train.py"], tmp_path, environment({"HOME": "/"})).out == b"None True\n"


def test_a_job_that_no_warm_child_can_run_is_refused(warm: Warm, tmp_path: Path) -> None:
    for argv, seed in ((["-c", "1"], "0"), (["train.py"], "1")):
        with pytest.raises(ValueError, match="use Cold"):
            warm.run(argv, tmp_path, environment({"PYTHONHASHSEED": seed}))
