"""What is written into a workload for another recorder."""

import ast

import pytest

from benchmarks import catalog, variants
from benchmarks.peers import BY_NAME, PEERS
from benchmarks.peers.peer import in_context, wrap_loop

ARGS = ("--epochs", "3")


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
@pytest.mark.parametrize("workload", catalog.PAPER, ids=lambda workload: workload.name)
def test_a_workload_is_a_program_for_every_recorder(workload, peer):
    for probed in (False, True):
        text = peer.script(workload, ARGS, probed)
        ast.parse(text)
        assert "# [" not in text
        assert (variants.outer_probe(workload) in text) is probed
        assert "parser.parse_args(['--epochs', '3'])" in text, "the recorders read sys.argv themselves"


def test_a_loop_is_wrapped_where_it_is_marked():
    text = "for a in b:\n    pass\nfor i, x in enumerate(f(y)):  # [step loop]\n    pass\n"
    assert wrap_loop(text, "step loop", "g(", ")") == text.replace("enumerate(f(y))", "g(enumerate(f(y)))")
    with pytest.raises(variants.MissingPlace):
        wrap_loop(text, "epoch loop", "g(", ")")


def test_a_context_holds_the_main_loop_alone():
    before, after = "def main():\n    a()\n", "    # [loop end]\n    c()\n"
    text = f"{before}    # [loop begin]\n    for x in y:\n\n        b()\n{after}"
    wrapped = "    with m():\n        for x in y:\n\n            b()\n"
    assert in_context(text, "m()") == before + wrapped + after


def test_a_replay_asks_for_all_epochs():
    assert BY_NAME["flordb 3.4.12"].replay(3) == ("--replay_flor", "outer", "epoch=0,1,2,")
