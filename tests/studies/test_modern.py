"""Details of the study of CAKE, L4S and BBRv3 in homes of 2026."""

import math

import pytest
from aqmlab import studies
from aqmlab.households import line as lines
from aqmlab.households import loading, traffic
from aqmlab.planning import planner
from aqmlab.planning.change_text import assignments
from aqmlab.scenario.quantities import Rate
from aqmlab.studies.claims import HOLDS, judge
from aqmlab.studies.laboratory import Asked, Laboratory
from aqmlab.studies.papers.modern.figures import CAKES, LINES
from aqmlab.studies.papers.modern.rows import BULK, LINE_MBIT, host_share, worse
from aqmlab.studies.trials import Trials

ADDED = {"mother-update", "father-call", "child-web"}
"""The activities that home2026-family does not have."""
OFF_ON_ADSL = {"doorbell-camera"}
GATEWAYS = ("FIFO", "PIE", "FQ-CoDel", *CAKES, "DualPI2", "DualPI2, L4S")


@pytest.fixture(scope="module")
def trials():
    """The trials of a line, by gateway."""

    def of(line):
        path = studies.load("modern").scenario(line, "sim")
        return {one.conditions["gateway"]: one.spec.members() for one in planner.load(path).trials}

    found = {line: of(line) for line in LINES}
    return found.__getitem__


def _apps(spec):
    return {app["name"]: app for app in spec["apps"]}


@pytest.mark.parametrize("line", LINES)
def test_the_home_is_the_built_in_family_with_three_more_activities(trials, line):
    family = _apps(
        planner.load(traffic.scenario_of(loading.load("home2026-family")))
        .trials[0].spec.members()
    )  # fmt: skip
    home = _apps(trials(line)["FIFO"])
    off = OFF_ON_ADSL if line == "adsl" else set()
    assert home.keys() == (family.keys() | ADDED) - off
    changed = {"teenager-download"} | ({"father-film"} if line == "adsl" else set())
    same = family.keys() - off - changed
    assert {name: home[name]["app"] for name in same} == {
        name: family[name]["app"] for name in same
    }
    parallel = home["teenager-download"]["app"]["params"]
    assert parallel == family["teenager-download"]["app"]["params"] | {"parallel": 20}


@pytest.mark.parametrize("line", LINES)
def test_a_line_has_the_queues_and_the_framing_of_the_table_of_lines(trials, line):
    table = lines.find(line)
    for gateway, spec in trials(line).items():
        links = {one["name"]: one for one in spec["links"]}
        for way, mbit in LINE_MBIT[line].items():
            modem = links[f"modem-{way}"]
            rate = Rate.parse(f"{mbit} Mbit/s")
            kind, _, limit = table.fifo(way, rate).partition(" limit=")
            assert modem["rate_bps"] == rate.bps
            assert modem["qdisc"]["kind"] == kind
            assert modem["qdisc"]["params"]["limit"] == int(limit.removesuffix("B"))
            assert modem["overhead"]["bytes"] == table.overhead.bytes
            shaped = links[way]["rate_bps"]
            assert shaped > 5e9 if gateway == "FIFO" else shaped == pytest.approx(0.95 * rate.bps)


@pytest.mark.parametrize("line", LINES)
def test_gateways_are_equal_on_all_lines(trials, line):
    assert tuple(trials(line)) == GATEWAYS
    for spec in trials(line).values():
        own = {one["name"]: one for one in spec["links"]}
        if own["up"]["qdisc"]["kind"] == "cake":
            for way in ("up", "down"):
                _charges_the_line(own[way], own[f"modem-{way}"])


def _charges_the_line(gateway, modem):
    """Checks that CAKE charges the bytes that the modem charges."""
    known = {"docsis": (18, False), "pppoe-llcsnap": (40, True), "ethernet": (38, False)}
    params = gateway["qdisc"]["params"]
    own = known.get(params["link"], (params.get("overhead"), False))
    assert own == (modem["overhead"]["bytes"], modem["overhead"].get("atm", False))


def test_only_one_gateway_has_servers_of_l4s(trials):
    for gateway, spec in trials("docsis").items():
        l4s = {
            app["name"] for app in spec["apps"] if (app["wan"]["cc"] or {}).get("kind") == "prague"
        }
        wanted = {"child-film", "child-web", "teenager-download"}
        assert l4s == (wanted if gateway == "DualPI2, L4S" else set())


def test_the_arithmetic_of_bbr_holds(tmp_path):
    study = studies.load("modern")
    computed = [claim for claim in study.claims.values() if not claim.needs]
    found = list(judge(computed, Laboratory(study, Asked(1), tmp_path / "out")))
    assert [one.word for one in found] == [HOLDS]


def test_rows_of_figures_are_of_the_named_applications(tmp_path):
    study = studies.load("modern")
    need = Trials("adsl", {"gateway": ("FIFO", "CAKE, hosts")})
    short = assignments(("duration=14 s", "measure.from=12 s"))
    laboratory = Laboratory(study, Asked(1, sets=short), tmp_path / "out")
    laboratory.run([need])
    results = laboratory.results(need)
    flows = results.table("flows").filter(results.table("flows")["primary"])
    rate = {
        (row["gateway"], row["flow"], row["direction"]): row["goodput_mbit"]
        for row in flows.iter_rows(named=True)
    }
    with_scenario = results.table("flows")
    assert "scenario" not in with_scenario.columns  # One scenario has no such condition.
    hosts = host_share("mother-update", "teenager-download")(results)
    for row in hosts.iter_rows(named=True):
        own, other = (
            rate[row["series"], flow, "down"] for flow in ("mother-update", "teenager-download")
        )
        assert row["middle"] == pytest.approx(100 * own / (own + other))
    scores = worse("mother-meeting", "mos_{}", "min")(results)
    assert set(scores["series"]) == {"FIFO", "CAKE, hosts"}
    assert all(1 <= score <= 4.5 and not math.isnan(score) for score in scores["middle"])
    assert BULK["up"] == ("mother-backup",)
