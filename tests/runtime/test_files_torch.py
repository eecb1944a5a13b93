"""NumPy and torch: what they save lies in the overlay, what they load is the record's."""
from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.runtime.files_bench import Bench

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path, limit=1 << 20)


def saving(bench):
    """Saves the best, reads it back, as most scripts do."""
    os.makedirs("out", exist_ok=True)
    for epoch in range(3):
        if bench.enter(f"epoch {epoch}"):
            torch.save({"weight": torch.full((3,), float(epoch))}, os.path.join("out", "best.pt"))
            np.save(os.path.join("out", "guess.npy"), np.arange(epoch + 1))
            bench.leave(f"epoch {epoch}")
    bench.tell(torch.load(Path("out") / "best.pt")["weight"].tolist())
    bench.tell(torch.load(f="out/best.pt", mmap=True)["weight"].tolist())
    bench.tell(np.load("out/guess.npy").tolist())
    bench.tell(np.load("out/guess.npy", mmap_mode="r").sum().item())


def numpys(bench):
    """Each way NumPy has to a file."""
    if bench.enter("a"):
        np.savez("a.npz", x=np.arange(3))
        np.savetxt("a.txt", np.eye(2))
        np.arange(4.0).tofile("a.bin")
        table = np.memmap("a.map", dtype="int64", mode="w+", shape=(3,))
        table[:] = 7
        table.flush()
        del table
        bench.leave("a")
    with np.load("a.npz") as archive:
        bench.tell(archive["x"].tolist())
    bench.tell(np.loadtxt("a.txt").tolist())
    bench.tell(np.fromfile("a.bin").tolist())
    bench.tell(np.memmap("a.map", dtype="int64", mode="r").tolist())


def torchs(bench):
    """Other ways torch has to a file."""
    if bench.enter("a"):
        torch.save([1], "legacy.pt", _use_new_zipfile_serialization=False)
        torch.save([2], "ünicode.pt")
        with open("handle.pt", "wb") as file:
            torch.save([3], file)
        bench.leave("a")
    bench.tell([torch.load("legacy.pt"), torch.load("ünicode.pt")])
    with open("handle.pt", "rb") as file:
        bench.tell(torch.load(file))
    for call in (lambda: torch.save([1], "none/x.pt"), lambda: torch.load("none.pt")):
        try:
            call()
        except Exception as failure:
            bench.tell(type(failure).__name__)


@pytest.mark.parametrize("skip", [(), ("a",), ("epoch 0",), ("epoch 1",), ("epoch 0", "epoch 1", "epoch 2")],
                         ids=" ".join)
@pytest.mark.parametrize("program", [saving, numpys, torchs])
def test_what_was_saved_is_loaded(bench, program, skip):
    told = list(bench.record(program, modules=[torch]))
    assert bench.replay(program, *skip, modules=[torch]) == told
    assert bench.reports == []


def test_a_saved_file_is_the_same_byte_for_byte(bench):
    def program(bench):
        torch.save({"weight": torch.ones(3)}, "best.pt")

    bench.record(program, modules=[torch])
    bench.replay(program, modules=[torch])
    copy = Path(f"{bench.overlay}{bench.path('best.pt')}")
    assert copy.read_bytes() == (bench.home / "best.pt").read_bytes()


def test_uninstalling_gives_torch_its_functions_back(bench):
    before = (torch.save, torch.load, torch.serialization.save, torch.jit.save)
    for files in (bench.recorder(), bench.replayer()):
        files.install()
        files.patch_torch(torch)
        assert torch.save is torch.serialization.save is not before[0]
        files.uninstall()
        assert (torch.save, torch.load, torch.serialization.save, torch.jit.save) == before
