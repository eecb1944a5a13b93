"""Figures from rows: paired ratios, medians and their spread, what failed."""

import json

import pytest

from benchmarks import figures, florc_runs, report, svg


def row(variant, pair=0, *, loop=10.0, in_loop=9.0, step="record", workload="masked_lm", **more):
    return {"workload": workload, "variant": variant, "step": step, "pair": pair, "code": 0, "cpu": loop + 2,
            "wall": loop + 2, "start_cpu": 2.0, "loop_cpu": loop, "loop_wall": loop, "cpu_in_loop": in_loop,
            "wall_in_loop": in_loop, "main_in_loop": in_loop, "memory": [], **more}


def test_an_overhead_is_what_is_used_more_than_the_plain_run_of_the_pair_over_its_loop():
    rows = [row("plain", 0, loop=11, in_loop=10), row("florc", 0, loop=11.5),
            row("plain", 1, loop=21, in_loop=20), row("florc", 1, loop=23), row("florc", 2, loop=99)]
    assert figures.overheads(rows[:2], "masked_lm", "florc") == pytest.approx([0.05])


def test_two_pairs_whose_runs_changed_cores_give_one_overhead():
    rows = [row("plain", number, in_loop=10) for number in range(3)]
    rows += [row("florc", 0, loop=9.5), row("florc", 1, loop=10.7), row("florc", 2, loop=10.1)]
    assert figures.overheads(rows, "masked_lm", "florc") == pytest.approx([0.01, 0.01])
    rows[-2]["code"] = 1  # a run that failed leaves the other of its two alone
    assert figures.overheads(rows, "masked_lm", "florc") == pytest.approx([-0.05, 0.01])


def test_failed_runs_give_no_figures():
    rows = [row("plain"), row("florc", code=1)]
    assert figures.overheads(rows, "masked_lm", "florc") == []
    assert figures.wrongs(rows, "masked_lm", "florc", "record") == "exit 1"


def test_wrong_values_are_counted():
    rows = [row("florc", step="outer", wrong=0, wanted=8, note=""),
            row("florc", 1, step="outer", wrong=3, wanted=8, note="")]
    assert figures.wrongs(rows, "masked_lm", "florc", "outer") == "WRONG 3/8"
    assert figures.wrongs(rows[:1], "masked_lm", "florc", "outer") == ""


def test_a_spread_holds_its_median_and_is_the_same_every_time():
    found = figures.spread([0.01, 0.02, 0.03, 0.10])
    assert found is not None
    assert found == figures.spread([0.01, 0.02, 0.03, 0.10])
    assert found.low <= found.median == 0.025 <= found.high
    assert found.low >= 0.01 and found.high <= 0.10
    assert figures.spread([]) is None


def test_the_geometric_mean_is_of_medians_and_lies_in_its_interval():
    found = figures.geometric_mean([[0.0, 0.1, 0.2], [0.0, 0.0], []])
    assert found is not None
    assert found.median == pytest.approx(1.1 ** 0.5 - 1)
    assert found.low == pytest.approx(0.0) and found.high == pytest.approx(1.2 ** 0.5 - 1)
    assert figures.geometric_mean([[], []]) is None


def test_a_stall_is_seconds_a_gigabyte():
    rows = [row("plain", step="stall", workload="stall", in_loop=1.0, loop=1.5, waits=[0.01, 0.02]),
            row("florc dense", step="stall", workload="stall", in_loop=1.5, loop=3.5, states=10,
                waits=[0.05, 0.03])]
    found = figures.stall(rows, bytes_each=100e6)
    assert found is not None
    assert (found.wall, found.main_cpu, found.all_cpu) == pytest.approx((0.5, 0.5, 2.0))
    assert (found.one_wall, found.one_cpu) == pytest.approx((0.4, 0.1))


@pytest.mark.parametrize(("text", "kept"), [
    ('{"loops": [{"checkpoints": 3}, {"checkpoints": 12}]}', florc_runs.Kept(15, 12)),
    ('{"loops": []}', florc_runs.Kept(0, 0)),
    ("", None),
    ('{"loops": [{}]}', None),
])
def test_checkpoints_are_counted_as_florc_tells_them(text, kept):
    assert florc_runs.kept(text) == kept


def test_bars_end_at_the_axis_and_keep_their_figures():
    groups = [("w", [svg.Bar(5.0, "500 %")]), ("v", [svg.Bar(None, "WRONG 1/2")])]
    text = svg.bars("a < b", ["one"], groups, 1.0)
    assert "a &lt; b" in text and "500 %" in text and "WRONG 1/2" in text
    assert f'width="{svg._PLOT:.1f}"' in text


def test_a_report_tells_of_wrong_values_and_of_a_quick_look(tmp_path, monkeypatch):
    about = {"started": 0.0, "command": "c", "florc": "f", "cores": 2, "cpu": "p", "memory_gb": 8.0,
             "system": "s", "python": "3", "torch": "2", "numpy": "2", "load_before": 0.0, "pairs": 1,
             "quick": True, "memory_seconds_per_gb": {"read": 0.08, "copy": 0.12}}
    rows = [row("plain"), row("florc", loop=11.0, stored=30e6, checkpoints=2, states=2),
            row("manual", stored=40e6, checkpoints=2),
            row("florc", step="outer", wrong=1, wanted=8, note="", executed=0)]
    file = tmp_path / "results.json"
    file.write_text(json.dumps({"about": about, "rows": rows}))
    monkeypatch.setattr(report, "BENCH", tmp_path)
    assert report.main([str(file)]) == 0
    text = (tmp_path / "quick" / "results.md").read_text()
    assert "WRONG 1/8" in text and "not figures to quote" in text
    assert "| masked_lm | 9.0 | 20.0 | 11.1 % | 11.1 % | 2 | 2 | 30.0 | 0.75 |" in text
    assert "WRONG 1/8" in (tmp_path / "quick" / "replay.svg").read_text()


def results(rows, **about):
    same = dict.fromkeys(report.SAME, "x")
    known = {"command": "a", "load_before": 0.1, "quick": False, "took": 60.0}
    return {"about": {**same, **known, **about}, "rows": rows}


def test_results_of_one_campaign_in_parts_are_joined_and_those_of_other_machines_are_not():
    one, two = results([row("plain")]), results([row("florc")], command="b", load_before=0.4)
    whole = report.joined([one, two])
    assert [found["variant"] for found in whole["rows"]] == ["plain", "florc"]
    about = whole["about"]
    assert (about["command"], about["load_before"], about["took"]) == ("a`, `b", 0.4, 120.0)
    with pytest.raises(ValueError, match="cpu is x and another"):
        report.joined([one, results([], cpu="another")])


def test_of_another_commit_only_other_recorders_and_saving_by_hand_are_taken():
    peer = report.OTHERS[0]
    earlier = [row("plain", 0), row("florc", 0), row("plain", f"{peer} 0"), row(peer, f"{peer} 0"),
               row("manual", "manual 0"), row("florc", 0, step="outer"), row(peer, 0, step="outer")]
    whole = report.joined([results([row("florc", 1)]), results(earlier, florc="earlier")])
    assert [(found["variant"], found["step"], found["pair"]) for found in whole["rows"]] == [
        ("florc", "record", 1), ("plain", "record", f"{peer} 0"), (peer, "record", f"{peer} 0"),
        ("manual", "record", "manual 0"), (peer, "outer", 0)]
    assert whole["about"]["others_at"] == "earlier"



def test_how_unsteady_the_machine_was_is_said():
    rows = [row("plain", in_loop=seconds, workload=name)
            for name, seconds in (("translator", 10), ("translator", 11), ("masked_lm", 4), ("masked_lm", 5))]
    assert "18 % apart (median of the scripts; 25 % at most)" in report.unrest(rows)
    assert report.unrest(rows[:1]) == ""
