"""Large payloads: once in a store, each run with its own name for them, and nothing believed unseen."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
import xxhash

from florc.runtime import large
from florc.runtime.large import LARGE_BYTES, LargeFiles
from florc.runtime.store import PACK, BlobReader, BlobWriter, DamagedBlob, Part, read_index
from tests.runtime.sealed import SEAL

LARGE = bytes(range(256)) * (LARGE_BYTES // 256)
OTHER = LARGE[::-1]
KEY = xxhash.xxh3_128_hexdigest(LARGE)


@pytest.fixture
def objects(tmp_path: Path) -> Path:
    return tmp_path / "objects"


def run(home: Path, name: str) -> Path:
    folder = home / "runs" / name
    folder.mkdir(parents=True)
    return folder


def kept(folder: Path, objects: Path, *blobs: bytes) -> list[str]:
    """Record blobs as a run; their keys."""
    writer = BlobWriter(folder, SEAL, objects)
    keys, _, _ = writer.put_all([Part(blob) for blob in blobs])
    writer.sync()
    writer.close()
    return keys


def files(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir()) if folder.exists() else []


def inode(folder: Path, key: str = KEY) -> int:
    return (folder / large.FOLDER / key).stat().st_ino


def reads(folder: Path, key: str = KEY) -> bytes:
    """One way to read a blob and the other, which must agree."""
    reader = BlobReader(folder, SEAL)
    data = reader.get(key)
    assert bytes(reader.get_all([key])[key]) == data
    return data


# -- what is stored where -----------------------------------------------------------------
def test_large_blobs_are_files_and_all_others_are_in_the_pack(tmp_path, objects):
    folder = run(tmp_path, "one")
    blobs = [b"small", LARGE, b"", LARGE[:-1], OTHER, b"last"]
    keys = kept(folder, objects, *blobs)
    reader = BlobReader(folder, SEAL)
    assert [reader.get(key) for key in keys] == blobs
    assert {key: bytes(data) for key, data in reader.get_all(keys).items()} == dict(
        zip(keys, blobs, strict=True)
    )
    assert files(folder / large.FOLDER) == files(objects) == sorted([keys[1], keys[4]])
    assert (folder / PACK).stat().st_size < 2 * LARGE_BYTES
    assert (folder / large.FOLDER / KEY).stat().st_mode & 0o777 == 0o600
    assert objects.stat().st_mode & 0o777 == (folder / large.FOLDER).stat().st_mode & 0o777 == 0o700


def test_a_writer_without_a_store_packs_all(tmp_path):
    folder = run(tmp_path, "one")
    writer = BlobWriter(folder, SEAL)
    writer.put_all([Part(LARGE)])
    writer.close()
    assert reads(folder) == LARGE and not (folder / large.FOLDER).exists()


def test_code_stays_in_the_pack_where_its_seal_covers_it(tmp_path, objects):
    folder = run(tmp_path, "one")
    writer = BlobWriter(folder, SEAL, objects)
    writer.put_all([Part(LARGE, sealed=True)])
    writer.close()
    assert not read_index(folder)[KEY].apart and not objects.exists()
    assert BlobReader(folder, SEAL).get_sealed(KEY) == LARGE


def test_bytes_that_were_numbers_and_are_then_code_are_sealed_too(tmp_path, objects):
    folder = run(tmp_path, "one")
    writer = BlobWriter(folder, SEAL, objects)
    for sealed in (False, True, False):
        writer.put_all([Part(b"before"), Part(LARGE, sealed=sealed)])
    writer.close()
    assert BlobReader(folder, SEAL).get_sealed(KEY) == LARGE == reads(folder)


def test_a_later_writer_of_a_run_knows_its_large_blobs(tmp_path, objects):
    folder = run(tmp_path, "one")
    kept(folder, objects, LARGE)
    writer = BlobWriter(folder, SEAL, objects)
    assert writer.put_all([Part(LARGE)]) == ([KEY], None, frozenset()) and writer.written == 0
    writer.close()


# -- sharing ------------------------------------------------------------------------------
def test_equal_bytes_of_two_runs_are_one_file_and_cost_the_second_nothing(tmp_path, objects):
    one, two = run(tmp_path, "one"), run(tmp_path, "two")
    kept(one, objects, LARGE)
    writer = BlobWriter(two, SEAL, objects)
    writer.put_all([Part(LARGE), Part(OTHER)])
    writer.close()
    assert writer.written == len(OTHER)
    assert inode(one) == inode(two) and reads(two) == LARGE
    assert [rest for _, *rest in large.sizes(one, objects)] == [[len(LARGE), 2]]


def test_a_removed_run_takes_nothing_from_another_and_the_last_takes_all(tmp_path, objects):
    one, two = run(tmp_path, "one"), run(tmp_path, "two")
    kept(one, objects, LARGE)
    kept(two, objects, LARGE)
    large.release(one / large.FOLDER / KEY, objects)
    assert reads(two) == LARGE and files(objects) == [KEY] and large.unheld(objects) == []
    large.release(two / large.FOLDER / KEY, objects)
    assert files(objects) == files(two / large.FOLDER) == []


def test_what_no_run_holds_is_found_by_its_names(tmp_path, objects):
    one, two = run(tmp_path, "one"), run(tmp_path, "two")
    kept(one, objects, LARGE)
    kept(two, objects, OTHER)
    (one / large.FOLDER / KEY).unlink()
    assert [file.name for file in large.unheld(objects)] == [KEY]


def test_two_that_write_the_same_at_once_end_with_one_file(tmp_path, objects, monkeypatch):
    """Ranks of a job: both have looked before either has written."""
    one, two = (LargeFiles(run(tmp_path, name), objects) for name in ("one", "two"))
    link = os.link
    late: list[bool] = []

    def after_the_other(source: str, *rest: object, **more: object) -> None:
        if not late:
            late.append(True)
            one.keep(KEY, memoryview(LARGE))  # between the look of the second and its own writing
            raise FileNotFoundError(source)
        link(source, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "link", after_the_other)
    two.keep(KEY, memoryview(LARGE))
    assert inode(tmp_path / "runs" / "one") == inode(tmp_path / "runs" / "two")
    assert files(tmp_path / "runs" / "two" / large.FOLDER) == files(objects) == [KEY]


@pytest.mark.parametrize("code", [errno.EPERM, errno.EMLINK, errno.EOPNOTSUPP, errno.EXDEV])
def test_where_there_are_no_hard_links_each_run_has_its_own(tmp_path, objects, monkeypatch, code):
    def refuse(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "link", refuse)
    for name in ("one", "two"):
        folder = run(tmp_path, name)
        kept(folder, objects, LARGE)
        assert reads(folder) == LARGE and files(folder / large.FOLDER) == [KEY]
    assert inode(tmp_path / "runs" / "one") != inode(tmp_path / "runs" / "two") and files(objects) == []


# -- what lies in `objects` is not believed -------------------------------------------------
def plant(objects: Path, how: str) -> None:
    """Something under the name of LARGE that a recording must not take."""
    objects.mkdir()
    place = objects / KEY
    if how == "a link":
        (objects.parent / "elsewhere").write_bytes(LARGE)
        place.symlink_to(objects.parent / "elsewhere")
    elif how == "a folder":
        place.mkdir()
    else:
        contents = {"one byte differs": LARGE[:-1] + b"x", "cut": LARGE[:-1], "longer": LARGE + b"x"}
        place.write_bytes(contents.get(how, LARGE))
        place.chmod(0o620 if how == "others may write it" else 0o600)


@pytest.mark.parametrize(
    "how", ["one byte differs", "cut", "longer", "a link", "a folder", "others may write it"]
)
def test_a_recording_takes_nothing_but_its_own_bytes(tmp_path, objects, how):
    """As an attacker would have it who can make another text of the same hash, or as damage would."""
    plant(objects, how)
    one, two = run(tmp_path, "one"), run(tmp_path, "two")
    kept(one, objects, LARGE)
    assert reads(one) == LARGE and not (one / large.FOLDER / KEY).is_symlink()
    assert (one / large.FOLDER / KEY).stat().st_mode & 0o777 == 0o600
    kept(two, objects, LARGE)
    assert reads(two) == LARGE
    assert (inode(one) == inode(two)) == (how != "a folder")  # what is wrong is replaced where it can be
    assert files(one / large.FOLDER) == [KEY]


def test_another_users_file_is_neither_taken_nor_read(tmp_path, objects, monkeypatch):
    one = run(tmp_path, "one")
    kept(one, objects, LARGE)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(DamagedBlob, match="cannot be read"):
        BlobReader(one, SEAL).get(KEY)
    assert not LargeFiles(run(tmp_path, "two"), objects)._take(KEY, memoryview(LARGE))


# -- faults -------------------------------------------------------------------------------
@pytest.mark.parametrize("damage", ["flip", "cut", "gone", "empty"])
def test_a_damaged_file_is_told_by_all_its_runs_and_healed_for_later_ones(tmp_path, objects, damage):
    folders = [run(tmp_path, name) for name in ("one", "two", "three")]
    for folder in folders[:2]:
        kept(folder, objects, LARGE)
    file = folders[0] / large.FOLDER / KEY
    if damage == "gone":
        file.unlink()
    else:
        with open(file, "r+b") as stream:
            stream.truncate({"flip": len(LARGE), "cut": LARGE_BYTES // 2, "empty": 0}[damage])
            stream.seek(100)
            stream.write(b"x" if damage == "flip" else b"")
    for folder in folders[:1] if damage == "gone" else folders[:2]:
        with pytest.raises(DamagedBlob):
            BlobReader(folder, SEAL).get(KEY)
        with pytest.raises(DamagedBlob):
            BlobReader(folder, SEAL).get_all([KEY])
    kept(folders[2], objects, LARGE)
    assert reads(folders[2]) == LARGE


def test_the_line_of_a_large_blob_is_good_for_nothing_else(tmp_path, objects):
    """A line moved to another kind or place has a broken seal."""
    folder = run(tmp_path, "one")
    kept(folder, objects, LARGE)
    index = folder / "data.idx"
    index.write_bytes(index.read_bytes().replace(b" l ", b" r "))
    (folder / PACK).write_bytes(LARGE)
    with pytest.raises(DamagedBlob, match="seal"):
        BlobReader(folder, SEAL).get(KEY)


def test_on_a_full_disk_nothing_is_left_and_nothing_named(tmp_path, objects, monkeypatch):
    folder = run(tmp_path, "one")
    pwrite = os.pwrite

    def full(fd: int, data: bytes, place: int) -> int:
        if len(data) < LARGE_BYTES:
            return pwrite(fd, data, place)
        pwrite(fd, data[:1000], place)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    writer = BlobWriter(folder, SEAL, objects)
    monkeypatch.setattr(os, "pwrite", full)
    _, job, _ = writer.put_all([Part(b"small"), Part(LARGE)])
    writer.finish()
    assert job is not None and job.error is not None and job.error.errno == errno.ENOSPC
    assert read_index(folder) == {} and files(folder / large.FOLDER) == files(objects) == []
    with pytest.raises(OSError, match="earlier write"):
        writer.write_large(KEY, memoryview(LARGE))


def test_what_a_kill_left_half_written_is_in_nobodys_way(tmp_path, objects):
    folder = run(tmp_path, "one")
    (folder / large.FOLDER).mkdir()
    for name in (f".{KEY}.{os.getpid()}", f".{KEY}.1"):
        (folder / large.FOLDER / name).write_bytes(LARGE[:1000])
    kept(folder, objects, LARGE)
    assert reads(folder) == LARGE and files(folder / large.FOLDER) == [f".{KEY}.1", KEY]


def test_a_run_that_is_removed_while_it_is_recorded_is_not_made_again(tmp_path, objects):
    one = LargeFiles(tmp_path / "runs" / "gone", objects)
    with pytest.raises(FileNotFoundError):
        one.keep(KEY, memoryview(LARGE))
    assert not (tmp_path / "runs").exists()


def test_a_descriptor_that_has_become_the_programs_is_not_closed(tmp_path):
    (tmp_path / "ours").write_bytes(LARGE)
    with large.opened(tmp_path / "ours") as fd:
        os.close(fd)
        with open(tmp_path / "theirs", "wb") as theirs:
            os.dup2(theirs.fileno(), fd)
    os.write(fd, b"still open")
    os.close(fd)
    assert (tmp_path / "theirs").read_bytes() == b"still open"
