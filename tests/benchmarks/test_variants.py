"""What the benchmarks make of a workload's text, and how they judge what it printed."""

import ast

import pytest

from benchmarks import catalog, checking, variants
from benchmarks.catalog import ALL

NAMES = ("plain", "manual", "outer", "truth", "floor", "load")


@pytest.mark.parametrize("workload", ALL, ids=lambda workload: workload.name)
def test_every_variant_of_a_workload_is_a_program(workload):
    for name in (*NAMES, "inner") if workload.inner else NAMES:
        text = variants.script(workload, name)
        ast.parse(text)
        assert "# [" not in text, f"{name}: marks of places are taken out"


@pytest.mark.parametrize("workload", ALL, ids=lambda workload: workload.name)
def test_a_plain_variant_is_the_workload_and_a_probed_one_has_one_line_more(workload):
    plain = variants.script(workload, "plain").splitlines()
    assert not any("florc" in line or line.startswith("import touched") for line in plain)
    probed = variants.script(workload, "outer").splitlines()
    assert [line for line in probed if line not in plain] == [
        line for line in probed if line.strip() == variants.outer_probe(workload)]
    assert len(probed) == len(plain) + 1


def test_a_place_that_is_not_there_is_told():
    with pytest.raises(variants.MissingPlace, match="epoch end"):
        variants.fill("for x in y:\n    pass\n", "epoch end", "f()")


def test_iterations_are_read_from_the_script():
    assert catalog.BY_NAME["flat_steps"].iterations == 20_000


TRUTH = "start\n| inner 1\n| inner 2\n| outer a\n| inner 3\nepoch\n| outer b\n"


def test_inner_lines_belong_to_the_iteration_that_the_outer_line_ends():
    assert checking.iteration(TRUTH, 0, True) == ["| inner 1", "| inner 2"]
    assert checking.iteration(TRUTH, 1, True) == ["| inner 3"]
    assert checking.iteration(TRUTH, 2, False) == ["| inner 3"]


@pytest.mark.parametrize(("out", "wrong"), [
    ("| outer a\n| outer b\n", 0),
    ("noise\n| outer a\nnoise\n| outer b\n", 0),
    ("| outer a\n| outer c\n", 1),
    ("| outer b\n", 2),
    ("", 2),
])
def test_values_count_wrong_and_missing_lines(out, wrong):
    verdict = checking.values(out, ["| outer a", "| outer b"], variants.OUTER)
    assert (verdict.wrong, verdict.wanted) == (wrong, 2)


def test_more_values_than_wanted_are_not_right():
    verdict = checking.values("| outer a\n| outer a\n", ["| outer a"], variants.OUTER)
    assert not verdict.right
    assert "2 lines, not 1" in verdict.note


@pytest.mark.parametrize(("out", "right"), [
    ("a\nb\n", True), ("a\nb", False), ("a\n", False), ("a\nc\n", False)])
def test_whole_output_is_right_only_byte_for_byte(out, right):
    assert checking.whole(out, "a\nb\n").right is right
