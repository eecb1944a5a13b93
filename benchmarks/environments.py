"""Make the other recorders' virtual environments, in `.bench/envs`: `python -m benchmarks.environments`."""
from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from .desk import BENCH, ROOT
from .peers import PEERS, Peer

_COMMON = ("torch", "numpy", "scikit-learn")  # as pinned in constraints.txt, so that all run the same


def folder(peer: Peer) -> Path:
    return BENCH / "envs" / peer.name.replace(" ", "-")


def python(peer: Peer) -> Path | None:
    """The peer's interpreter; None if its environment has not been made."""
    found = folder(peer) / "bin" / "python"
    return found if (folder(peer) / ".installed").exists() else None


def make(peer: Peer) -> None:
    """Make a peer's environment, torch first: what the peer asks for must not choose it."""
    home = folder(peer)
    if python(peer):
        return
    shutil.rmtree(home, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
    install = [str(home / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*install, "-c", str(ROOT / "constraints.txt"), *_COMMON], check=True)
    subprocess.run([*install, *peer.requirements], check=True)
    # pip leaves this out where PYTHONDONTWRITEBYTECODE is set, and every start would pay for it
    subprocess.run([str(home / "bin" / "python"), "-m", "compileall", "-q", str(home / "lib")], check=False,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    (home / ".installed").touch()


def main() -> int:
    for peer in PEERS:
        try:
            make(peer)
            print(f"{peer.name}: {folder(peer)}", flush=True)
        except subprocess.CalledProcessError as failure:  # the others can still be measured
            print(f"{peer.name} cannot be installed, and is left out: {failure}", file=sys.stderr, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
