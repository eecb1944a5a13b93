"""Differential fuzzing in small: a few generated programs against plain Python, and those that once failed.

`make fuzz MINUTES=60` does the same at length (see `campaign`). A program that fails there is made small and
becomes a file of tests/fuzz/corpus.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from tests.warm import NUMPY, TORCH, Warm

from .oracle import REFUSED, RESTARTED, RIGHT, TOLD, VOID, WRONG, check
from .probing import Prober
from .programs import ProgramMaker
from .text import EDITED, MARKED, RECORDED, TRUTH, Program, is_sample, of_iterations, of_probes, parse

pytestmark = pytest.mark.program

CORPUS = sorted(Path(__file__).with_name("corpus").glob("*.txt"))  # nothing is lost where there are none yet
EXAMPLES = 6  # two seconds each, ten on a machine with ten times too much to do
FIXED_SEED = 20  # the same programs in every run: what is found at random belongs to `make fuzz`


class Servers:
    """Warm servers, started when first asked for."""

    def __init__(self) -> None:
        self._started: dict[bool, Warm] = {}

    def of(self, program: Program) -> Warm:
        torch = program.needs_torch
        if torch not in self._started:
            self._started[torch] = Warm(TORCH if torch else NUMPY)
        return self._started[torch]

    def close(self) -> None:
        for server in self._started.values():
            server.close()


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    started = Servers()
    yield started
    started.close()


def faults(program: Program, servers: Servers, folder: Path) -> list[str]:
    verdicts = check(program, servers.of(program), folder)
    return [f"{one.options}: {one.why}\n{one.detail}" for one in verdicts if one.outcome == WRONG]


@seed(FIXED_SEED)
@settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(rng=st.randoms(use_true_random=False))
def test_a_generated_program_replays_as_plain_python_or_says_why_not(
    rng: random.Random, servers: Servers, tmp_path_factory: pytest.TempPathFactory
) -> None:
    maker = ProgramMaker(rng)
    maker.make()
    program = Prober(rng, maker).program(("--overhead", "1", "--audit", "off"))
    assert not faults(program, servers, tmp_path_factory.mktemp("fuzz")), program.text()


@pytest.mark.parametrize("file", CORPUS, ids=[file.stem for file in CORPUS])
def test_a_program_that_once_failed_is_right(file: Path, servers: Servers, tmp_path: Path) -> None:
    """`# expect: WORD...` in a file's head says which outcomes it may have; by default right alone."""
    text = file.read_text()
    program = parse(text)
    head = next((line for line in text.splitlines() if line.startswith("# expect:")), f"# expect: {RIGHT}")
    allowed = set(head.removeprefix("# expect:").split())
    assert allowed <= {RIGHT, RESTARTED, TOLD, REFUSED}
    verdicts = check(program, servers.of(program), tmp_path)
    assert {one.outcome for one in verdicts} <= allowed, [(one.why, one.detail) for one in verdicts]


def test_the_same_seed_gives_the_same_program() -> None:
    first, second = (_program(7) for _ in range(2))
    assert first == second


def _program(number: int) -> Program:
    rng = random.Random(number)
    maker = ProgramMaker(rng)
    maker.make()
    return Prober(rng, maker).program(())


def test_programs_and_their_probed_versions_parse_and_survive_being_written() -> None:
    for number in range(40):
        program = _program(number)
        assert parse(program.text()) == program
        for version in (RECORDED, EDITED, TRUTH):
            for name, text in program.files(version).items():
                compile(text, name, "exec")


def test_the_versions_that_tell_the_truth_have_the_line_numbers_of_the_edited_one() -> None:
    lines = ("for k in f():", "    print(TOP)  #@", "    probe(k)  #+", "    undo()  #=", "    print(k)")
    program = Program(lines)
    found = [program.files(one)["train.py"].splitlines() for one in (RECORDED, EDITED, TRUTH, MARKED)]
    assert [len(lines) for lines in found] == [2, 5, 5, 5]
    assert [[number for number, line in enumerate(lines) if line] for lines in found] == [
        [0, 1], [0, 2, 4], [0, 2, 3, 4], [0, 1, 2, 3, 4]]


def test_an_oracle_that_sees_a_wrong_replay_says_so(servers: Servers, tmp_path: Path) -> None:
    """The truth prints a line that no replay can print: the check can fail."""
    program = Program(("print(1)", "print(2)  #=", "print('<P', 3, 'P>')  #+"))
    (verdict,) = check(program, servers.of(program), tmp_path)
    assert verdict.outcome == WRONG
    assert "line 2" in verdict.detail


def test_an_oracle_says_void_of_a_program_that_is_none(servers: Servers, tmp_path: Path) -> None:
    program = Program(("print(1", "print(2)"))
    assert [one.outcome for one in check(program, servers.of(program), tmp_path)] == [VOID]


def test_what_probes_print_and_what_iterations_print_is_cut_out_of_the_truth() -> None:
    text = "a\n\x01\nb <P 1 P>\n\x01\nc<P 2\n3 P>\n\x02d\n"
    assert of_probes(text) == "<P 1 P>\n<P 2\n3 P>\n"
    assert [of_iterations(text, spec) for spec in ("0", "-1", "0:2", "5")] == [
        "b <P 1 P>\n", "c<P 2\n3 P>\n", "b <P 1 P>\nc<P 2\n3 P>\n", None]
    assert of_iterations("\x01\nb\n", "0") is None


def test_a_sample_is_some_iterations_in_their_order_and_all_in_which_a_probe_spoke_where_all_may_be() -> None:
    parts = ["a\n", "b <P 1 P>\n", "", "c\n"]
    for text in ("a\nc\n", "b <P 1 P>\n", "", "b <P 1 P>\nc\n"):
        assert is_sample(text, parts, 2)
    for text in ("a\nb <P 1 P>\nc\n", "c\na\n", "b\n", "a\na\n"):
        assert not is_sample(text, parts, 2)
    assert is_sample("b <P 1 P>\n", parts, 9)
    assert not is_sample("a\n", parts, 9)


def test_a_good_share_of_the_probes_are_conditions_over_names_in_sight() -> None:
    tests = [test for number in range(60) for test in _added_tests(_program(number))]
    assert len(tests) > 60
    assert sum("florc.log(" in line for number in range(60) for line in _program(number).lines) > 6
    assert sum(bool(re.search(r"\b(epoch|i|x)\d+\b", test)) for test in tests) > len(tests) / 2


def _added_tests(program: Program) -> list[str]:
    return [line for line in program.lines if line.lstrip().startswith("if ") and line.endswith("#+")]
