"""The samples with small arguments: recorded they print what Python prints, replayed what their twins do."""

import difflib
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.harness import DENSE, Program, check, check_record, check_replay, desk, find_truth

SAMPLES = Path(__file__).resolve().parent.parent / "samples"


@dataclass(frozen=True)
class Row:
    """One sample, one way of probing it."""

    name: str
    program: Program
    most: int | None  # main-loop iterations the replay may execute; None: as many as it needs


def script(name: str, *args: str, twin: str = "probed", most: int | None = 0) -> Row:
    """A sample that is one file."""
    plain = f"{name}.py"
    program = Program(SAMPLES, (plain,), args, {plain: f"{name}.{twin}.py"}, files=(plain,))
    return Row(f"{name}.{twin}", program, most)


TABULAR = Program(SAMPLES, ("-m", "tabular.train"), ("--epochs", "6"), files=("tabular",),
                  edits={f"tabular/{name}.py": f"tabular/{name}.probed.py" for name in ("trainer", "train")})

ROWS = [
    script("digits_cnn", "--epochs", "3"),
    # the probe sits in the step loop and fires once an epoch: every epoch is executed
    script("digits_cnn", "--epochs", "3", twin="inner.probed", most=3),
    # one flat loop, probed in a branch of its body
    script("char_lm", "--max_iters=100", "--eval_interval=25", "--eval_iters=2", most=None),
    script("digits_gan", "--niter", "4"),
    Row("tabular.probed", TABULAR, 0),
    script("diagnosis_pg", "--episodes", "240", "--log-interval", "40", most=None),
    script("diabetes_resume", "--epochs", "30", "--save-every", "10"),
    script("iris_numpy", "--epochs", "60"),
    # fires in epochs 0, 20 and 40, under an `if` that was never there: no record tells where, so all may run
    script("iris_numpy", "--epochs", "60", twin="inner.probed", most=60),
]


@pytest.mark.program
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_probed_sample_replays_as_if_it_had_been_probed_from_the_start(row: Row, tmp_path: Path) -> None:
    truth = find_truth(row.program, tmp_path)
    check(bool(truth.new), "the probes print nothing: the test would show nothing")
    user = desk(row.program, tmp_path / "user")
    check_record(user, truth, *DENSE)
    user.edit()
    check_replay(user, truth, most=row.most)


@pytest.mark.program
def test_a_run_that_resumed_from_a_file_is_replayed_as_one_that_did(tmp_path: Path) -> None:
    """The finished run left a later ckpt.pt; the replay must find the one that was there at the start."""
    first = ("--epochs", "20", "--save-every", "10")
    name = "diabetes_resume"
    half = Program(SAMPLES, (f"{name}.py",), first, files=(f"{name}.py", f"{name}.probed.py"))
    prepared = desk(half, tmp_path / "prepared")
    prepared.python().must_exit(0, "the first half")
    rest = Program(prepared.home, half.target, ("--epochs", "40", "--save-every", "10"),
                   {f"{name}.py": f"{name}.probed.py"})

    truth = find_truth(rest, tmp_path)
    check("resumed at epoch 20" in truth.plain, "the program did not resume: the test would show nothing")
    user = desk(rest, tmp_path / "user")
    check_record(user, truth, *DENSE)
    user.edit()
    check_replay(user, truth, most=0)


@pytest.mark.parametrize("twin", sorted(SAMPLES.rglob("*.probed.py")), ids=lambda path: path.name)
def test_a_twin_is_its_sample_with_lines_added(twin: Path) -> None:
    plain = twin.with_name(twin.name.split(".")[0] + ".py")
    changes = list(difflib.ndiff(plain.read_text().splitlines(), twin.read_text().splitlines()))
    assert any(line.startswith("+") for line in changes)
    assert not [line for line in changes if line.startswith("-")]
