"""The forecast before a campaign starts: number of trials, time and size."""

import dataclasses
import json
import os
import re
from pathlib import Path

import pytest
from aqmlab.base import measurements
from aqmlab.campaign import runner as campaigns
from aqmlab.campaign import speed
from aqmlab.campaign.costs import cost, simulated_s
from aqmlab.cli import status_of
from aqmlab.cli.forecast import drawing, lines
from aqmlab.engines.trial_spec import KindSpec, LinkSpec, TrialSpec
from aqmlab.report import drawing_time
from aqmlab.report.drawing_time import Wanted
from msgspec.structs import replace
from support.campaigns import campaign_of, grid


def lot(campaign, trials=None):
    (only,) = campaigns.lots(campaign, trials or campaign.trials)
    return only


def test_a_trial_costs_by_its_length_and_its_rates():
    slow, fast = campaign_of(grid(("pie",), rates=((12, 1), (100, 40)), seeds=(1,))).trials
    assert simulated_s(slow) == 10.0
    assert cost(slow) == pytest.approx(10 * 14) and cost(fast) == pytest.approx(10 * 141)
    assert cost(slow, 5.0) == pytest.approx(5 * 14)


def test_links_that_no_route_can_fill_cost_nothing():
    (slow,) = campaign_of(grid(("pie",), rates=((12, 1),), seeds=(1,))).trials
    spec = TrialSpec.read(slow.spec)
    wire = LinkSpec(name="lan", rate_bps=10**10, qdisc=KindSpec(kind="pfifo"))
    apps = [
        replace(app, up=replace(app.up, links=(len(spec.links), *app.up.links)))
        for app in spec.apps
    ]
    wired = replace(spec, links=(*spec.links, wire), apps=tuple(apps))
    assert cost(dataclasses.replace(slow, spec=wired.text())) == cost(slow)


def test_one_unusual_scenario_does_not_decide_on_the_others():
    campaign = campaign_of(grid())
    for number, (busy_s, size) in enumerate(((6.0, 3000), (6.6, 3300), (0.006, 3), (600.0, 9))):
        own = campaign_of(grid(), title=f"Home {number}")
        speed.note(lot(own), busy_s, own.trials, size)
    found = speed.expected([lot(campaign)])
    assert not found.alike and found.trials == 24
    assert found.busy_s == pytest.approx(6.3) and found.stored_bytes == pytest.approx(1504.5)


def test_nothing_is_expected_where_nothing_was_measured():
    campaign = campaign_of(grid())
    assert speed.expected(campaigns.lots(campaign, campaign.trials)) is None


def test_what_is_expected_is_what_was_measured():
    campaign = campaign_of(grid(seeds=(1, 2, 3, 4)))
    few, rest = campaign.trials[:3], campaign.trials[3:]
    speed.note(lot(campaign, few), 6.0, few, 3000)
    found = speed.expected([lot(campaign, rest)])
    assert found.busy_s == pytest.approx(18.0) and found.stored_bytes == pytest.approx(9000)
    assert (found.trials, found.alike) == (3, True)
    assert found.seconds(2, 9) == pytest.approx(9.0) and found.seconds(8, 1) == found.busy_s

    other = campaign_of(grid(), title="Another home")
    found = speed.expected([lot(other)])
    assert found.busy_s == pytest.approx(12.0) and not found.alike
    newer = campaign_of(grid(), versions={"aqmlab": "0", "core": "1"})
    assert speed.expected([lot(newer)]) is None


def test_a_campaign_that_ran_is_what_the_next_is_expected_from(tmp_path):
    campaign = campaign_of(grid())
    before = "\n".join(lines(campaign, tmp_path / "out", 2))
    assert "6 (3 queue × 1 rate × 2 seeds); 0 recorded, 6 to run" in before
    assert "simulated: 60 s to run" in before and "time: not known" in before
    assert not (tmp_path / "out").exists()

    campaigns.run(campaign, tmp_path / "out", jobs=2)
    after = "\n".join(lines(campaign, tmp_path / "out", 2))
    assert "6 recorded, 0 to run" in after and "time" not in after
    other = "\n".join(lines(campaign, tmp_path / "other", 2))
    assert re.search("time: about .* in 2 processes, from 6 trials of this scenario", other)
    stored = sum(path.stat().st_size for path in (tmp_path / "out" / "tables").rglob("*.parquet"))
    assert speed.expected([lot(campaign)]).stored_bytes == pytest.approx(stored)


@pytest.mark.parametrize("numbers", [{"busy_s": 1e308}, {"cost": 1e-320}, {"stored_s": 1e-320}])
def test_absurd_numbers_are_no_memory(tmp_path, numbers):
    campaign = campaign_of(grid())
    own = lot(campaign)
    speed.note(own, 6.0, campaign.trials, 3000)
    path = tmp_path / "cache" / "aqmlab" / "speeds.json"
    members = json.loads(path.read_text("utf-8"))
    members[own.key][own.scenario].update(numbers)
    path.write_text(json.dumps(members), "utf-8")
    assert speed.expected([own]) is None and speed.paces([own]) == {}
    assert "time: not known" in "\n".join(lines(campaign, tmp_path / "out", 2))


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/dev/zero")])
@pytest.mark.parametrize("name", ["speeds.json", "drawing.json"])
def test_a_memory_that_is_no_regular_file_is_not_read(tmp_path, make, name):
    path = tmp_path / "cache" / "aqmlab" / name
    path.parent.mkdir(parents=True)
    make(path)
    campaign = campaign_of(grid())
    assert speed.expected([lot(campaign)]) is None
    assert drawing("report", [Wanted("home", 1.0)]).startswith("drawing: not known")


def test_a_memory_of_any_size_is_not_read(tmp_path, monkeypatch):
    campaign = campaign_of(grid())
    speed.note(lot(campaign), 6.0, campaign.trials, 3000)
    monkeypatch.setattr(measurements, "_MOST_BYTES", 100)
    assert speed.expected([lot(campaign)]) is None


def test_absurd_drawing_times_are_not_shown():
    for amount, took_s in ((0.0, 0.0), (1.0, 1e9)):
        drawing_time.note("report", Wanted("home", amount), took_s)
    assert drawing("report", [Wanted("home", 1e9)]).startswith("drawing: not known")


@pytest.mark.parametrize("text", ["{", "[]", '{"sim": 5}', '{"sim": {"a": {"cost": "x"}}}'])
def test_a_damaged_memory_is_no_memory(tmp_path, text):
    path = tmp_path / "cache" / "aqmlab" / "speeds.json"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    campaign = campaign_of(grid())
    assert speed.expected([lot(campaign)]) is None
    speed.note(lot(campaign), 1.0, campaign.trials, 1)
    assert speed.expected([lot(campaign)]).trials == 6


def test_who_cannot_remember_runs_all_the_same(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert campaigns.run(campaign_of(grid()), tmp_path / "out", jobs=2).run == 6


def test_the_command_plans_without_running(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    asked = ["run", "household", "--vary", "path.qdisc=pfifo,fq_codel", "--seeds", "3"]
    assert status_of([*asked, "--dry-run"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"^trials: \d+ \(2 qdisc × 3 seeds\); 0 recorded", shown, re.M)
    assert "folder: results/household-" in shown and not (tmp_path / "results").exists()


HOME = """\
path = { rate = "8/1 Mbit/s" }
apps.up = { kind = "bulk" }
[vary]
"""


@pytest.mark.parametrize(
    ("loops", "product"),
    [
        ('path.rtt = ["1 ms", "2 ms"]', "4 (2 rtt × 2 seeds)"),
        (
            'x = [{path.rtt = "1 ms", path.up.qdisc = "pie"}, {path.rtt = "2 ms", path.up.qdisc ='
            ' "codel"}]\napps.up.direction = ["up", "down"]',
            "8 (2 rtt, up.qdisc × 2 up.direction × 2 seeds)",
        ),
        ('x = [{path.rtt = "1 ms"}, {path.up.qdisc = "pie"}]', "4 (2 rtt, up.qdisc × 2 seeds)"),
        (
            "x = ["
            + ",".join(
                f'{{path.rtt = "{rtt} ms", path.up.qdisc = "{up}", path.down.qdisc = "{down}"}}'
                for rtt, up, down in (
                    (1, "pfifo", "pie"), (1, "pie", "pfifo"), (2, "pfifo", "pfifo"),
                    (2, "pie", "pie"),
                )
            )
            + "]",
            "8 (combinations of rtt, up.qdisc, down.qdisc, 2 seeds)",
        ),
    ],
)  # fmt: skip
def test_the_product_has_one_factor_for_each_loop(tmp_path, capsys, loops, product):
    path = tmp_path / "home.toml"
    path.write_text(HOME + loops)
    assert status_of(["run", str(path), "--seeds", "2", "--dry-run"]) == 0
    assert capsys.readouterr().out.startswith(f"trials: {product}; 0 recorded")


def test_the_linked_variables_of_a_config_are_one_factor(capsys):
    config = Path(__file__).parents[2] / "examples" / "teacup" / "household.py"
    assert status_of(["run", str(config), "--dry-run"]) == 0
    product = "trials: 16 (2 down, up × 2 delay × 2 aqm × 2 seeds); 0 recorded"
    assert capsys.readouterr().out.startswith(product)
