"""The whole story in a minute: record a sample, add probe lines to a copy of it, replay, compare with Python.

Run by `make demo`. Works in a temporary folder; the sample in this folder is not touched. Exits 1 if the
replay does not print, byte for byte, what plain Python prints with the same lines in place from the start.
"""
from __future__ import annotations

import difflib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
SAMPLE, PROBED = "digits_cnn.py", "digits_cnn.probed.py"
ARGS = ("--epochs", "60")
FLORC = (sys.executable, "-m", "florc")
SHOWN = 6  # lines of the probes' output to show


def step(text: str, *command: str, cwd: Path) -> tuple[str, float]:
    """Say and run one command; return its standard output and wall seconds. Its failure ends the demo."""
    print(f"\n\033[1m{text}\033[0m" if sys.stdout.isatty() else f"\n{text}", flush=True)
    if command[0] == sys.executable:
        words = command[3:] if command[1:3] == ("-m", "florc") else command[1:]
        print("   $", "florc" if command[1:3] == ("-m", "florc") else "python", *words, flush=True)
    env = dict(os.environ, PYTHONHASHSEED="0")
    start = time.perf_counter()
    done = subprocess.run(command, cwd=cwd, env=env, stdout=subprocess.PIPE, text=True, check=False)
    seconds = time.perf_counter() - start
    if done.returncode:
        sys.exit(f"the command ended with exit code {done.returncode}")
    print(f"   {len(done.stdout.splitlines())} lines, {seconds:.1f} s", flush=True)
    return done.stdout, seconds


def show_diff(old: Path, new: Path) -> None:
    """Print the lines that `new` has and `old` has not."""
    print("\nA question comes up after the run: how do the weights and the learning rate move?")
    print("The lines added to the script:")
    before, after = old.read_text().splitlines(), new.read_text().splitlines()
    for line in difflib.unified_diff(before, after, lineterm="", n=1):
        if not line.startswith(("---", "+++", "@@")):
            print("   ", line)


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="florc-demo-") as folder:
        home = Path(folder)
        shutil.copyfile(HERE / SAMPLE, home / SAMPLE)
        plain, plain_s = step("1. Training as always, under plain Python",
                              sys.executable, SAMPLE, *ARGS, cwd=home)
        recorded, record_s = step("2. The same under `florc record`, keeping every checkpoint",
                                  *FLORC, "record", "--overhead", "1", SAMPLE, *ARGS, cwd=home)

        show_diff(HERE / SAMPLE, HERE / PROBED)
        shutil.copyfile(HERE / PROBED, home / SAMPLE)
        replayed, replay_s = step("3. What would they have printed?", *FLORC, "replay", SAMPLE, cwd=home)
        truth, truth_s = step("4. The slow way, to compare: train again, with the lines in place",
                              sys.executable, SAMPLE, *ARGS, cwd=home)

    before = set(plain.splitlines())
    new = [line for line in replayed.splitlines() if line not in before]
    print(f"\nWhat the added lines print, the first {SHOWN} of {len(new)}:")
    print(*("   " + line for line in new[:SHOWN]), sep="\n")

    print(f"\n   {'plain Python':<32}{plain_s:6.1f} s")
    print(f"   {'florc record':<32}{record_s:6.1f} s")
    print(f"   {'plain Python, with the lines':<32}{truth_s:6.1f} s")
    print(f"   {'florc replay':<32}{replay_s:6.1f} s")
    same = recorded == plain, replayed == truth
    print(f"\n   record printed what Python prints: {'yes' if same[0] else 'NO'}")
    print(f"   replay printed, byte for byte, what training again prints: {'yes' if same[1] else 'NO'}")
    return 0 if all(same) else 1


if __name__ == "__main__":
    sys.exit(main())
