"""Objects whose end a program can see are known to a guard, not held."""

from __future__ import annotations

import weakref
from pathlib import Path
from typing import Any

import pytest

from florc.runtime.graph import Walk
from florc.runtime.lives import Loose, loosely
from florc.runtime.roots import Root


class Plain:
    pass


class Noisy:
    def __del__(self) -> None:
        ended.append(self)


ended: list[Any] = []


def base_of(frame: dict[str, Any]) -> Any:
    walk = Walk(Root(frame, []), None, lambda module: module == __name__).run()
    base = walk.as_base()
    base.loosen(walk)
    return base


def suspended() -> Any:
    try:
        yield 1
    finally:
        ended.append("closed")


def test_an_object_with_a_finalizer_ends_when_its_name_is_bound_anew() -> None:
    ended.clear()
    frame = {"x": Noisy(), "boxed": [{"deep": (Noisy(),)}]}
    base = base_of(frame)
    frame["x"] = frame["boxed"] = None
    assert len(ended) == 2
    assert base.loose


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_suspended_generator_and_a_file_end_too(tmp_path: Path) -> None:
    ended.clear()
    generator = suspended()
    next(generator)
    stream = open(tmp_path / "a", "w")  # noqa: SIM115  (nobody closes it)
    stream.write("text")
    frame = {"g": generator, "f": [stream]}
    base_of(frame)
    del generator, stream
    frame.clear()
    assert ended == ["closed"]
    assert (tmp_path / "a").read_text() == "text"


def test_an_object_that_is_referred_to_weakly_ends() -> None:
    obj = Plain()
    ref = weakref.ref(obj)
    frame = {"x": [obj]}
    base = base_of(frame)
    del obj
    assert ref() is not None
    frame.clear()
    assert ref() is None
    del base


def test_other_objects_are_held_so_that_no_new_one_takes_their_id() -> None:
    frame: dict[str, Any] = {"x": [[1]], "y": Plain()}
    base = base_of(frame)
    kept = {id(frame["x"]), id(frame["x"][0]), id(frame["y"])}
    frame.clear()
    assert not base.loose
    assert kept <= {id(obj) for obj in base.objects}


def test_a_loose_object_is_known_again_and_another_is_not() -> None:
    first, second = Noisy(), Noisy()
    base = base_of({"x": first})
    assert base.number(first) == 1
    assert base.number(second) is None
    loose = Loose(first)
    assert loose.sure
    assert loose.may_be(first)
    assert not loose.may_be(second)


def test_a_list_that_holds_a_watched_object_counts_as_new_with_a_hint() -> None:
    """No list can be told from another that has got its id: the hint alone says which one it may be."""
    frame = {"x": [Noisy()], "y": {"k": [1]}}
    base = base_of(frame)
    walk = Walk(Root(frame, []), base, lambda module: module == __name__).run()
    number = base.index[id(frame["x"])]
    assert base.number(frame["x"]) is None
    assert list(walk.hints.values()) == [number]
    assert base.number(frame["y"]) is not None
    assert not Loose([]).sure
    assert not Loose([]).may_be({})


def test_an_iterator_is_held_and_florcs_own_references_watch_nothing() -> None:
    noisy, plain = Noisy(), Plain()
    kept = Loose(plain)
    objects = [None, iter([noisy]), noisy, plain]
    assert set(loosely(objects, [(0, 1), (1, 2), (0, 3)])) == {2}
    assert kept.may_be(plain)


def test_what_leads_to_a_watched_object_is_loose_and_its_class_is_not() -> None:
    noisy = Noisy()
    objects = [None, [noisy], noisy, Noisy, [1]]
    found = loosely(objects, [(0, 1), (1, 2), (2, 3), (0, 3), (0, 4)])
    assert set(found) == {1, 2}
