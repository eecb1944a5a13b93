"""Run one program under python and under `florc record`, each in a process of its own, and compare."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
TIMEOUT_S = 120  # the programs take a second or two; what takes this long on a loaded machine hangs

# python -m has frames of runpy below the program's own; florc runs the module without runpy
RUNPY_FRAMES = re.compile(r'  File "<frozen runpy>".*\n|  File "[^"]*/runpy\.py".*\n(    .*\n)*')
ADDRESS = re.compile(r"0x[0-9a-f]+")


@dataclass(frozen=True)
class Ended:
    """What one process left."""

    code: int
    out: str
    err: str


def environment(**changes: str) -> dict[str, str]:
    """An environment in which florc can be imported; settings of this machine's for it are gone."""
    settings = {name for name in os.environ if name.startswith("FLORC_")} - {"FLORC_KEY_FILE"}
    env = {name: value for name, value in os.environ.items() if name not in settings}
    return {**env, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", **changes}


def python(cwd: Path, *words: str, stdin: str = "", env: dict[str, str] | None = None) -> Ended:
    """Run python with these words."""
    done = subprocess.run(
        [sys.executable, *words], cwd=cwd, env=env or environment(), input=stdin, text=True,
        capture_output=True, timeout=TIMEOUT_S, check=False,
    )  # fmt: skip
    return Ended(done.returncode, done.stdout, done.stderr)


def florc(cwd: Path, *words: str, stdin: str = "", env: dict[str, str] | None = None) -> Ended:
    """Run florc with these words."""
    return python(cwd, "-m", "florc", *words, stdin=stdin, env=env)


def alike(cwd: Path, *words: str, stdin: str = "") -> Ended:
    """Run a program plainly and recorded; fail unless exit code, stdout and stderr are the same."""
    plain = python(cwd, *words, stdin=stdin)
    recorded = florc(cwd, "record", *words, stdin=stdin)
    assert ADDRESS.sub("0x", recorded.out) == ADDRESS.sub("0x", plain.out)
    assert ADDRESS.sub("0x", recorded.err) == ADDRESS.sub("0x", RUNPY_FRAMES.sub("", plain.err))
    assert recorded.code == plain.code
    return recorded


def lay(folder: Path, files: dict[str, str]) -> Path:
    """Write the files of a program."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder
