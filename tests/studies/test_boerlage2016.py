"""Details of the study of Boerlage and Collom (2016)."""

import pytest
from aqmlab import studies
from aqmlab.planning import planner
from aqmlab.planning.overrides import Assignment
from aqmlab.studies.papers.boerlage2016.claims.measures import first_fall, trend
from aqmlab.studies.papers.boerlage2016.conditions import HOUSEHOLDS, NARROW, NO_UPLOAD, UPLOADS

ONE = [Assignment("path.rate", "12/1 Mbit/s"), Assignment("path.rtt", "20 ms")]


@pytest.fixture(scope="module")
def homes():
    """The applications of each demographic at 12/1 Mbit/s and 20 ms with a FIFO, by name."""
    path = studies.load("boerlage2016").scenario("home", "sim")
    trials = planner.load(path, ONE).trials
    return {
        one.conditions["demographic"]: {app["name"]: app for app in one.spec.members()["apps"]}
        for one in trials
        if one.conditions["qdisc"] == "FIFO"
    }


@pytest.mark.parametrize("demographic", HOUSEHOLDS)
def test_households_are_those_of_the_built_in_scenarios(homes, demographic):
    builtin = planner.load(f"boerlage2016-d{demographic}", ONE).trials[0].spec.members()["apps"]
    assert homes[demographic] == {app["name"]: app for app in builtin}


def test_without_uploads_there_is_nothing_that_goes_up(homes):
    own = homes[NO_UPLOAD]
    assert own.keys() == homes["1"].keys() - {"cloud"}
    ways = {name: app["app"]["params"].get("direction") for name, app in own.items()}
    assert "up" not in ways.values()


def test_the_rates_are_those_of_the_configuration():
    path = studies.load("boerlage2016").scenario("home", "sim")
    rates = list(dict.fromkeys(one.conditions["rate"] for one in planner.load(path).trials))
    assert len(rates) == 55
    assert [rate for rate in rates if rate.endswith("/1 Mbit/s")] == list(NARROW)
    assert [rate for rate in rates if rate.startswith("25/")] == list(UPLOADS)


def test_a_fall_counts_from_a_quarter_of_a_queue_on():
    rise = [(float(t), 100.0 * t) for t in range(5)]
    assert first_fall(rise) is None
    assert first_fall([*rise, (5.0, 310.0), (6.0, 290.0)]) == 6
    assert first_fall([(0.0, 100.0), (1.0, 20.0)]) is None  # no queue before


def test_a_trend_bears_noise_but_no_turn():
    falls = [11, 10, 9, 7, 8, 6, 5, 4, 3, 2, 1]
    steps = {str(place): {1: float(value), 2: float(value)} for place, value in enumerate(falls)}
    assert trend("falls", steps, -1).holds
    assert not trend("rises", steps, 1).holds
    for place in (7, 8, 9, 10):
        steps[str(place)] = {1: 20.0, 2: 20.0}
    assert not trend("turns", steps, -1).holds
