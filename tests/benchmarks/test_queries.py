"""The questions asked of a recorded run: their lines, their right answers, the table."""

import ast

from benchmarks import queries
from benchmarks.queries import ALL_STEPS, AT_EPOCH, AT_STEP, TWO, Outcome
from benchmarks.variants import INNER, OUTER

STEPS = 20


def epoch(number):
    steps = "".join(f"| inner {number} {step}\n" for step in range(STEPS))
    return f"{steps}| rare {number}\n| outer {number}\nepoch\n"


TRUTH = "start\n" + "".join(map(epoch, range(AT_EPOCH + 2)))


def test_every_question_is_a_program_with_its_line_and_the_truth_has_all_lines():
    texts = [query.text for query in queries.queries()]
    for text in (*texts, queries.truth_text()):
        ast.parse(text)
        assert "# [" not in text
    for probe in (OUTER, INNER, queries.RARE):
        assert probe in queries.truth_text() and any(probe in text for text in texts)


def test_an_answer_is_what_the_script_prints_with_that_line_alone():
    found = {query.name: query.answer(TRUTH) for query in queries.queries()}
    assert found["a line in one step of one epoch"] == f"| inner {AT_EPOCH} {AT_STEP}\n"
    assert found[ALL_STEPS] == found[ALL_STEPS + TWO]
    assert found[ALL_STEPS].count("| inner") == STEPS * (AT_EPOCH + 2)
    assert "| outer" not in found[ALL_STEPS] and "epoch\n" in found[ALL_STEPS]


def test_the_table_tells_wrong_values_and_what_a_second_worker_gains():
    found = {name: [Outcome(seconds, 12.0, 40, 80, right)]
             for name, seconds, right in ((ALL_STEPS, 10.0, True), (ALL_STEPS + TWO, 5.0, False))}
    text = queries.page(40, [20.0], found)
    assert "| 10.0 | 2.0 | 12.0 | 1.20 | right |" in text
    assert "| 5.0 | 4.0 | 12.0 | 2.40 | WRONG |" in text
    assert "2.00 times as quick" in text
