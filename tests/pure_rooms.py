#!/usr/bin/env python3
"""Run the pure room's tests on every other supported Python found on this machine.

The compiler (transforms/) needs libcst alone, so each Python gets a tiny virtual environment without torch.
A Python that is not here is named and left out; a failing one fails the whole.
"""
from __future__ import annotations

import glob
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VERSIONS = ("3.10", "3.11", "3.12", "3.13")
RUNNING = "{}.{}".format(*sys.version_info[:2])  # the one that runs all tests
TESTS = ("tests/transforms",)
NEEDS = ("libcst", "pytest", "hypothesis", "xxhash")  # the last for a piece of the runtime that tests link to


def works(command: str, version: str) -> bool:
    """Whether the command starts a Python of that version (a shim may exist without one behind it)."""
    ask = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        done = subprocess.run([command, "-c", ask], capture_output=True, text=True, check=False)
    except OSError:
        return False
    return done.returncode == 0 and done.stdout.strip() == version


def find(version: str) -> str | None:
    """The interpreter of a version, on PATH or among pyenv's."""
    kept = sorted(glob.glob(os.path.expanduser(f"~/.pyenv/versions/{version}.*/bin/python")))
    return next((path for path in (f"python{version}", *reversed(kept)) if works(path, version)), None)


def environment(version: str, interpreter: str) -> Path:
    """The version's virtual environment, made anew when the constraints changed."""
    home = ROOT / f".venv-{version}"
    stamp, constraints = home / ".installed", ROOT / "constraints.txt"
    if not stamp.exists() or stamp.stat().st_mtime < constraints.stat().st_mtime:
        subprocess.run([interpreter, "-m", "venv", "--clear", str(home)], check=True)
        pip = [str(home / "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "-c", str(constraints), *NEEDS], check=True)
        stamp.touch()
    return home


def main() -> int:
    failed = []
    for version in [v for v in VERSIONS if v != RUNNING]:
        interpreter = find(version)
        if interpreter is None:
            print(f"pure rooms on Python {version}: not found here, skipped", flush=True)
            continue
        print(f"pure rooms on Python {version}", flush=True)
        python = environment(version, interpreter) / "bin/python"
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run([str(python), "-m", "pytest", "-q", *TESTS], cwd=ROOT, env=env, check=False)
        if done.returncode:
            failed.append(version)
    if failed:
        print(f"pure rooms failed on Python {', '.join(failed)}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
