import dataclasses

import polars as pl
import pytest
from aqmlab.base.failures import RequestError
from aqmlab.campaign import runner as campaigns
from aqmlab.cli import status_of, summary
from aqmlab.engines.trial_spec import KindSpec
from aqmlab.report.page import tables
from aqmlab.results.labels import Label
from aqmlab.results.results import load
from aqmlab.results.verdicts import tally, verdict
from aqmlab.results.verdicts.columns import COLUMNS
from aqmlab.results.verdicts.comparison import BaselineComparison, baseline_called
from aqmlab.results.verdicts.table import VerdictRow
from aqmlab.results.verdicts.verdict import Finding, Medians, Verdict
from aqmlab.results.verdicts.wording import closest_text
from msgspec.structs import replace
from support.campaigns import app, campaign_of, grid

UNMEASURED = Medians(None, None, None)


def test_an_app_is_judged_by_its_worst_flow_and_the_median_seed(home_results):
    found = {(one.label.queue, one.label.rate, one.app): one for one in home_results.judged}
    assert len(found) == 3 * 2 * 4
    call = found["pfifo", "12/1", "call"]
    assert (call.word, call.seeds, call.kind) == ("bad", 2, "video_call")
    assert call.deciding.least < call.deciding.value < call.deciding.most
    assert call.deciding.over_seeds.seeds == 2
    assert call.sentence.startswith("call: bad, people talk over each other, one-way delay 3")
    assert "tolerable up to 400 ms" in call.sentence and call.sentence.endswith("would send less")
    assert call.deciding.brief.endswith("s > 400 ms") and call.margin < -1
    assert found["fq_codel", "12/1", "call"].word == "good"
    assert found["fq_codel", "12/1", "call"].deciding.brief.endswith("≤ 150 ms")
    assert 0.5 < found["fq_codel", "12/1", "call"].margin < 1
    assert found["pie", "12/1", "file"].word == "good"
    assert found["pie", "25/5", "file"].word == "tolerable", "for there is more to have"
    assert found["pie", "25/5", "file"].because.startswith("fair share reached 2")
    assert "% < 50 %, 6" in found["pie", "25/5", "file"].because
    assert found["pie", "25/5", "file"].because.endswith(" Mbit/s unused")


def test_an_app_that_never_got_through_has_no_good_verdict(tmp_path):
    apps = [app("call", "video_call", ["up"], silent=True, loss=100.0)]
    campaigns.run(campaign_of(grid(("pie",), apps=apps)), tmp_path / "out", jobs=1)
    (found,) = load(tmp_path / "out").judged
    assert found.word == "bad" and found.deciding.need == "loss"
    assert found.finding("one-way delay").word == "no data"


def test_a_transfer_of_a_size_says_how_long_it_takes(tmp_path):
    large, small = (KindSpec(kind="bulk", params={"size": size}) for size in (10**9, 10**6))
    apps = [
        replace(app("backup", metrics={"completion_time_s": 9.5}), app=large),
        replace(app("photo", metrics={"completion_time_s": 1.5}), app=small),
    ]
    campaigns.run(campaign_of(grid(("pie",), apps=apps)), tmp_path / "out", jobs=1)
    results = load(tmp_path / "out")
    backup, photo = results.judged
    assert backup.because.endswith(" Mbit/s unused, 1 GB in 9.5 s")
    assert backup.sentence.endswith(backup.told)
    assert photo.because == "transferred in 1.5 s ≤ 15 s", "as what is judged, and once"
    assert (backup.word, photo.word) == ("bad", "good")
    times = results.table("verdicts").filter(need="transferred in")
    assert times["value"].to_list() == [9500, 1500]
    assert times["verdict"].to_list() == [None, "good"], "no limit is known for so large a one"


def test_a_kind_of_unknown_needs_is_not_called_good(tmp_path):
    apps = [app("flood", "something new"), app("ping", "ping", ["up"])]
    campaigns.run(campaign_of(grid(("pfifo",), apps=apps)), tmp_path / "out", jobs=1)
    results = load(tmp_path / "out")
    flood, ping = results.judged
    assert (flood.word, flood.because) == ("no needs", "nothing is known of its needs")
    assert ping.word == "bad" and ping.because.endswith("s > 400 ms")
    assert verdict.worst(flood, ping) is ping
    (told,) = tally.tallies(results.judged)
    assert told.counts == {"no needs": 1, "bad": 1} and told.missed == [flood, ping]
    rows = results.verdicts.filter(flow="flood").select("verdict", "decides", "because").rows()
    assert rows == [("no needs", True, "nothing is known of its needs")]


def test_an_application_without_a_packet_is_counted(tmp_path):
    apps = [app("call", "voip", [], start_ns=10**12), app("ping", "ping", ["up"])]
    campaigns.run(campaign_of(grid(("pie",), apps=apps)), tmp_path / "out", jobs=1)
    call, ping = load(tmp_path / "out").judged
    assert (call.word, call.because, call.margin) == ("no data", "nothing was measured", None)
    (told,) = tally.tallies([call, ping])
    assert told.counts["no data"] == 1 and told.closest is ping
    good = replace(ping, word="good")
    assert verdict.worst(good, call) is call, "a reader must notice it"


def test_the_terminal_and_the_report_count_alike(tmp_path, monkeypatch, capsys):
    apps = [app(f"upload-{n}") for n in range(1, 5)] + [app("ping", "ping", ["up"])]
    campaigns.run(campaign_of(grid(apps=apps)), tmp_path / "out", jobs=1)
    results = load(tmp_path / "out")
    assert len(set(results.manifest.app_groups.values())) == 2, "the uploads are copies"
    rows = tables.tallies(results)
    assert {sum(row.counts) for row in rows} == {5}
    monkeypatch.setenv("COLUMNS", "200")
    summary.show(results, brief=True)
    lines = capsys.readouterr().out.splitlines()[2:]
    words = tables.tally_words(results)
    columns = [word for word in ("good", "tolerable", "bad") if True]
    for row, line in zip(rows, lines, strict=True):
        counts = dict(zip(words, row.counts, strict=True))
        assert line.split()[2:5] == [str(counts.get(word, 0)) for word in columns]


def test_the_conclusion_names_who_is_served_in_which_condition():
    def verdict_of(queue, name, word, margin=0.5, is_sure=True):
        label = Label(queue, "12/1", "")
        finding = Finding(
            *("need", "own", "ms", 1.0, 2.0, 3.0, False, word),
            *(margin, True, "at 1 ms", "", 1, 1, None),
            is_sure,
            (),
        )
        return Verdict(
            0,
            name,
            "game",
            word,
            "",
            "",
            "",
            "",
            1,
            (),
            None,
            UNMEASURED,
            None,
            (finding,),
            label=label,
        )

    good = [verdict_of("fq", "game", "good"), verdict_of("fq", "call", "good")]
    poor = [verdict_of("pfifo", "game", "tolerable"), verdict_of("pfifo", "call", "bad")]
    assert tally.conclusion([]) == []
    assert tally.conclusion(tally.tallies(good)) == [
        "Every application gets what it needs, in every condition."
    ]
    assert tally.conclusion(tally.tallies([*poor, *good])) == [
        "Every application gets what it needs with fq 12/1.",
        "pfifo 12/1: bad for call, tolerable for game, good for 0 of 2.",
    ]
    unsure = [
        verdict_of("fq", "game", "good", 0.1, is_sure=False),
        verdict_of("pfifo", "call", "bad", -1.0, is_sure=False),
    ]
    assert tally.conclusion(tally.tallies(unsure)) == [
        "Every application gets what it needs with fq 12/1.",
        "fq 12/1: seeds differ on game.",
        "pfifo 12/1: bad for call, good for 0 of 1; seeds differ on call.",
    ]
    assert closest_text(unsure[0]) == "game: at 1 ms, 10 % to spare, seeds differ"


def test_differences_from_the_baseline_are_paired_by_seed(home_results):
    comparison = BaselineComparison(home_results.judged)
    found = {(one.label.brief, one.app): one for one in home_results.judged}
    call, first = found["fq_codel 25/5", "call"], found["pfifo 25/5", "call"]
    delay = call.finding("one-way delay")
    apart = comparison.of(call, delay)
    pairs = zip(delay.by_seed, first.finding("one-way delay").by_seed, strict=True)
    each = sorted(own - other for (_, own), (_, other) in pairs)
    assert (apart.low, apart.high, apart.seeds) == (each[0], each[1], 2) and apart.high < -2000
    assert comparison.of(first, first.deciding) is None, "it is the baseline"
    named = BaselineComparison(home_results.judged, baseline_called("pie 25/5", comparison.labels))
    assert named.of(first, first.deciding).median > 2000
    with pytest.raises(RequestError, match="unknown condition `pie 25/6`"):
        baseline_called("pie 25/6", comparison.labels)
    rows = home_results.verdicts.filter(flow="call", need="one-way delay", decides=True)
    assert rows.filter(pl.col("difference").is_null())["queue"].to_list() == ["pfifo"] * 2


def test_the_default_baseline_is_the_first_queue_at_the_same_rate(home_results):
    judged = home_results.judged
    comparison = BaselineComparison(judged)
    named = BaselineComparison(judged, baseline_called("pfifo", comparison.labels))
    assert comparison.baseline == named.baseline
    one_rate = [one for one in judged if one.label.rate == "25/5"]
    assert BaselineComparison(one_rate).baseline == one_rate[0].label
    one_queue = [one for one in judged if one.label.queue == "pie"]
    assert BaselineComparison(one_queue).baseline == one_queue[0].label
    without = [one for one in judged if one.label.brief != "pfifo 12/1"]
    assert BaselineComparison(without).baseline == judged[0].label, "pfifo is not at each rate"
    assert BaselineComparison([]).baseline is None


@pytest.mark.parametrize("text", ["pfifo", "12/1"])
def test_a_baseline_may_be_a_queue_or_a_rate_of_several_conditions(home_results, text):
    labels = [one.label for one in home_results.judged]
    part = "queue" if text == "pfifo" else "rate"
    comparison = BaselineComparison(home_results.judged, baseline_called(text, labels))
    for one in home_results.judged:
        own = dataclasses.replace(one.label, **{part: text})
        alone = BaselineComparison(home_results.judged, own)
        assert comparison.of(one, one.deciding) == alone.of(one, one.deciding)
        assert (comparison.of(one, one.deciding) is None) == (getattr(one.label, part) == text)


def test_a_stated_baseline_keeps_its_column(home_results, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "100")
    summary.show(home_results)
    shown, said = capsys.readouterr()
    assert "difference" not in shown and "difference: " not in said
    baseline = baseline_called("pfifo", [one.label for one in home_results.judged])
    summary.show(home_results, baseline=baseline)
    shown, said = capsys.readouterr()
    assert (
        "columns that do not fit in 100 characters: p5…p95, RTT p50, loss %, QoO, because; " in said
    )
    assert "difference" in shown.splitlines()[0] and "from pfifo with all else equal" in said


def test_the_baseline_applies_to_json_and_not_to_brief_output(home_results, capsys):
    def shown(*args):
        return status_of(["show", str(home_results.path), *args]), *capsys.readouterr()

    plain, named = (shown("--json", *more) for more in ((), ("--baseline", "pie")))
    assert (plain[0], named[0]) == (0, 0) and plain[1] != named[1]
    status, _, said = shown("--brief", "--baseline", "pie")
    assert status == 2 and "`--brief` shows no differences" in said


def test_a_word_of_several_queues_is_no_baseline():
    labels = [Label(f"pfifo limit={limit}", "12/1", "") for limit in (100, 300)]
    with pytest.raises(RequestError, match="`pfifo` is one of 2 conditions"):
        baseline_called("pfifo", labels)
    assert baseline_called("limit=300", labels) == labels[1]
    with pytest.raises(RequestError, match="`12/1` is one of 2 conditions"):
        baseline_called("12/1", labels)


def test_a_row_of_the_table_has_its_columns_in_order():
    assert VerdictRow._fields == ("trial", *COLUMNS)
