"""docs/store-format.md is true: its script reads tensors, its tables are complete, its MACs are right."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import xxhash

from florc.runtime import description, events, key, large, runs, store
from florc.runtime.kind import Kind
from florc.runtime.runs import Run
from tests.florc.running import florc, lay, python

PAGE = (Path(__file__).parents[2] / "docs" / "store-format.md").read_text("utf-8")
TRAIN = """\
import numpy
import torch
torch.manual_seed(0)
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(40, 20)
        self.blocks = torch.nn.ModuleList([torch.nn.Linear(20, 3)])
        self.frozen = torch.nn.Linear(40, 40).requires_grad_(False)
        self.wide = torch.nn.Linear(40, 7000)  # its weight is a large payload
        self.register_buffer("seen", torch.zeros(1, dtype=torch.int64))
    def forward(self, x):
        self.seen += 1
        return self.blocks[0](self.fc(self.frozen(x))) + self.wide(x)[:, :3]
def main():
    model = Net()
    tied = model.fc.weight.detach().t()[3:7]
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=0.1)
    for epoch in range(4):
        truth = {"tied": tied, **model.state_dict()}
        numpy.savez(f"truth{epoch}.npz", **{name: value.numpy() for name, value in truth.items()})
        for x in torch.randn(5, 8, 40):
            optimizer.zero_grad()
            model(x).pow(2).mean().backward()
            optimizer.step()
main()
"""
READ = (
    "import runpy, sys; sys.argv = sys.argv[1:]; found = runpy.run_path(sys.argv[0]); "
    "print('is', found['array'].dtype, found['array'].shape, found['array'].tobytes().hex())"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recorded training, with the truth beside it."""
    pytest.importorskip("torch")
    script = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert script is not None
    files = {"train.py": TRAIN, "read_tensor.py": script[1]}
    folder = lay(tmp_path_factory.mktemp("format"), files)
    done = florc(folder, "record", "--overhead", "1", "--name", "one", "train.py")
    assert (done.code, done.err) == (0, "")
    return folder


@pytest.fixture
def run(folder: Path) -> Run:
    return runs.load(folder / ".florc", "one")


PATHS = {
    "model.fc.weight": "fc.weight",
    "model.blocks.0.weight": "blocks.0.weight",  # small: its bytes stand in the content
    "model.fc.bias": "fc.bias",
    "model.seen": "seen",
    "model.wide.weight": "wide.weight",
    "tied": "tied",  # a view of another tensor's memory
}


@pytest.mark.program
@pytest.mark.parametrize("iteration", [1, 3])
@pytest.mark.parametrize("path", PATHS)
def test_the_script_of_the_page_reads_a_tensor_without_florc(folder, path, iteration):
    numpy = pytest.importorskip("numpy")
    done = python(folder, "-I", "-c", READ, "read_tensor.py", ".florc/runs/one", path, str(iteration))
    truth = numpy.load(folder / f"truth{iteration}.npz")[PATHS[path]]
    assert done.out.splitlines()[-1] == f"is {truth.dtype} {truth.shape} {truth.tobytes().hex()}", done.err


@pytest.mark.program
def test_what_never_changed_is_not_kept(folder):
    words = ["read_tensor.py", ".florc/runs/one", "model.frozen.weight", "3"]
    done = python(folder, "-I", *words)
    assert done.code == 1 and "KeyError" in done.err


@pytest.mark.program
def test_the_signatures_are_made_as_the_page_says(run):
    own = key.read()
    assert own is not None

    def mac(data: bytes, secret: bytes, person: bytes, size: int = 16) -> str:
        return hashlib.blake2b(data, key=secret, person=person, digest_size=size).hexdigest()

    said = json.loads((run.folder / "run.json").read_text())
    secret = bytes.fromhex(mac(b"run " + said["salt"].encode(), own.secret, b"florc derive", 32))
    assert said["key"] == mac(b"id", own.secret, b"florc key", 8)
    fields = {name: value for name, value in said.items() if name not in ("format", "check", "mac")}
    text = json.dumps(fields, sort_keys=True, separators=(",", ":")).encode("ascii")
    assert (said["check"], said["mac"]) == (xxhash.xxh3_128_hexdigest(text), mac(text, secret, b"florc run"))
    told = b""
    closed = 0
    for line in (run.folder / "journal.jsonl").read_bytes().splitlines(keepends=True):
        if line.startswith(b"["):
            told += line
        else:
            hashes = f"={mac(told, secret, b'florc journal')} {xxhash.xxh3_64_hexdigest(told)}\n"
            assert line.decode() == hashes
            closed += 1
    assert closed > 5
    pack = (run.folder / "data.pack").read_bytes()
    kinds = set()
    for line in (run.folder / "data.idx").read_text().splitlines():
        name, offset, size, kind, found = line.split()
        source = (run.folder / large.FOLDER / name).read_bytes() if kind == "l" else pack
        data = source[int(offset) : int(offset) + int(size)]
        kinds.add(kind)
        head = line.rpartition(" ")[0].encode()
        assert found == mac(head + (data if kind == "s" else b""), secret, b"florc blob")
        assert int(offset) % 64 == 0 and name == xxhash.xxh3_128_hexdigest(data)
    assert kinds == {"r", "s", "l"}


def all_kinds(cls: type[Kind] = Kind) -> Iterator[type[Kind]]:
    for one in cls.__subclasses__():
        yield one
        yield from all_kinds(one)


def test_the_page_names_every_kind_event_and_field():
    from florc.runtime import arrays, kinds  # noqa: F401  (numpy's kinds register)

    pytest.importorskip("torch")
    from florc.runtime import tensors  # noqa: F401

    tags = {"list", "deque", "bytearray", "array.array"}
    tags |= {str(vars(one).get("tag", "")) for one in all_kinds()}
    told = set(re.findall(r'`\("([\w .]+)"', PAGE)) | set(re.findall(r', `\("([\w .]+)"', PAGE))
    assert tags - told - {""} == set()
    assert {tag for tag in events._SHAPES if f'`["{tag}"' not in PAGE} == set()
    unnamed = {name for name in runs._OWN_FIELDS | description.FRAME if f"`{name}`" not in PAGE}
    assert unnamed == set()
    assert f"describes format **{description.FORMAT}**" in PAGE
    for name in (description.FILE, store.INDEX, store.PACK, f"{large.FOLDER}/", f"{large.OBJECTS}/"):
        assert name in PAGE


@pytest.mark.program
def test_the_oldest_format_is_read_and_those_before_it_are_refused(folder):
    file = folder / ".florc" / "runs" / "one" / "run.json"
    text = file.read_text()
    try:
        for number, code in [(description.OLDEST, 0), (description.OLDEST - 1, 69)]:
            file.write_text(text.replace(f'"format": {description.FORMAT}', f'"format": {number}'))
            assert florc(folder, "runs", "show", "one").code == code
    finally:
        file.write_text(text)


@pytest.mark.program
@pytest.mark.parametrize("words", [["replay", "train.py"], ["runs", "show", "one"], ["verify", "one"]])
def test_a_newer_format_is_refused_in_one_line(folder, words):
    file = folder / ".florc" / "runs" / "one" / "run.json"
    text = file.read_text()
    newer = description.FORMAT + 1
    try:
        file.write_text(text.replace(f'"format": {description.FORMAT}', f'"format": {newer}'))
        done = florc(folder, *words)
    finally:
        file.write_text(text)
    assert (done.code, done.out, done.err.count("\n")) == (69, "", 1)
    assert f"recorded by a newer florc (format {newer}, known: {description.FORMAT})" in done.err
    assert "upgrade florc" in done.err
