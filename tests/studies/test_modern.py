"""Details of the study of CAKE, L4S and BBRv3 in homes of 2026."""

import pytest
from aqmlab import studies
from aqmlab.households import line as lines
from aqmlab.households import loading, traffic
from aqmlab.planning import planner
from aqmlab.planning.change_text import assignments
from aqmlab.scenario.quantities import Rate
from aqmlab.studies.claims import HOLDS, judge
from aqmlab.studies.laboratory import Asked, Laboratory
from aqmlab.studies.papers.modern import rows
from aqmlab.studies.papers.modern.claims import coexistence
from aqmlab.studies.papers.modern.figures import CAKES, CLASSIC, LINES
from aqmlab.studies.trials import Trials
from msgspec.structs import replace

ADDED = {"mother-update", "father-call", "child-web"}
"""The activities of the study's home that the built-in home2026-family does not have."""
OFF_ON_ADSL = {"doorbell-camera"}
GATEWAYS = (*CLASSIC, *CAKES, "DualPI2", "DualPI2, L4S")
FROM_S = 20


@pytest.fixture(scope="module")
def trials():
    """A function that returns the trials of a line, by gateway."""

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
        for way, mbit in rows.LINE_MBIT[line].items():
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


def test_sawteeth_are_read_in_the_measured_interval():
    plan = planner.load(studies.load("modern").scenario("sawtooth", "sim"))
    assert {one.spec.interval_ns[0] / 1e9 for one in plan.trials} == {coexistence.FROM_S}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """The results of short trials on two lines."""
    study = studies.load("modern")
    gateways = {"gateway": ("CAKE, hosts", "DualPI2, L4S")}
    needs = [Trials(line, gateways) for line in ("adsl", "vdsl")]
    sets = assignments((f"duration={FROM_S + 4} s", f"measure.from={FROM_S} s"))
    laboratory = Laboratory(study, Asked(1, sets=sets), tmp_path_factory.mktemp("modern") / "out")
    laboratory.run(needs)
    return laboratory.results(*needs)


def _goodputs(results):
    flows = results.table("flows")
    own = flows.filter(flows["primary"] & (flows["direction"] == "down"))
    return {
        (row["scenario"], row["gateway"], row["flow"]): row["goodput_mbit"]
        for row in own.iter_rows(named=True)
    }


def test_shares_are_of_the_named_downloads_and_of_the_lines_rate(results):
    rates = _goodputs(results)
    hosts = rows.host_share("mother-update", "teenager-download")(results)
    lines_used = rows.line_share("down")(results)
    bulk = rows.line_share("down", rows.BULK)(results)
    assert hosts.height == lines_used.height == bulk.height == 4
    for share, of_all, of_bulk in zip(
        hosts.iter_rows(named=True),
        lines_used.iter_rows(named=True),
        bulk.iter_rows(named=True),
        strict=True,
    ):
        at = share["scenario"], share["series"]
        one, many = (rates[*at, flow] for flow in rows.BULK["down"])
        line_mbit = rows.LINE_MBIT[at[0]]["down"]
        every = sum(rate for key, rate in rates.items() if key[:2] == at)
        assert share["middle"] == pytest.approx(100 * one / (one + many))
        assert of_bulk["middle"] == pytest.approx(100 * (one + many) / line_mbit)
        assert of_all["middle"] == pytest.approx(100 * every / line_mbit)
        assert of_bulk["middle"] < of_all["middle"] < 95


def test_the_worse_direction_of_a_call_counts(results):
    apps = results.table("apps")
    for metric, pick in (("mos_{}", min), ("frame_delay_{}_p95_ms", max)):
        names = [metric.format(way) for way in ("up", "down")]
        own = apps.filter((apps["flow"] == "mother-meeting") & apps["metric"].is_in(names))
        for row in rows.worse("mother-meeting", metric, pick.__name__)(results).rows(named=True):
            values = own.filter(own["trial"] == row["trial"])["value"]
            assert values.len() == 2
            assert row["middle"] == pick(values)


def test_quantiles_are_over_the_samples_of_the_measured_interval(results, monkeypatch):
    series = results.table("app_series")
    own = series.filter((series["metric"] == "page_load_ms") & (series["t_s"] >= FROM_S))
    pages = rows.sample_quantiles("child-web", "page_load_ms")(results)
    assert set(pages["trial"]) == set(own["trial"])
    for row in pages.iter_rows(named=True):
        samples = own.filter(own["trial"] == row["trial"])["value"]
        assert row["middle"] == samples.median()
    queues = rows.gauge_quantiles("down", {"L4S": "delay_l_ms"}, least=0.01)(results)
    assert set(queues["gateway"]) == {"DualPI2, L4S"}
    to_s = own["t_s"].min()
    trials = [replace(one, measure_to_s=to_s) for one in results.manifest.trials]
    monkeypatch.setattr(results, "manifest", replace(results.manifest, trials=trials))
    shorter = own.filter(own["t_s"] <= to_s)
    assert 0 < shorter.height < own.height
    for row in rows.sample_quantiles("child-web", "page_load_ms")(results).iter_rows(named=True):
        samples = shorter.filter(shorter["trial"] == row["trial"])["value"]
        assert row["middle"] == samples.median()
    gauges = results.table("queue_gauges")
    gauges = gauges.filter(
        (gauges["link"] == "down")
        & (gauges["gauge"] == "delay_l_ms")
        & gauges["t_s"].is_between(FROM_S, to_s)
    )
    early = rows.gauge_quantiles("down", {"L4S": "delay_l_ms"}, least=0.0)(results)
    for row in early.iter_rows(named=True):
        samples = gauges.filter(gauges["trial"] == row["trial"])["value"]
        assert row["middle"] == samples.quantile(0.5, "linear")
    assert queues["least"].min() == 0.01 <= queues["most"].max()
