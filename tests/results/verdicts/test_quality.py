"""The Quality of Outcome: in the tables, in SQL, on the terminal, in the report and as JSON."""

import json

import msgspec
import pytest
from aqmlab.base.core_requirement import OwnRequirement
from aqmlab.base.errors import ScenarioError
from aqmlab.campaign import runner as campaigns
from aqmlab.cli import status_of
from aqmlab.planning import planner
from aqmlab.report import page
from aqmlab.results.results import load
from aqmlab.results.verdicts.columns import QUALITY_COLUMNS
from aqmlab.results.verdicts.comparison import baseline_called
from aqmlab.results.verdicts.table import QualityRow
from aqmlab.results.verdicts.verdict import Quality
from aqmlab.scenario.model import Report, Scenario
from aqmlab.scenario.requirements import Requirement
from support.campaigns import app, campaign_of, grid
from support.verdicts import judged

TWO_CALLS = """
duration = "3 s"
path = { rate = "12/1 Mbit/s", rtt = "40 ms", qdisc = "pfifo" }
apps.call.kind = "voip"
apps.file.kind = "bulk"
"""


def test_a_call_on_a_free_line_is_optimal_and_a_transfer_has_no_requirement(tmp_path):
    found = judged(TWO_CALLS.replace("bulk", "ping"), tmp_path)
    quality = found["call"]["quality"]
    assert quality["percent"] == 100.0 and quality["requirement"] == "aqmlab-call"
    assert [quality[f"{one}_percent"] for one in ("latency", "loss", "rate")] == [100.0] * 3
    assert found["file"]["quality"] is None


@pytest.mark.parametrize(
    ("stated", "percent"),
    [
        # The base round-trip time is 40 ms, and the transmission of a packet takes up to 2 ms.
        ('delay = { max = ["30 ms", "40 ms"] }', 0.0),
        ('delay = { min = ["100 ms", "1 s"] }', 100.0),
        ('direction = "up"\ndelay = { p50 = ["100 ms", "1 s"] }', 100.0),
        # A call sends 80 kbit/s, but the line has room for more.
        ('rate = "900 kbit/s"', 100.0),
        ('rate = "1100 kbit/s"', 0.0),
        ('direction = "down"\nrate = "11 Mbit/s"', 100.0),
        ('set = "draft-example"', 0.0),
    ],
)
def test_a_scenario_states_its_own_requirement(tmp_path, stated, percent):
    text = TWO_CALLS.replace("bulk", "ping") + f"[report.requirements.call]\n{stated}\n"
    assert judged(text, tmp_path)["call"]["quality"]["percent"] == percent


def test_a_transfer_is_measured_by_its_own_rate(tmp_path):
    text = TWO_CALLS + '[report.requirements.file]\nrate = "11.8 Mbit/s"\ndirection = "down"\n'
    found = judged(text, tmp_path)["file"]["quality"]
    assert found["percent"] == 0.0, "slow start counts; the call leaves 11.9 Mbit/s"
    assert found["because"].endswith("Mbit/s (at least 12 Mbit/s)")


def test_every_view_shows_the_same_score(home_results, capsys, monkeypatch):
    frame = home_results.quality
    assert frame.columns[-len(QUALITY_COLUMNS) :] == list(QUALITY_COLUMNS)
    verdicts = [one for one in home_results.judged if one.quality is not None]
    assert verdicts and frame.height == len(verdicts)
    assert frame["qoo_percent"].to_list() == [one.quality.percent for one in verdicts]
    first = frame["difference_percent"].is_null()
    assert first.any() and not first.all(), "the first condition is the baseline"

    sql = "SELECT flow, qoo_percent FROM quality"
    assert status_of(["query", str(home_results.path), sql, "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert rows == frame.select("flow", "qoo_percent").to_dicts()

    (trial, *_) = home_results.to_json()
    told = {name: one["quality"] for name, one in trial["verdicts"].items()}
    assert told["call"]["percent"] == verdicts[0].quality.percent
    assert "QoO 0: " in page.page(home_results, [], None).replace("\xa0", " ")

    monkeypatch.setenv("COLUMNS", "160")
    assert status_of(["show", str(home_results.path), "--all"]) == 0
    assert "QoO" in capsys.readouterr().out


def test_a_row_of_the_table_has_its_columns_in_order():
    assert QualityRow._fields == ("trial", *QUALITY_COLUMNS)


def test_scores_of_different_requirements_have_no_difference(tmp_path):
    own = TWO_CALLS + "[report.requirements.call]\nrate = "
    found = (judged(own + f'"{kbit} kbit/s"\n', tmp_path)["call"] for kbit in (50, 60, 60))
    one, other, again = (msgspec.convert(each["quality"], Quality) for each in found)
    assert one.source == "the scenario: rate 0.05 Mbit/s"
    assert one.less(other) is None and other.less(again) is not None


def test_a_report_names_the_baseline_and_the_stated_requirements(tmp_path):
    own = OwnRequirement(latency_ms={"p50": (1.0, 2.0)})
    apps = [app("call", "voip", ["up"])]
    about = {"stated_requirements": {"call": own}}
    campaign = campaign_of(grid(("pfifo", "pie"), apps=apps), **about)
    campaigns.run(campaign, tmp_path / "out", jobs=1)
    results = load(tmp_path / "out")
    labels = [one.label for one in results.judged]
    text = page.page(results, [], baseline_called(labels[1].brief, labels))
    assert "the scenario states the requirements of call" in text
    assert f"the difference from {labels[1].brief}" in text.replace("\xa0", " ")


def test_a_stated_requirement_is_kept_in_the_manifest(tmp_path):
    own = OwnRequirement(latency_ms={"p50": (1.0, 2.0)}, loss_percent=(0.0, 1.0))
    about = {"stated_requirements": {"call": "draft-example", "ping": own}}
    apps = [app("call", "voip", ["up"]), app("ping", "ping", ["up"])]
    campaigns.run(campaign_of(grid(("pie",), apps=apps), **about), tmp_path / "out", jobs=1)
    results = load(tmp_path / "out")
    assert results.manifest.stated_requirements == about["stated_requirements"]
    assert [one.quality.requirement for one in results.judged] == ["draft-example", "scenario"]


def test_a_requirement_says_what_it_becomes_in_base_units():
    stated = Requirement(delay={"p99_9": ("10 ms", "1 s")}, loss=("1 %", 0.05), rate="2 Mbit/s")
    assert stated.to_core() == OwnRequirement(
        latency_ms={"p99_9": (10.0, 1000.0)}, loss_percent=(1.0, 5.0), rate_mbit=2.0
    )
    assert Requirement(set="aqmlab-web").to_core() == "aqmlab-web"


@pytest.mark.parametrize(
    ("stated", "where", "said"),
    [
        ({"set": "aqmlab-cal"}, "set", "did you mean `aqmlab-call`?"),
        ({"set": "aqmlab-call", "rate": "1 Mbit/s"}, "set", "not both"),
        ({}, "", "states no limit"),
        ({"delay": {"p98": ["1 ms", "2 ms"]}}, "delay.p98", "unknown percentile `p98`"),
        ({"delay": {"p95": "1 ms"}}, "delay.p95", "is not a pair"),
        ({"delay": {"p95": ["2 ms", "1 ms"]}}, "delay.p95", "write the smaller value first"),
        ({"loss": ["5 %", "5 %"]}, "loss", "is not below the unacceptable value"),
        ({"direction": "sideways", "rate": "1 Mbit/s"}, "direction", "unknown direction"),
        ({"direction": "up", "delay": {"p10": ["1 ms", "2 ms"]}}, "delay.p10", "is not measured"),
    ],
    ids=str,
)
def test_a_wrong_requirement_is_refused_with_its_place(stated, where, said):
    home = {
        "path": {"rate": "12/1 Mbit/s", "rtt": "40 ms"},
        "apps": {"call": {"kind": "voip"}},
        "report": {"requirements": {"call": stated}},
    }
    with pytest.raises(ScenarioError) as refused:
        Scenario.from_dict(home)
    place = ".".join(["report.requirements.call", where]).rstrip(".")
    assert str(refused.value).startswith(place), refused.value
    assert said in str(refused.value)


def test_a_requirement_without_an_application_is_a_warning(tmp_path):
    path = tmp_path / "scenario.toml"
    path.write_text(TWO_CALLS + '[report.requirements.cal]\nset = "aqmlab-call"\n', "utf-8")
    assert "report.requirements.cal: there is no such application" in planner.load(path).warnings


def test_a_report_of_python_values_equals_the_file():
    assert Report(requirements={"a": {"set": "aqmlab-call"}}) == Report(
        requirements={"a": Requirement(set="aqmlab-call")}
    )
