"""What replays have noted: which answers stand, and that no altered file is believed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from florc.runtime import answers
from florc.runtime.answers import Answer, Answers, Replay, merged
from florc.runtime.seal import Seal

SEAL, OTHER = Seal(b"a" * 32), Seal(b"b" * 32)


def answer(replay: str, name: str, value: object, epoch: int | None = None, at: int = 0) -> Answer:
    return Answer(at, "train.py", 3, name, value, "", [] if epoch is None else [["epoch", epoch]], replay)


def after(*replays: tuple[str, bool, list[Answer]]) -> Answers:
    found = Answers()
    for name, exact, rows in replays:
        found = merged(found, Replay(name, "now", exact), rows)
    return found


def values(found: Answers) -> list[tuple[str, object]]:
    return [(row.replay, row.value) for row in found.rows]


def test_the_same_replay_again_doubles_nothing():
    rows = [("a", True, [answer("a", "w", 1, 0), answer("a", "w", 2, 1)]),
            ("b", True, [answer("b", "w", 1, 0), answer("b", "w", 2, 1)])]  # fmt: skip
    found = after(*rows)
    assert values(found) == [("b", 1), ("b", 2)]
    assert [replay.id for replay in found.replays] == ["b"]


def test_a_newer_answer_stands_in_its_place_alone():
    found = after(("a", True, [answer("a", "w", 1, 0), answer("a", "w", 2, 1), answer("a", "v", 9, 1)]),
                  ("b", True, [answer("b", "w", 5, 1)]))  # fmt: skip
    assert sorted(values(found)) == [("a", 1), ("a", 9), ("b", 5)]


def test_all_that_one_replay_noted_in_one_place_stands():
    rows = [answer("b", "w", 5, 1), answer("b", "w", 6, 1)]
    assert values(after(("a", True, [answer("a", "w", 1, 1)]), ("b", True, rows))) == [("b", 5), ("b", 6)]


def test_the_workers_of_one_replay_add_up_in_the_order_of_the_run():
    found = after(("a", True, [answer("a", "w", 2, 1, at=9)]), ("a", True, [answer("a", "w", 1, 0, at=4)]),
                  ("a", True, [answer("a", "w", 3, 1, at=9)]))  # fmt: skip
    assert values(found) == [("a", 1), ("a", 2), ("a", 3)]


def test_an_inexact_replay_takes_nothing_away_from_an_exact_one():
    found = after(("a", True, [answer("a", "w", 1, 0)]),
                  ("b", False, [answer("b", "w", 2, 0), answer("b", "w", 3, 1)]))  # fmt: skip
    assert values(found) == [("a", 1), ("b", 3)]
    assert values(after(("b", False, [answer("b", "w", 2)]), ("a", True, [answer("a", "w", 1)]))) == [
        ("a", 1)
    ]
    found = after(("a", True, [answer("a", "w", 1, 0)]), ("a", False, [answer("a", "w", 2, 1)]))
    assert [replay.exact for replay in found.replays] == [False]


ANSWERS = after(
    ("a", True, [answer("a", "w", 0.5, 0), answer("a", "\ud800 ü\n", None), answer("a", "l", [1])])
)


def test_what_is_written_is_read(tmp_path):
    (tmp_path / "run.json").touch()
    assert answers.read(tmp_path, SEAL) == Answers()
    answers.write(tmp_path, SEAL, ANSWERS)
    for seal in (SEAL, None):
        assert answers.read(tmp_path, seal) == ANSWERS
    answers.keep(tmp_path, SEAL, Replay("b", "later", True), [answer("b", "w", 1.5, 0)])
    assert ("b", 1.5) in values(answers.read(tmp_path, SEAL))
    assert sorted(path.name for path in tmp_path.iterdir()) == [answers.NAME, "run.json"]
    assert (tmp_path / answers.NAME).stat().st_mode & 0o777 == 0o600


def test_nothing_of_an_altered_or_foreign_file_is_believed(tmp_path):
    answers.write(tmp_path, SEAL, ANSWERS)
    file: Path = tmp_path / answers.NAME
    sound = file.read_bytes()
    assert answers.read(tmp_path, OTHER).damage and not answers.read(tmp_path, OTHER).rows
    mac = slice(sound.rindex(b"="), sound.rindex(b" "))
    for place in range(len(sound)):
        data = bytearray(sound)
        data[place] ^= 1 << place % 8
        file.write_bytes(data)
        found = answers.read(tmp_path, SEAL)
        whole = found == ANSWERS and place >= mac.stop  # the plain hash is for those who have not the key
        assert whole or (found.damage and not found.rows), place
    for place in range(len(sound)):
        file.write_bytes(sound[:place])
        assert answers.read(tmp_path, SEAL).damage, place


ODD = [["a", "r", -1, "f", 1, "n", 1, "", []], ["a", "none", 0, "f", 1, "n", 1, "", []], ["z"], [], 3,
       ["a", "r", 0, "f", 1, 5, 1, "", []], ["a", "r", 0, "f", 1, "n", 1, "", [["c", []]]],
       ["r", "r", "now", 1]]  # fmt: skip


@pytest.mark.parametrize("event", ODD)
def test_what_is_signed_and_makes_no_sense_is_told(tmp_path, event):
    body = "".join(json.dumps(one) + "\n" for one in (["r", "r", "now", True], event)).encode()
    hashes = f"={SEAL.answers(body)} {answers._check(body)}\n".encode()
    (tmp_path / answers.NAME).write_bytes(body + hashes)
    assert answers.read(tmp_path, SEAL) == Answers(damage=f"{answers.NAME} holds what is no answer")
