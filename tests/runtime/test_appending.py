"""Files of a run that only grow: nothing of them gets into the program's own files."""

from __future__ import annotations

import errno
import os

import pytest

from florc.runtime.appending import RESERVE_BYTES, Appender, Reserve


def descriptor(appender: Appender) -> int:
    return appender._fd


def test_what_is_written_is_appended(tmp_path):
    file = Appender(tmp_path / "file")
    file.write(b"one ")
    file.write(memoryview(b"two"))
    assert (tmp_path / "file").read_bytes() == b"one two" and file.size() == 7
    file.truncate(3)
    file.write(b"!")
    file.sync()
    file.close()
    assert (tmp_path / "file").read_bytes() == b"one!"


def test_a_descriptor_that_the_program_closed_is_opened_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = Appender(tmp_path.relative_to(tmp_path) / "file")
    os.close(descriptor(file))
    monkeypatch.chdir("/")
    file.write(b"text")
    file.close()
    assert (tmp_path / "file").read_bytes() == b"text"


@pytest.mark.parametrize("use", ["write", "truncate", "close"])
def test_the_programs_file_under_the_same_number_is_left_alone(tmp_path, use):
    file = Appender(tmp_path / "file")
    theirs = os.open(tmp_path / "theirs", os.O_RDWR | os.O_CREAT)
    os.write(theirs, b"precious")
    os.dup2(theirs, descriptor(file))
    taken = descriptor(file)
    {"write": lambda: file.write(b"text"), "truncate": lambda: file.truncate(0), "close": file.close}[use]()
    assert (tmp_path / "theirs").read_bytes() == b"precious"
    assert os.path.samestat(os.fstat(taken), os.fstat(theirs))
    assert (tmp_path / "file").read_bytes() == (b"text" if use == "write" else b"")
    os.close(taken)
    os.close(theirs)


def test_a_file_that_was_replaced_is_not_written_to(tmp_path):
    file = Appender(tmp_path / "file")
    (tmp_path / "file").unlink()
    (tmp_path / "file").write_text("another")
    os.close(descriptor(file))
    with pytest.raises(OSError) as caught:
        file.write(b"text")
    assert caught.value.errno == errno.ESTALE
    assert (tmp_path / "file").read_text() == "another"


def test_a_file_that_must_be_new_is(tmp_path):
    Appender(tmp_path / "file").close()
    with pytest.raises(FileExistsError):
        Appender(tmp_path / "file", os.O_EXCL)


def test_a_reserve_holds_room_without_a_name_until_it_is_released(tmp_path):
    reserve = Reserve(tmp_path)
    assert reserve._fd is not None and not list(tmp_path.iterdir())
    assert os.fstat(reserve._fd).st_blocks * 512 >= RESERVE_BYTES
    fd = reserve._fd
    reserve.release()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(fd)
    reserve.release()


def test_a_reserve_whose_number_is_anothers_is_not_closed(tmp_path):
    reserve = Reserve(tmp_path)
    theirs = os.open(tmp_path / "theirs", os.O_RDWR | os.O_CREAT)
    assert reserve._fd is not None
    taken = os.dup2(theirs, reserve._fd)
    reserve.release()
    os.fstat(taken)
    os.close(taken)
    os.close(theirs)


def test_no_room_at_all_is_no_error(tmp_path):
    Reserve(tmp_path / "nowhere").release()
