"""Fuzz what reads bytes, guided by coverage: `python -m tests.fuzz.byte_campaign --minutes 10 [TARGET...]`.

Needs atheris (`pip install -e .[fuzz]`). Each target (see `byte_targets`) runs in a process of its own, for
libFuzzer ends with it, and keeps its corpus in the output folder; what fails is kept there too, as
`crash-...`.
`--again TARGET FILE...` runs kept inputs, without atheris.
"""

from __future__ import annotations

import argparse
import importlib.util
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

MAX_BYTES = {"source": 8192,
             "edit": 256}  # longer inputs only take longer; the others get libFuzzer's default
TIMEOUT_S = 30  # an input takes milliseconds
MEMORY_MB = 4096


def work(target: str, seconds: int, folder: Path) -> int:
    """Fuzz one target in this process; does not come back where libFuzzer ends the process."""
    import atheris  # of the extra `fuzz`

    # the coverage of what is under test guides: it must not have been imported before
    with atheris.instrument_imports(include=["florc"]):
        from .byte_targets import TARGETS, seeds
    corpus = folder / target
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(seeds(target)):
        (corpus / f"seed-{number}").write_bytes(seed)
    options = [f"-max_total_time={seconds}", f"-timeout={TIMEOUT_S}", f"-rss_limit_mb={MEMORY_MB}",
               f"-artifact_prefix={folder}/crash-{target}-", "-print_final_stats=1", "-verbosity=1"]
    if target in MAX_BYTES:
        options.append(f"-max_len={MAX_BYTES[target]}")
    atheris.Setup(["fuzz", *options, str(corpus)], TARGETS[target])
    atheris.Fuzz()
    return 0


def main(words: Sequence[str]) -> int:
    """Do what the words ask; 1 if a target failed."""
    asked = argparse.ArgumentParser(prog="fuzz-bytes", description=__doc__.split("\n")[0])
    asked.add_argument("--minutes", type=float, default=10, help="for all targets together")
    asked.add_argument("--out", type=Path, default=Path("fuzz-results"))
    asked.add_argument("--again", type=Path, nargs="+",
                       help="run these inputs of the one named target instead")
    asked.add_argument("--here", action="store_true", help="the one named target, in this process")
    asked.add_argument("targets", nargs="*", metavar="TARGET", help="all of them by default")
    options = asked.parse_args(words)
    folder = options.out.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    if options.here:
        return work(options.targets[0], int(options.minutes * 60), folder)
    return supervise(options, folder)


def supervise(options: argparse.Namespace, folder: Path) -> int:
    """Fuzz each target in its process; 1 if one of them failed."""
    from .byte_targets import TARGETS

    targets = options.targets or list(TARGETS)
    if options.again:
        for file in options.again:
            TARGETS[targets[0]](file.read_bytes())
        return 0
    if importlib.util.find_spec("atheris") is None:
        print("fuzz-bytes needs atheris: pip install -e '.[fuzz]'", file=sys.stderr)
        return 2
    seconds, failed = max(int(options.minutes * 60 / len(targets)), 1), []
    for target in targets:
        print(f"== {target}: {seconds} s", flush=True)
        again = [sys.executable, "-m", __spec__.name, "--here", "--minutes", str(seconds / 60), "--out",
                 str(folder)]
        if subprocess.run([*again, target], check=False).returncode:
            failed.append(target)
    print(f"== failed: {', '.join(failed) or 'none'}", flush=True)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
