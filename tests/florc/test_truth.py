"""What a line says of a condition, and when a statement says something else than before."""

from __future__ import annotations

import pytest

from florc.plans.truth import Line, at_first, truth, turned

HERE, THERE = ("train.py", 12), ("train.py", 30)


@pytest.mark.parametrize(
    ("text", "word", "says"),
    [
        ("True", "True", "True"),
        ("epoch 3 exploded: False", "False", "False"),
        ("loss nan", "nan", "not a number"),
        ("loss -nan", "-nan", "not a number"),
        ("loss: 0.25", "0.25", "a number"),
        ("norm=inf", "norm=inf", "norm=inf"),
        ("norm inf", "inf", "infinite"),
        ("dead units: 0", "0", "zero"),
        ("0.0", "0.0", "zero"),
        ("-1e-3.", "-1e-3", "a number"),
        ("tensor(nan)", "nan", "not a number"),
        ("loss tensor(0.6931, grad_fn=<MeanBackward0>)", "0.6931", "a number"),
        ("tensor(False, device='cuda:0')", "False", "False"),
        ("(1, 2)", "2", "a number"),
        ("phase 'warm'", "warm", "warm"),
        ("", "", ""),
        ("   ", "", ""),
    ],
)
def test_the_last_word_is_read(text, word, says):
    line = Line(HERE, text)
    assert (line.word, truth(line.word)) == (word, says)


@pytest.mark.parametrize(
    ("before", "lines", "which"),
    [
        (["False"], ["False"], None),
        (["False"], ["True"], 0),
        (["0.5"], ["0.4", "0.3"], None),
        (["0.5"], ["0.4", "nan"], 1),
        (["False", "True"], ["False", "False"], None),  # what it said first is what counts
        ([], ["loss is nan"], 0),  # `if loss.isnan(): print(...)`
        (["False"], [], None),  # it may speak at every tenth step
    ],
)
def test_a_statement_turns_when_it_says_something_else(before, lines, which):
    said = [Line(HERE, text) for text in lines]
    found = turned(said, at_first(Line(HERE, text) for text in before))
    assert found == (None if which is None else said[which])


def test_each_statement_is_held_against_itself():
    before = at_first([Line(HERE, "False"), Line(THERE, "0.5")])
    assert turned([Line(HERE, "False"), Line(THERE, "0.25")], before) is None
    assert turned([Line(HERE, "False"), Line(THERE, "nan")], before) == Line(THERE, "nan")
