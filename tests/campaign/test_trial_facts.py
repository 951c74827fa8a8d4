"""Reports state a fact of all trials only if it holds for each trial."""

import json

import polars as pl
import pytest
from aqmlab import api
from aqmlab.campaign import runner as campaigns
from aqmlab.report.figures import data, draw, drawing
from aqmlab.report.page.tables import how_made
from aqmlab.results.results import load
from support.campaigns import campaign_of, grid, spec_of

PING = 'path.rate = "12/1 Mbit/s"\n'


@pytest.fixture
def ran(tmp_path):
    """A function that runs a scenario with a fixed path, and with `text` for its other keys."""

    def run(text, **changes):
        (tmp_path / "home.toml").write_text(PING + text, "utf-8")
        return api.run(tmp_path / "home.toml", out=tmp_path / "out", jobs=1, **changes)

    return run


def trials_text(results):
    return dict(how_made(results))["Trials"]


@pytest.mark.parametrize(
    ("text", "note", "made"),
    [
        ('duration = "2 s"', "0 to 2 s", "1 of 2 s, statistics from 0 to 2 s"),
        (
            'duration = "2 s"\nmeasure.from = "0.5 s"\nmeasure.to = "1 s"',
            "0.5 to 1 s",
            "1 of 2 s, statistics from 0.5 to 1 s",
        ),
        (
            '[vary]\nduration = ["2 s", "1 s"]',
            "0 to 2 s or 0 to 1 s, which differs by trial",
            "2 of 1 to 2 s, statistics from 0 to 2 s or 0 to 1 s, which differs by trial",
        ),
        (
            'duration = "2 s"\n[vary]\nmeasure.from = ["1 s", "0 s", "1.5 s", "0.5 s"]',
            "4 spans between 0 and 2 s, which differ by trial",
            "4 of 2 s, statistics from 4 spans between 0 and 2 s, which differ by trial",
        ),
    ],
)
def test_a_report_says_what_time_its_numbers_are_of(ran, text, note, made):
    results = ran(f'apps.p.kind = "ping"\n{text}\n')
    assert data.span_note(results) == note
    assert trials_text(results) == made


def test_narrowed_results_say_their_own_time(ran):
    results = ran('apps.p.kind = "ping"\n[vary]\nduration = ["2 s", "1 s"]')
    assert data.span_note(results.narrowed(["duration=1s,seed=1"])) == "0 to 1 s"


def test_a_caption_counts_the_seeds_that_each_number_has(tmp_path):
    specs = grid(queues=("pfifo", "pie"), seeds=(1, 2, 3))
    specs[1] = (specs[1][0], spec_of("pfifo", seed=2, behaviour="refuse"))
    campaigns.run(campaign_of(specs), tmp_path, jobs=1)
    assert data.seeds_note(load(tmp_path)) == "median over 2 to 3 seeds"
    whole = load(tmp_path).narrowed(["trial-3", "trial-4", "trial-5"])
    assert data.seeds_note(whole) == "median over 3 seeds"
    assert data.seeds_note(load(tmp_path).narrowed(["trial-3"])) == "one seed"


def test_an_application_is_judged_by_its_kind_in_each_condition(ran):
    loops = 'duration = "3 s"\n[vary]\nwho = [{label = "call", apps.a = {kind = "voip"}},'
    results = ran(f'{loops}{{label = "file", apps.a = {{kind = "bulk"}}}}]')
    kinds = {one.label.queue: one.kind for one in results.judged}
    assert sorted(kinds.values()) == ["bulk", "voip"]
    table = results.table("verdicts").unique(["who", "kind"], maintain_order=True)
    assert table.select("who", "kind").rows() == [("call", "voip"), ("file", "bulk")]
    needs = results.table("verdicts").group_by("who").agg(pl.col("need").unique().sort())
    assert "opinion score" in dict(needs.rows())["call"]
    assert "opinion score" not in dict(needs.rows())["file"]


def test_a_stated_limit_is_the_limit_also_where_it_is_the_kinds_own(ran):
    results = ran('duration = "2 s"\napps.call.kind = "voip"\nreport.tolerances.call = "150 ms"')
    assert results.manifest.stated_tolerances_ms == {"call": 150.0}
    needs = {check.need: check.good for one in results.judged
             for check in one.findings}  # fmt: skip
    assert needs["round trips"] == 150.0


def test_verdicts_of_a_condition_whose_first_trial_failed_have_its_conditions(tmp_path):
    specs = grid(queues=("pfifo", "pie"), seeds=(1, 2))
    specs[0] = (specs[0][0], spec_of("pfifo", behaviour="refuse"))
    campaigns.run(campaign_of(specs), tmp_path, jobs=1)
    table = load(tmp_path).table("verdicts")
    assert table["queue"].null_count() == 0
    assert table["queue"].unique(maintain_order=True).to_list() == ["pfifo", "pie"]


def test_series_say_the_seed_of_each_panel(tmp_path):
    specs = grid(queues=("pfifo", "pie"), seeds=(1, 2))
    specs[0] = (specs[0][0], spec_of("pfifo", behaviour="refuse"))
    campaigns.run(campaign_of(specs), tmp_path, jobs=1)
    for name in ("rtt_time", "queue_time"):
        for one in draw(load(tmp_path), name):
            assert "seed 2 (pfifo), seed 1 (pie)" in one.caption, one.caption


@pytest.mark.parametrize("name", ["queue_label", "Rate_Label", "rtt_label", "place_label"])
def test_a_loop_that_is_called_like_a_label_is_no_label(ran, name):
    steps = '[{label = "same", path.rtt = "1 ms"}, {label = "other", path.rtt = "2 ms"}]'
    results = ran(f'duration = "1 s"\napps.p.kind = "ping"\n[vary]\n{name} = {steps}')
    frame = results.labelled("flows")
    assert set(frame[f"condition.{name}"]) == {"same", "other"}
    assert frame.columns.count("queue_label") == 1
    assert not any(one.endswith("_right") for one in frame.columns)
    assert set(frame["rtt_label"]) == {"1 ms", "2 ms"}
    assert json.dumps(results.to_json())


def test_figures_of_places_that_read_alike_as_files_are_all_kept():
    names = drawing.own_names(["rtt_time-a-b", "rtt_time-a-b", "rtt_time-A-b", "rates"])
    assert names == ["rtt_time-a-b", "rtt_time-a-b-2", "rtt_time-A-b-3", "rates"]
