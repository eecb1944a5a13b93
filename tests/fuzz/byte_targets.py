"""What reads bytes that others may have written or damaged: it may raise nothing but what it declares.

Each target takes bytes of any kind and returns; anything else it raises is a fault. `SEEDS` gives real files
to begin with, `edited` makes an edit of a program out of chance.
"""

from __future__ import annotations

import json
import tempfile
import warnings
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import xxhash

from florc.runtime import description, events, journal, runs, script
from florc.runtime.errors import StoreError
from florc.runtime.key import Key
from florc.runtime.seal import Seal, canonical, checksum
from florc.runtime.store import INDEX, PACK, BlobReader, read_index
from florc.transforms import explain_data, instrument, match, to_code

ROOT = Path(__file__).resolve().parents[2]
KEY = Key(b"k" * 32)
SALT = "00" * 16
MAX_PROGRAMS = 40  # longer ones only take longer
SIZE = 2  # bytes of the input for one step of an edit


# --- the compiler -------------------------------------------------------------------------------------------


def reads_source(data: bytes) -> None:
    """The instrumenter refuses what Python refuses, and what it makes of the rest compiles."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(data, "x.py", "exec", dont_inherit=True)
            sound = True
        except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
            sound = False
        try:
            made = instrument(data, "x.py")
        except SyntaxError:
            assert not sound, "the instrumenter refuses what Python compiles"
            return
        except ValueError:
            assert not sound and b"\0" in data, "only null bytes are no source for another reason"
            return
        if sound:
            to_code(made, "x.py", marks=True)
            explain_data(made.plan)


def matches_edit(data: bytes) -> None:
    """The matcher says of two programs what changed, of one and the same nothing."""
    old, new = edited(data)
    plan = instrument(old, "x.py").plan
    try:
        found = match(old, new, plan, isolating=True)
    except SyntaxError:
        _must_not_compile(new)
        return
    lines = new.count(b"\n") + 1
    assert all(1 <= probe.line <= probe.end_line <= lines + 1 for probe in found.probes), found.probes
    assert old != new or not (found.changes or found.probes), found
    if not found.changes:
        to_code(instrument(new, "x.py", dict(found.ids)), "x.py", marks=False, probes=found.probes)


def _must_not_compile(source: bytes) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(source, "x.py", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return
    raise AssertionError("the matcher refuses what Python compiles")


def edited(data: bytes) -> tuple[bytes, bytes]:
    """A real program and an edit of it: lines doubled, dropped, swapped, indented, taken from another."""
    programs = _programs()
    place = data[0] % len(programs) if data else 0
    old = programs[place]
    lines, others = old.split(b"\n"), programs[(place + 1) % len(programs)].split(b"\n")
    steps = [data[i : i + SIZE + 1] for i in range(1, len(data) - SIZE, SIZE + 1)]
    for what, *where in steps:
        at = int.from_bytes(bytes(where), "big")
        i, j = at % len(lines), (at * 7 + what) % len(lines)
        indent = lines[i][: len(lines[i]) - len(lines[i].lstrip())]
        if what % 8 == 0:
            lines.insert(i, lines[i])
        elif what % 8 == 1:
            del lines[i]
            lines = lines or [b""]
        elif what % 8 == 2:
            lines[i], lines[j] = lines[j], lines[i]
        elif what % 8 == 3:
            lines[i] = b"    " + lines[i]
        elif what % 8 == 4:
            lines.insert(i, indent + others[at % len(others)].strip())
        elif what % 8 == 5:
            lines.insert(i, indent + ADDED[at % len(ADDED)])
        elif what % 8 == 6:
            lines[i] = lines[i].replace(b"(", b"(" + ADDED[at % len(ADDED)] + b", ", 1)
        else:
            lines[i] = lines[i][4:] if lines[i].startswith(b"    ") else lines[i][:-1]
    return old, b"\n".join(lines)


ADDED = tuple(one.encode() for one in (
    "print(x)", "import math", "x.append(1)", "for x in y: print(x)", "with open('f') as g: g.read()",
    "print(f'{x!r:>{w}}')", "yield 1", "await x", "return", "del x", "global x", "x = lambda: (yield)",
    "try: pass\nexcept* ValueError: pass", "match x:\n    case {'a': [*_]}: print(1)", "@f\ndef g(): pass",
    "class A(B, m=C): x: int = 1", "assert x, y", "raise", "async def f(): pass", "print(x := 1)", "# note",
    "'''text", "\\", "x: int", "if x: pass\nelse: print(1)", "while True: break", "nonlocal x", "\t", "\x0c"))


@lru_cache(maxsize=1)
def _programs() -> list[bytes]:
    """Programs to edit: samples and cases, the smaller ones."""
    files = [*sorted((ROOT / "samples").glob("*.py")), *sorted((ROOT / "tests").glob("*cases/*/*.py")),
             *sorted((ROOT / "tests" / "faults" / "cases").glob("*/train.py"))]
    return sorted((file.read_bytes() for file in files), key=len)[:MAX_PROGRAMS]


# --- the store ----------------------------------------------------------------------------------------------


def reads_event(data: bytes) -> None:
    """A line of a journal is an event or a ValueError."""
    for line in data.split(b"\n"):
        try:
            events.loads(line)
        except ValueError:
            pass


def reads_events(data: bytes) -> None:
    """Any sequence of well-shaped events can be parsed as a run."""
    found = []
    for line in data.split(b"\n"):
        try:
            found.append(events.loads(line))
        except ValueError:
            continue
    script.parse(found)


def reads_journal(data: bytes) -> None:
    """A journal of any bytes is read as far as it is whole; one that is signed is read to its end."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name:
        folder = Path(name)
        (folder / journal.NAME).write_bytes(data)
        for seal in (None, _seal()):
            found = journal.read(folder, seal)
            assert 0 <= found.end <= found.size == len(data)
            script.parse(found.events)
        body = data if data.endswith(b"\n") else data + b"\n"
        check, mac = xxhash.xxh3_64(body).hexdigest(), _seal().journal()
        mac.update(body)
        (folder / journal.NAME).write_bytes(body + f"={mac.hexdigest()} {check}\n".encode())
        for seal in (None, _seal()):
            script.parse(journal.read(folder, seal).events)


def reads_blobs(data: bytes) -> None:
    """Index and pack of any bytes give blobs that are what their names say, or StoreError."""
    cut = data[0] * 8 if data else 0
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name:
        folder = Path(name)
        (folder / PACK).write_bytes(data[:cut])
        (folder / INDEX).write_bytes(data[cut:])
        for seal in (None, _seal()):
            reader = BlobReader(folder, seal)
            for key in read_index(folder):
                for get in (reader.get, reader.get_sealed):
                    try:
                        assert xxhash.xxh3_128_hexdigest(get(key)) == key
                    except StoreError:
                        pass
            reader.close()


def reads_description(data: bytes) -> None:
    """A run.json of any bytes, signed or not, is a run or a StoreError."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name:
        folder = Path(name) / "runs" / "r"
        folder.mkdir(parents=True)
        for text in (data, _signed(data)):
            (folder / description.FILE).write_bytes(text)
            try:
                loaded = description.read(folder)
                seal = description.verify(loaded, folder, KEY)
                runs.from_fields(folder, loaded, seal)
            except StoreError:
                continue


def _seal() -> Seal:
    return Seal.of(KEY, SALT)


def _signed(data: bytes) -> bytes:
    """The description with this user's hashes, if it is one at all."""
    try:
        fields: Any = json.loads(data)
        fields = description.plain(json.loads(canonical({**fields, "key": KEY.id, "salt": SALT, "run": "r"})))
    except (ValueError, TypeError, RecursionError, UnicodeError):
        return data
    signed = {"format": description.FORMAT, **fields, "check": checksum(fields),
              "mac": _seal().description(fields)}
    return json.dumps(signed).encode("ascii")


# --- what to begin with -------------------------------------------------------------------------------------

TARGETS: dict[str, Callable[[bytes], None]] = {
    "source": reads_source,
    "edit": matches_edit,
    "event": reads_event,
    "events": reads_events,
    "journal": reads_journal,
    "blobs": reads_blobs,
    "description": reads_description,
}

_EVENTS = b"""["R","random",[3,[1,2],null]]
["M","__main__","train.py","/p/train.py","for i in range(2): f()\\n"]
["L","train.py::for#0"]
["B",KEY]
["H",0,{"train.py":[0,1]}]
["I",0,{"i":0},null,0]
["w",1,"train.py",3,"text\\n",0]
["w",2,"train.py",3,"12 text\\n",["","12"," text\\n"]]
["L","train.py::for#0/for#0"]
["X","end",0.5,[KEY,KEY,KEY],0]
["c","time.time",1.5,"train.py"]
["f",["write","/p/a.txt",3,5]]
["f",["prior","/p/a.txt",false,"",null,"a",0]]
["I",1,{},[KEY,KEY,KEY],0]
["Z","train.py::for#0"]
["S"]
["Q","train.py::for#1"]
["D",4]
["o"]
["n","a note"]
["stop","why"]
["X","return",0.5,null,0]
["E",0,false,3]
""".replace(b"KEY", b'"' + b"0" * 32 + b'"')


def seeds(target: str) -> list[bytes]:
    """Real inputs for a target."""
    if target == "source":
        return _programs()
    if target == "edit":
        return [bytes([number]) for number in range(len(_programs()))]
    if target in ("event", "events", "journal"):
        return [_EVENTS, *_EVENTS.splitlines(keepends=True)]
    if target == "blobs":
        data = b"some bytes".ljust(64, b"\0")
        key = xxhash.xxh3_128_hexdigest(data[:10])
        return [bytes([8]) + data[1:] + f"{key} 0 10 {kind} {'0' * 32}\n".encode() for kind in "rs"]
    fields = {"format": description.FORMAT, "script": "train.py", "argv": ["--x"], "env": {"A": "1"},
              "exit_code": 0, "threads": 1, "module": False, "hash_seed": "0", "pid": 1,
              "started": "2024-01-01T00:00:00+00:00"}
    return [json.dumps(fields).encode()]
