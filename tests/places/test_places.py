"""Wherever a probe stands and whatever its form: its replay is plain Python's text, or a refusal."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.florc.running import lay
from tests.places.program import FILES, STUBS
from tests.places.table import EDITS, FORMS, LOADER_WORKERS, PLACES, WRAPPERS, Probe
from tests.warm import TORCH, Done, Warm, environment

pytestmark = pytest.mark.program

EXACT, REFUSED = 0, 69


@dataclass(frozen=True)
class Desk:
    """A folder in which commands run."""

    home: Path
    warm: Warm

    def run(self, *argv: str) -> Done:
        return self.warm.run(argv, self.home, environment({"STUBS": str(self.home.parent / "stubs")}))

    def files(self) -> dict[str, bytes]:
        """What lies there besides the program."""
        return {path.name: path.read_bytes() for path in self.home.iterdir()
                if path.is_file() and path.suffix != ".py"}  # fmt: skip


@pytest.fixture(scope="module")
def warm() -> Iterator[Warm]:
    with Warm(TORCH) as server:
        yield server


@pytest.fixture(scope="module")
def recorded(warm: Warm, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the program's runs, by the number of the loader's workers."""
    folder = tmp_path_factory.mktemp("recorded")
    lay(folder / "stubs", STUBS)
    home = lay(folder / "home", FILES)
    desk = Desk(home, warm)
    for workers in ("0", "2"):
        plain = desk.run("train.py", workers)
        words = ("--overhead", "1", "--name", f"workers{workers}", "train.py", workers)
        done = desk.run("-m", "florc", "record", *words)
        assert (done.code, done.out) == (0, plain.out), done.err.decode()
        assert done.out.count(b"epoch") == 6
    return folder


def _edited(folder: Path, probe: Probe) -> None:
    for file, old, new in probe.edits:
        text = (folder / file).read_text()
        assert text.count(old) == 1, (file, old)
        (folder / file).write_text(text.replace(old, new))


TABLE = [*PLACES, *FORMS, *EDITS, *WRAPPERS, *LOADER_WORKERS]


@pytest.mark.parametrize("probe", TABLE, ids=[probe.name for probe in TABLE])
def test_a_probe_gives_the_text_of_plain_python_or_is_refused(warm, recorded, tmp_path, probe):
    for name in ("home", "truth"):
        shutil.copytree(recorded / "home", tmp_path / name)
        _edited(tmp_path / name, probe)
    shutil.copytree(recorded / "stubs", tmp_path / "stubs")
    user, truth = Desk(tmp_path / "home", warm), Desk(tmp_path / "truth", warm)
    summary = tmp_path / "summary.json"
    words = ("--run", f"workers{probe.workers}", "--summary", str(summary), "train.py")
    done = user.run("-m", "florc", "replay", *words)
    if probe.refused:
        assert (done.code, done.out) == (REFUSED, b""), done
        assert probe.refused in done.err.decode()
        return
    wanted = truth.run("train.py", str(probe.workers))
    assert wanted.code == 0, wanted.err.decode()
    same = sorted if probe.workers else list  # the texts of several processes come in any order
    assert same(done.out.splitlines()) == same(wanted.out.splitlines()), done.err.decode()
    assert done.code == EXACT, done.err.decode()
    assert user.files() == truth.files()
    executed = {i for loop in json.loads(summary.read_text())["main_loops"] for i in loop["executed"]}
    assert len(executed) == probe.executed
