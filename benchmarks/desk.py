"""One folder a workload and variant, where its script lies and runs: a git repository of its own."""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from . import measuring
from .catalog import FOLDER, Workload

ROOT = Path(__file__).resolve().parent.parent
BENCH = ROOT / ".bench"
# glibc's allocator adapts itself: without these, one of two equal runs has twice the page faults of the other
ALLOCATOR = {"MALLOC_MMAP_THRESHOLD_": str(1 << 32), "MALLOC_TRIM_THRESHOLD_": str(1 << 32),
             "MALLOC_TOP_PAD_": str(64 << 20)}
HELPERS = ("marks.py", "touched.py")
IGNORED = "__pycache__/\n.florc/\nsaved/\n"


def environment() -> dict[str, str]:
    """What every measured command gets: one thread, one hash seed, this florc, no settings of the user's.

    And an allocator that does not adapt itself.
    """
    env = {name: value for name, value in os.environ.items()
           if not name.startswith(("FLORC", "OMP_", "MKL_", "GIT_", "PYTHON"))}
    return {**env, **ALLOCATOR, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1",
            "MKL_NUM_THREADS": "1", "NO_COLOR": "1", "CUDA_VISIBLE_DEVICES": ""}


class Desk:
    """A folder with a script in it; commands run there.

    Args:
        home: the folder.
        python: the interpreter that runs the script.
    """

    def __init__(self, home: Path, python: str = sys.executable) -> None:
        self.home = home
        self.python = python

    @classmethod
    def fresh(cls, name: str, python: str = sys.executable) -> Desk:
        """An empty one of that name, below `.bench/work`; what was there goes."""
        home = BENCH / "work" / name / "home"
        desk = cls(home, python)
        desk.clear()
        return desk

    def clear(self) -> None:
        """Make the folder, and what lies beside it, empty."""
        shutil.rmtree(self.home.parent, ignore_errors=True)
        self.home.mkdir(parents=True)

    def lay(self, workload: Workload, text: str, branch: str = "main") -> None:
        """Put a workload's script and what it imports there, committed, as some recorders want it."""
        (self.home / workload.script).write_text(text)
        for helper in HELPERS:
            shutil.copyfile(FOLDER / helper, self.home / helper)
        (self.home / ".gitignore").write_text(IGNORED)
        for command in (("init", "-q", "-b", branch), ("add", "-A"), ("commit", "-q", "-m", "start")):
            subprocess.run(["git", *IDENTITY, *command], cwd=self.home, check=True)

    def edit(self, workload: Workload, text: str) -> None:
        """Put another version of the script in place, as the user's editor would."""
        (self.home / workload.script).write_text(text)

    def run(self, *arguments: str) -> measuring.Usage:
        """Run Python with these arguments, measured."""
        env = environment()
        if self.python != sys.executable:
            env.update(_of_its_own(self.home.parent / "user"))
        return measuring.run([self.python, *arguments], self.home, env)

    def stored(self, *names: str) -> int:
        """Bytes on disk in these folders."""
        return sum(file.stat().st_size for name in names for file in _files(self.home / name))


IDENTITY: Sequence[str] = ("-c", "user.name=bench", "-c", "user.email=bench@localhost",
                           "-c", "commit.gpgsign=false")


def _of_its_own(user: Path) -> dict[str, str]:
    """For another recorder: a home folder and a name in git of its own; it must not see this project."""
    user.mkdir(exist_ok=True)
    who = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER")
           for what, value in (("NAME", "bench"), ("EMAIL", "bench@localhost"))}
    return {"HOME": str(user), "PYTHONPATH": "", "GIT_CONFIG_NOSYSTEM": "1", **who}


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
