"""CAKE's own shaper, hosts of the home and codepoints, from the scenario to the trial."""

import pytest
from aqmlab.base.errors import ScenarioError
from aqmlab.planning import planner
from aqmlab.scenario import catalogue
from aqmlab.scenario.applications import App
from aqmlab.scenario.model import Path, Scenario
from msgspec import UNSET


@pytest.fixture(autouse=True)
def real_catalogue(monkeypatch):
    """Restores the simulator's own catalogue."""
    kinds = catalogue.Catalogue(catalogue.raw())
    monkeypatch.setattr(catalogue, "load", lambda: kinds)


HOME = Scenario(
    path=Path(rate="20/2 Mbit/s"),
    hosts={"anna": {"profile": "windows"}},
    apps={"file": App(kind="bulk"), "call": App(kind="voip")},
)


def trial_of(scenario):
    """The only trial of a scenario without loops."""
    (trial,) = planner.load(scenario.but(seeds=1)).trials
    return trial.spec


def shaped(**path):
    """The shaper, the rate and CAKE's bandwidth of the downlink."""
    link = trial_of(HOME.but(path=path)).links[1]
    return link.shaper, link.rate_bps, link.qdisc.params.get("bandwidth")


def test_a_bandwidth_of_cake_is_the_shaper_unless_there_is_another():
    own = {"down": {"qdisc": "cake bandwidth=18Mbit/s"}}
    assert shaped(**own) == ("cake", 18_000_000, 18_000_000)
    for other in ("line", "htb"):
        assert shaped(shaper=other, **own) == (other, 20_000_000, 18_000_000)
    assert shaped(qdisc="cake") == ("line", 20_000_000, None)
    assert shaped(qdisc="fq_codel") == ("line", 20_000_000, None)


def test_the_shaper_cake_has_the_rate_of_the_link_unless_cake_states_one():
    assert shaped(qdisc="cake", shaper="cake") == ("cake", 20_000_000, 20_000_000)
    assert shaped(qdisc="cake bandwidth=off", shaper="cake") == ("cake", 20_000_000, 20_000_000)


@pytest.mark.parametrize(
    ("path", "where", "problem"),
    [
        ({"shaper": "cake"}, "path.up.shaper", "not of `pfifo`"),
        ({"qdisc": "cake bandwidth=18Mbit/s"}, "path.up.qdisc", "18 Mbit/s, is above"),
    ],
)
def test_a_shaper_that_cannot_be_is_refused(path, where, problem):
    with pytest.raises(ScenarioError) as caught:
        trial_of(HOME.but(path=path))
    assert where in str(caught.value) and problem in str(caught.value)


def test_applications_name_their_host_and_their_codepoint():
    home = HOME.set("apps.file", {"kind": "bulk", "count": 2, "host": "anna"})
    one, two, call = trial_of(home.set("apps.call.dscp", "ef")).apps
    assert [app.host for app in (one, two, call)] == ["anna", "anna", UNSET]
    assert [app.dscp for app in (one, two, call)] == [UNSET, UNSET, 46]
    assert [app.home.profile for app in (one, call)] == ["windows", "linux"]
    assert one.wan.profile == "linux", "the settings of a host are not those of its servers"


@pytest.mark.parametrize("written", [46, "46", "EF", "ef"])
def test_a_codepoint_is_a_name_or_a_number(written):
    assert App(kind="voip", dscp=written).dscp == 46


@pytest.mark.parametrize(("written", "problem"), [("EX", "EF"), (64, "between 0 and 63")])
def test_a_codepoint_that_does_not_exist_is_refused(written, problem):
    with pytest.raises(ScenarioError) as caught:
        HOME.set("apps.call.dscp", written)
    assert problem in str(caught.value)


def test_a_preset_sets_cake_as_sqm_does():
    up, down = trial_of(HOME.set("path.qdisc", "layer_cake link=docsis")).links
    assert (up.shaper, up.rate_bps) == ("cake", 2_000_000)
    docsis = {"link": "docsis", "bandwidth": 2_000_000}
    assert up.qdisc.params == docsis | {"diffserv": "diffserv3", "wash": False}
    assert down.qdisc.params["diffserv"] == "besteffort" and down.qdisc.params["wash"] is True
    below_htb = HOME.but(path={"qdisc": "piece_of_cake", "shaper": "htb"})
    assert trial_of(below_htb).links[0].shaper == "htb"


def test_a_preset_is_a_value_of_a_loop():
    loop = ["fq_codel", "piece_of_cake", "layer_cake"]
    trials = planner.load(HOME.but(seeds=1, vary={"path.qdisc": loop})).trials
    assert [trial.spec.links[0].qdisc.kind for trial in trials] == ["fq_codel", "cake", "cake"]
    assert [trial.spec.links[0].shaper for trial in trials] == ["line", "cake", "cake"]
