"""The walk: numbers, paths in words, contents; what is opaque, what is lost, what counts of a storage."""

from __future__ import annotations

import functools
import marshal
import threading
from typing import Any

import pytest

from florc.runtime.graph import Base, Walk, edge_text, follow_all, live_base
from florc.runtime.roots import Namespace, Root


def no_project(name: str) -> bool:
    return False


def root(**names: Any) -> Root:
    return Root(names, [])


def walked(at: Root, base: Base | None = None) -> Walk:
    return Walk(at, base, no_project).run()


def paths(walk: Walk) -> dict[str, int]:
    """Every node's path in words -> its number."""
    count = walk.first_new + len(walk.new_objects)
    return {walk.path(number): number for number in range(1, count)}


class Box:
    """An object with attributes."""

    def __init__(self, **values: Any) -> None:
        vars(self).update(values)


# -- paths ----------------------------------------------------------------------------------------
PATHS: dict[str, tuple[Any, str]] = {
    "a list in a dict in an object": (lambda x: Box(log={"a": [0, x]}), "v.log['a'][1]"),
    "a dict's value under a tuple": (lambda x: {(1, 2): x}, "v[0]"),
    "an integer key": (lambda x: {7: x}, "v[7]"),
    "an attribute of an attribute": (lambda x: Box(a=Box(b=x)), "v.a.b"),
    "in a tuple": (lambda x: (1, (x,)), "v[1][0]"),
    "a default of a partial object": (lambda x: functools.partial(print, x), "v.args[0]"),
}


@pytest.mark.parametrize(("make", "words"), PATHS.values(), ids=PATHS)
def test_a_path_reads_as_a_user_would_write_it(make, words):
    thing = ["the thing"]
    walk = walked(root(v=make(thing)))
    assert walk.object(paths(walk)[words]) is thing


def test_names_of_modules_are_written_with_their_module():
    space, main = Namespace("pkg.cfg", {"steps": [1]}), Namespace("__main__", {"top": [2]})
    walk = walked(Root({"local": [3]}, [space, main]))
    assert {"pkg.cfg.steps", "top", "local"} <= set(paths(walk))


@pytest.mark.parametrize(
    ("edge", "words"),
    [(("a", "x"), ".x"), (("d", "k"), "['k']"), (("k", 3), "[3]"), (("ns", "m"), ""), (("st",), "")],
)
def test_a_step_in_words(edge, words):
    assert edge_text(edge) == words


# -- numbers ----------------------------------------------------------------------------------------
def test_one_object_is_one_node_however_often_it_is_found():
    shared: list[Any] = []
    shared.append(shared)
    walk = walked(root(a=shared, b=[shared], c={"x": shared}))
    assert sum(walk.object(number) is shared for number in paths(walk).values()) == 1


def test_a_later_walk_gives_entry_objects_their_numbers_and_new_ones_higher_ones():
    kept = [1]
    names: dict[str, Any] = {"a": [[2]], "b": {}}
    names["b"] = {"k": kept}
    first = walked(root(**names))
    base = first.as_base()
    before = {number: first.object(number) for number in paths(first).values()}
    names = {"z": names["b"], "a": [[3]], "n": names["a"]}
    later = walked(root(**names), base)
    for number, obj in before.items():
        assert later.object(number) is obj
    assert all(number >= len(base.objects) for path, number in paths(later).items() if path == "a[0]")
    assert later.object(paths(later)["a[0]"]) == [3]


def test_only_changed_contents_are_in_a_checkpoint():
    names: dict[str, Any] = {"same": [1, [2]], "grows": [3], "d": {"k": 1.5}}
    base = walked(root(**names)).as_base()
    assert walked(root(**names), base).changed() == {}
    names["grows"].append([4])
    changed = walked(root(**names), base)
    assert {changed.path(number) for number in changed.changed()} == {"grows", "grows[1]"}


SENSITIVE: dict[str, tuple[Any, Any]] = {
    "int and bool": ([1], [True]),
    "int and float": ([1], [1.0]),
    "zero and minus zero": ([0.0], [-0.0]),
    "the order of a dict": ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    "a key of another type": ({1: 0}, {1.0: 0}),
    "list and tuple": ([1], (1,)),
    "text and bytes": ("a", b"a"),
}


@pytest.mark.parametrize(("left", "right"), SENSITIVE.values(), ids=SENSITIVE)
def test_contents_tell_apart_what_equality_does_not(left, right):
    assert walked(root(v=left)).contents != walked(root(v=right)).contents


def test_equal_states_have_equal_contents_whoever_shares_the_plain_values():
    text = "".join(["a", "b" * 50])
    shared = walked(root(v=[text, text, 10**30])).contents
    apart = walked(root(v=[text, "a" + "b" * 50, int("1" + "0" * 30)])).contents
    assert shared == apart


def test_an_integer_key_that_is_an_objects_id_is_that_object():
    def state() -> Root:
        owner = Box()
        return root(owner=owner, states={id(owner): "ready"})

    one, two = state(), state()
    assert one.frame["states"] != two.frame["states"]
    assert walked(one).contents == walked(two).contents


def test_a_large_integer_key_that_is_nobodys_id_is_a_number():
    assert walked(root(d={2**61 + 1: 0})).contents != walked(root(d={2**61 + 3: 0})).contents


# -- what cannot be seen or made ------------------------------------------------------------------
def hidden_iterator() -> Any:
    """An object of a C type that neither pickles nor tells what it holds."""
    return memoryview(bytearray(b"abc"))


def told(found: list[tuple[int, str]], walk: Walk) -> list[str]:
    return [walk.path(number) for number, _ in found]


def test_what_was_there_and_cannot_be_looked_into_is_opaque():
    names = {"view": hidden_iterator()}
    base = walked(root(**names)).as_base()
    later = walked(root(**names), base)
    assert told(later.opaque, later) == ["view"]
    assert later.lost == []


def test_what_is_new_and_cannot_be_made_again_is_lost():
    names: dict[str, Any] = {"items": []}
    base = walked(root(**names)).as_base()
    names["items"].append(i for i in range(3))
    names["view"] = hidden_iterator()
    later = walked(root(**names), base)
    assert later.opaque == []
    assert sorted(told(later.lost, later)) == ["items[0]", "view"]


def test_locks_that_were_there_are_neither():
    names = {"lock": threading.Lock()}
    base = walked(root(**names)).as_base()
    later = walked(root(**names), base)
    assert (later.opaque, later.lost) == ([], [])


# -- following recorded paths -----------------------------------------------------------------------
def test_where_the_walk_meets_more_the_recorded_numbers_hold():
    """A replayed program has the probes' objects as well; what the record knew keeps its numbers."""
    first = walked(root(a=[1], c=[[2]]))
    base, walk = live_base(first.as_base().packed(), root(a=[1], b=["a probe's"], c=[[2]]), no_project)
    assert base.objects[1:] == [[1], [[2]], [2]]
    assert all(walk.contents[number] == first.contents[number] for number in (1, 2, 3))


def test_recorded_paths_lead_to_the_live_objects():
    recorded = walked(root(a=Box(items=[[1], {"k": [2]}]), b=([3],))).as_base()
    fresh = root(a=Box(items=[[1], {"k": [2]}]), b=([3],))
    base, walk = live_base(recorded.packed(), fresh, no_project)
    assert walk.contents.keys() == set(range(len(recorded.objects)))
    items = fresh.frame["a"].items
    live = {id(obj) for obj in base.objects}
    assert {id(items), id(items[0]), id(items[1]["k"]), id(fresh.frame["b"][0])} <= live
    assert walked(fresh, base).changed() == {}


def test_a_path_that_leads_nowhere_gives_none_and_so_do_those_behind_it():
    recorded = walked(root(a={"gone": [[1]]}, b=[2])).as_base()
    found = follow_all(recorded.parents, recorded.edges, root(a={}, b=[2]))
    missing = {recorded.path(number) for number, obj in enumerate(found) if obj is None}
    assert missing == {"a['gone']", "a['gone'][0]"}


def test_only_names_that_the_record_knew_are_looked_at():
    allowed = {"": frozenset({"a", "b"}), "m": frozenset({"x"})}
    at = Root({"a": [1], "probe": [2]}, [Namespace("m", {"x": [3], "y": [4]})], allowed)
    assert {"a", "m.x"} <= set(paths(walked(at)))
    assert not {"probe", "m.y"} & set(paths(walked(at)))


def test_names_of_python_and_of_florc_are_no_state():
    at = Root({"_florc_0": [1], "kept": [1]}, [Namespace("m", {"__doc__": [2], "_florc": [3]})])
    assert "kept" in paths(walked(at))
    assert not {"_florc_0", "m.__doc__", "m._florc"} & set(paths(walked(at)))


# -- tensors ------------------------------------------------------------------------------------------
def storages(walk: Walk) -> list[Any]:
    loaded = [marshal.loads(content) for content in walk.contents.values()]
    return [content for content in loaded if content[0] == "storage"]


def test_of_a_storage_only_what_tensors_show_is_compared():
    torch = pytest.importorskip("torch")

    def state(scratch: float) -> Root:
        whole = torch.tensor([1.0, 2.0, scratch, scratch])
        return root(view=whole[:2])

    one, two = walked(state(8.0)), walked(state(9.0))
    assert one.contents == two.contents
    ((_, size, _, start, data),) = storages(one)
    assert (size, start, len(data)) == (16, 0, 8)


def test_two_views_of_a_storage_show_all_that_lies_between_them():
    torch = pytest.importorskip("torch")
    whole = torch.arange(8, dtype=torch.uint8)
    walk = walked(root(a=whole[1:3], b=[[[whole[5:6]]]]))
    ((_, _, _, start, data),) = storages(walk)
    assert (start, data) == (1, bytes(range(1, 6)))


def test_tied_tensors_have_one_storage_and_equal_ones_two():
    torch = pytest.importorskip("torch")
    one = torch.ones(4)
    assert len(storages(walked(root(a=one, b=one.view(2, 2), c=one)))) == 1
    assert len(storages(walked(root(a=one, b=one.clone())))) == 2


def test_large_storages_stand_in_a_content_by_their_hash():
    torch = pytest.importorskip("torch")
    walk = walked(root(a=torch.arange(4096.0)))
    ((*_, key),) = storages(walk)
    assert bytes(walk.blobs[key].get()) == torch.arange(4096.0).numpy().tobytes()
