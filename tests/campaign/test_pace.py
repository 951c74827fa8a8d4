"""The estimate of the remaining time while a campaign runs."""

from dataclasses import replace

import pytest
from aqmlab.campaign import runner as campaigns
from aqmlab.campaign import speed
from aqmlab.campaign.costs import cost
from aqmlab.campaign.pace import Pace
from aqmlab.cli import console
from aqmlab.cli.progress import Bar
from support.campaigns import campaign_of, grid


class Clock:
    """A clock that a test sets."""

    now_s = 0.0

    def __call__(self):
        return self.now_s


@pytest.fixture
def clock():
    return Clock()


def two_engines(count=4):
    """The trials of a campaign for `sim,kernel`, half of the trials on each engine."""
    trials = campaign_of(grid(queues=("pie",), seeds=range(2 * count))).trials
    return [replace(one, engine="kernel" if one.index >= count else "sim") for one in trials]


def test_a_trial_of_one_engine_says_nothing_about_another(clock):
    trials = two_engines()
    pace = Pace(processes=1, clock=clock)
    pace.begin(trials)
    assert pace.left_s() is None and pace.unmeasured == ("sim", "kernel")
    for one in trials[:4]:  # The simulator takes milliseconds.
        clock.now_s += 0.01
        pace.done(one, 0.01)
    assert pace.left_s() is None and pace.unmeasured == ("kernel",)
    assert pace.share() == 0.5  # share of the trials
    clock.now_s += 100
    pace.done(trials[4], 100.0)
    assert pace.left_s() == pytest.approx(300.0) and pace.unmeasured == ()
    assert pace.share() == pytest.approx(100.04 / 400.04)  # share of the run time


def test_what_this_machine_ran_before_counts_until_this_run_has_shown_its_own_pace(clock):
    trials = two_engines()
    known = {"kernel": 60.0 / cost(trials[4]), "sim": 0.5 / cost(trials[0])}
    pace = Pace(known, processes=2, clock=clock)
    pace.begin(trials)
    assert pace.left_s() == pytest.approx((4 * 60 + 4 * 0.5) / 2)
    pace.done(trials[4], 90.0)
    assert pace.left_s() == pytest.approx((3 * 90 + 4 * 0.5) / 2)


def test_reports_within_a_trial_are_a_measurement(clock):
    trials = two_engines()[4:]
    pace = Pace(processes=1, clock=clock)
    pace.begin(trials)
    pace.moved(trials[0], 1.0)
    assert pace.left_s() is None
    clock.now_s = 20.0
    pace.moved(trials[0], 2.0)  # 2 s of a trial of 10 s
    assert pace.left_s() == pytest.approx(8 * 20.0 + 3 * 200.0)
    assert pace.share() == pytest.approx(0.05)
    clock.now_s = 30.0
    pace.moved(trials[0], 0.0)  # its worker has died
    assert pace.left_s() is None and pace.share() == 0.0


def test_a_failed_trial_is_work_done_but_no_measurement(clock):
    trials = two_engines()[:4]
    pace = Pace(processes=1, clock=clock)
    pace.begin(trials)
    pace.done(trials[0], None)
    assert pace.left_s() is None and pace.share() == pytest.approx(0.25)
    pace.done(trials[1], 3.0)
    assert pace.left_s() == pytest.approx(6.0)


def test_the_last_trials_run_in_fewer_processes(clock):
    trials = two_engines()[:3]
    pace = Pace(processes=8, clock=clock)
    pace.begin(trials)
    pace.done(trials[0], 3.0)
    assert pace.left_s() == pytest.approx(3.0)


def test_the_run_shows_how_many_trials_a_cluster_runs_at_once(clock):
    trials = two_engines(20)[:20]
    pace = Pace({"sim": 6.0 / cost(trials[0])}, clock=clock)
    pace.begin(trials)
    assert pace.left_s() is None and pace.unmeasured == ()
    clock.now_s = 6.0
    for one in trials[:4]:
        pace.done(one, 6.0)
    assert pace.left_s() == pytest.approx(16 * 6 / 4)


def test_a_run_teaches_the_pace_of_its_engine_and_of_no_other(tmp_path):
    campaign = campaign_of(grid())
    assert speed.paces(campaigns.lots(campaign, campaign.trials)) == {}
    campaigns.run(campaign, tmp_path / "out", jobs=1)
    assert list(speed.paces(campaigns.lots(campaign, campaign.trials))) == ["sim"]


def said_by(bar, trials, capsys, took_s):
    bar.begin(trials, trials)
    for one in trials:
        bar.done(one, None, took_s[one.engine])
    return capsys.readouterr().err.splitlines()


def test_the_bar_says_what_it_cannot_know_yet(capsys):
    assert not console.stderr().is_terminal
    took_s = {"sim": 0.01, "kernel": 120.0}
    said = said_by(Bar(Pace(processes=1)), two_engines(), capsys, took_s)
    assert said[:5] == [
        "1/8 trials, measuring the pace of kernel",
        "2/8 trials, measuring the pace of kernel",
        "3/8 trials, measuring the pace of kernel",
        "4/8 trials, measuring the pace of kernel",
        "5/8 trials, about 6 min left",
    ]
    assert said[-1] == "8/8 trials"


def test_the_bar_knows_at_once_what_ran_before(capsys):
    trials = two_engines()
    pace = Pace({one.engine: 120.0 / cost(one) for one in trials[4:]}, processes=1)
    said = said_by(Bar(pace), trials, capsys, {"sim": 0.01, "kernel": 120.0})
    assert said[0] == "5/8 trials, about 6 min left"
