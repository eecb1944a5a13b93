"""The programs that are swept: samples and whole-program cases, with arguments that keep them small."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.harness import Program, read_case

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "samples"
CASES = ROOT / "tests" / "cases"


@dataclass(frozen=True)
class Swept:
    """One program. files: those that get probes, relative to the program's folder."""

    name: str
    program: Program
    files: tuple[str, ...]


def programs() -> dict[str, Swept]:
    """All of them by name."""
    return {swept.name: swept for swept in [*_samples(), *_cases()]}


def _samples() -> Iterator[Swept]:
    small = {
        "digits_cnn": ("--epochs", "3"),
        "char_lm": ("--max_iters=60", "--eval_interval=15", "--eval_iters=2"),
        "digits_gan": ("--niter", "3"),
        "diagnosis_pg": ("--episodes", "60", "--log-interval", "10"),
        "diabetes_resume": ("--epochs", "12", "--save-every", "4"),
        "iris_numpy": ("--epochs", "12"),
    }
    for name, args in small.items():
        file = f"{name}.py"
        yield Swept(name, Program(SAMPLES, (file,), args, files=(file,)), (file,))
    package = tuple(f"tabular/{path.name}" for path in sorted((SAMPLES / "tabular").glob("*.py")))
    plain = tuple(file for file in package if not file.endswith(".probed.py"))
    yield Swept(
        "tabular", Program(SAMPLES, ("-m", "tabular.train"), ("--epochs", "4"), files=("tabular",)), plain
    )


def _cases() -> Iterator[Swept]:
    for folder in sorted(CASES.iterdir()):
        if not (folder / "case.json").exists():
            continue
        program = read_case(folder).program
        versions = {*program.versions}
        files = tuple(
            file
            for file in (path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*.py")))
            if file not in versions and "__pycache__" not in file
        )
        yield Swept(folder.name, program, files)
