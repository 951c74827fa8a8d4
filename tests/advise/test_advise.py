"""Advice from runs for small homes, and for the family of four of Boerlage and Collom."""

import json
from dataclasses import dataclass
from pathlib import Path

import aqmlab
import polars as pl
import pytest
from aqmlab import cli
from aqmlab.advise.advice import Advice, AdviceQuestion, advise
from aqmlab.advise.cases import GatewayCase, Setup
from aqmlab.advise.choices import TODAY, Tier, gateways_of, offer, tiers_of
from aqmlab.advise.facts import ByMedian
from aqmlab.advise.settings import settings
from aqmlab.campaign.scheduler import Silence
from aqmlab.households.line import lines
from aqmlab.households.traffic import scenario_of
from aqmlab.planning import planner

HOME = aqmlab.Household(
    title="A call beside a backup",
    people={"anna": {"devices": {"telephone": ["telephone-call"], "notebook": ["cloud-backup"]}}},
    duration="15 s",
    line="docsis",
    tier="20/2 Mbit/s",
)


class Counted(Silence):
    """A progress report that counts the trials to run."""

    def __init__(self) -> None:
        self.count = 0

    def begin(self, trials, missing) -> None:
        self.count += len(missing)


@dataclass(frozen=True)
class Asked:
    """The advice on `HOME`, whose runs several tests read."""

    file: Path
    folder: Path
    advice: Advice


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Asked:
    place = tmp_path_factory.mktemp("advice")
    file, folder = place / "home.toml", place / "runs"
    file.write_text(HOME.to_toml())
    return Asked(file, folder, advise(_asked(source=file), out=folder, jobs=1))


def _asked(**changes) -> AdviceQuestion:
    given = {"source": HOME, "tiers": "10/1 Mbit/s", "gateways": "sqm-up", "seeds": 2}
    return AdviceQuestion(**(given | changes))


def test_tiers_without_a_unit_are_in_mbit() -> None:
    assert [*map(str, tiers_of("50/20, 25/5"))] == ["25/5 Mbit/s", "50/20 Mbit/s"]
    assert [*map(str, tiers_of("2/1, 1.5/0.5 Gbit/s"))] == ["1500/500 Mbit/s", "2000/1000 Mbit/s"]


def test_a_line_bounds_the_tiers_of_a_list_and_says_so(tmp_path) -> None:
    adsl = lines()["adsl"]
    kept = offer("nbn", Tier.parse("16/1 Mbit/s"), adsl)
    assert [*map(str, kept.tiers)] == ["12/1 Mbit/s", "16/1 Mbit/s"]
    assert kept.limit == (
        "ADSL with PPPoE over ATM carries at most 24/3.3 Mbit/s. Faster speeds need another kind"
        " of line. Left out: 25/5, 25/10, 50/20, 100/40."
    )
    assert offer("nbn", None, lines()["docsis"]).limit == ""
    assert offer("50/10", None, None).left_out == ()
    own = tmp_path / "tiers.toml"
    own.write_text('tiers = ["20/1 Mbit/s", "30/1 Mbit/s"]')
    assert [*map(str, offer(str(own), None, adsl).tiers)] == ["20/1 Mbit/s"]
    assert [*map(str, offer("us", Tier.parse("16/1 Mbit/s"), adsl).tiers)] == ["16/1 Mbit/s"]


@pytest.mark.parametrize(
    ("asked", "today", "told"),
    [
        ("50/10", None, "--tiers: `50/10 Mbit/s` is too fast for ADSL with PPPoE over ATM"),
        ("12/1,16/4", None, "--tiers: `16/4 Mbit/s` is too fast"),
        ("us", None, "--tiers: all tiers of `us` are too fast"),
        ("nbn", "50/20 Mbit/s", "--line: the household's tier, 50/20 Mbit/s, is too fast"),
    ],
)
def test_a_tier_that_the_line_cannot_carry_is_refused(asked, today, told) -> None:
    with pytest.raises(aqmlab.ScenarioError) as caught:
        offer(asked, None if today is None else Tier.parse(today), lines()["adsl"])
    assert str(caught.value).startswith(told)
    assert caught.value.hint == "give tiers of at most 24/3.3 Mbit/s, or another `--line`"


def test_an_advice_rests_on_runs_and_a_second_one_repeats_none(tmp_path) -> None:
    ran = Counted()
    first = advise(_asked(), out=tmp_path / "one", jobs=1, progress=ran)
    assert {str(tier) for tier in first.tiers} == {"10/1 Mbit/s", "20/2 Mbit/s"}  # and today's tier
    # On each of two tiers, two seeds of today's gateway and of each of three shares run.
    assert ran.count == first.trials == 2 * (2 + 3 * 2)
    assert first.results[TODAY].served is None
    assert first.better is not None and str(first.better.served) == "10/1 Mbit/s"
    again = Counted()
    second = advise(_asked(), out=tmp_path / "one", jobs=1, progress=again)
    assert again.count == 0
    assert second.as_json() == first.as_json()


def test_settings_have_the_lines_overhead_and_the_share_that_was_run(asked) -> None:
    advice = asked.advice
    assert advice.case is not None
    kbit = 20 * advice.case.share  # 1 % of 2 Mbit/s is 20 kbit/s
    assert f"rate {kbit}kbit" in advice.settings["tc"]
    assert "mpu 64 overhead 4 linklayer ethernet" in advice.settings["tc"]
    assert "type ifb" not in advice.settings["tc"]
    assert "sqm.wan.download='0'" in advice.settings["uci"]
    assert f"bw {kbit * 1500 // 1518}Kbit/s" in advice.settings["dnctl"]


def test_sentences_name_the_application_as_a_person_would_and_both_sides(asked) -> None:
    said = {}
    for one in asked.advice.sentences:
        said.setdefault(one.about, []).append(one.text)
    assert any("anna's telephone call" in text for text in said["spoils"])
    assert any("anna's cloud backup" in text for text in said["cost"])
    assert any("round trips of anna's telephone call" in text for text in said["gain"])
    assert any("simulations" in text for text in said["detail"])


def test_cases_before_a_modem_have_its_queue_and_framing() -> None:
    setup = Setup(scenario_of(HOME), lines()["docsis"], gateways_of("sqm-up,modem-pie"))
    tier = Tier.parse("10/1 Mbit/s")
    plan = planner.load(setup.whole(setup.cases([tier]), 1))
    specs = {str(one.conditions["case"]): one.spec for one in plan.trials}
    assert len(specs) == 5
    today, shaped, pie = (
        {link.name: link for link in specs[f"10/1 {name}"].links}
        for name in ("today", "sqm-up 95 %", "modem-pie")
    )
    assert today["up"].rate_bps == 10_000_000_000
    assert today["modem-up"].qdisc.kind == "bfifo"
    assert (shaped["up"].rate_bps, shaped["up"].qdisc.kind) == (950_000, "fq_codel")
    assert shaped["up"].overhead == today["modem-up"].overhead
    assert shaped["down"].rate_bps == 10_000_000_000
    assert pie["modem-up"].qdisc.kind == "pie"


def test_a_scenario_keeps_its_own_path_and_dummynets_disciplines() -> None:
    scenario = scenario_of(aqmlab.Household.from_toml(
        'scenario = "boerlage2016-d6"\n[things]\nx = ["game"]\n'
    ))  # fmt: skip
    setup = Setup(scenario, None, gateways_of("sqm"))
    cases = setup.cases([Tier.parse("25/5 Mbit/s")])
    assert cases == [GatewayCase(cases[0].tier, TODAY), GatewayCase(cases[0].tier, "sqm")]
    today, sqm = (one.spec.links for one in planner.load(setup.whole(cases, 1)).trials)
    assert [link.qdisc.kind for link in today] == ["pfifo_freebsd"] * 2
    assert [link.qdisc.kind for link in sqm] == ["fq_codel_freebsd"] * 2


def test_a_cake_without_a_modem_shapes_and_charges_as_the_settings_say() -> None:
    path = {"rate": "16/1 Mbit/s", "overhead": {"bytes": 10, "atm": True}}
    scenario = aqmlab.Scenario(path=path, apps={"call": {"kind": "voip"}})
    setup = Setup(scenario, None, gateways_of("piece-of-cake"))
    cases = setup.cases([Tier.parse("24/2 Mbit/s")])
    up = planner.load(setup.whole(cases, 1)).trials[1].spec.links[0]
    assert (up.rate_bps, up.shaper, up.qdisc.kind) == (2_000_000, "cake", "cake")
    assert (up.qdisc.params["overhead"], up.qdisc.params["framing"]) == (10, "atm")
    pasted = settings(setup, cases[1])["tc"]
    assert "cake bandwidth 2000kbit besteffort nat overhead 10 atm" in pasted


PPPOA = """
[path]
rate = "95 %"
rtt = "30 ms"
qdisc = "fq_codel"
loss = "1 %"

[path.modem]
rate = "16/1 Mbit/s"
qdisc = "pfifo limit=180"
overhead = { bytes = 10, atm = true }

[apps.call]
kind = "voip"
"""


def test_the_modem_of_a_scenario_is_the_line(tmp_path) -> None:
    file = tmp_path / "pppoa.toml"
    file.write_text(PPPOA)
    question = _asked(source=file, tiers="24/2", gateways="sqm,piece-of-cake", seeds=1)
    advice = advise(question, out=tmp_path / "runs", jobs=1)
    assert advice.note == ""
    specs = aqmlab.load(advice.folder).trials.select("case", "spec").rows()
    links = {case: {one["name"]: one for one in json.loads(spec)["links"]} for case, spec in specs}
    today, cake = links["24/2 today"], links["24/2 piece-of-cake 95 %"]
    assert (today["up"]["rate_bps"], today["up"]["qdisc"]["kind"]) == (10_000_000_000, "pfifo")
    assert today["modem-up"]["rate_bps"] == cake["modem-up"]["rate_bps"] == 2_000_000
    assert today["modem-up"]["qdisc"]["params"]["limit"] == 180
    assert (cake["up"]["rate_bps"], cake["up"]["shaper"]) == (1_900_000, "cake")
    charged = cake["up"]["qdisc"]["params"]
    assert (charged["link"], charged["overhead"], charged["framing"]) == ("ip", 10, "atm")
    assert {app["up"]["loss"] for app in json.loads(specs[0][1])["apps"]} == {0.01}


def test_the_directions_of_a_modem_have_one_overhead(tmp_path) -> None:
    file = tmp_path / "pppoa.toml"
    file.write_text(PPPOA + '[path.modem.down]\noverhead = "ip"\n')
    with pytest.raises(aqmlab.ScenarioError, match=r"path\.modem\.overhead: the directions differ"):
        advise(_asked(source=file), out=tmp_path / "runs", jobs=1)


def test_a_line_keeps_the_home_network_and_the_impairments_of_a_scenario() -> None:
    path = {"rate": "16/1 Mbit/s", "loss": "1 %", "lan": "100 Mbit/s"}
    scenario = aqmlab.Scenario(path=path, apps={"call": {"kind": "voip"}})
    setup = Setup(scenario, lines()["docsis"], gateways_of("sqm"))
    plan = planner.load(setup.whole(setup.cases([Tier.parse("24/2 Mbit/s")]), 1))
    for one in plan.trials:
        assert {"lan-up", "lan-down"} <= {link.name for link in one.spec.links}
        assert {app.up.loss for app in one.spec.apps} == {0.01}


@pytest.mark.parametrize(
    ("read", "text", "where", "number"),
    [
        (gateways_of, "sqm,,codel", "--gateways", 2),
        (gateways_of, "sqm,", "--gateways", 2),
        (tiers_of, "25/5,, 50/20 Mbit/s", "--tiers", 2),
        (tiers_of, ",25/5", "--tiers", 1),
    ],
)
def test_an_empty_member_of_a_list_is_refused(read, text, where, number) -> None:
    with pytest.raises(aqmlab.ScenarioError) as caught:
        read(text)
    assert (caught.value.where, caught.value.problem) == (
        where,
        f"value {number} of `{text}` is empty",
    )


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ("FQ-CoDel", "gateways with it: sqm-up, sqm, provider"),
        ("cake", "gateways with it: piece-of-cake, layer-cake"),
        ("sqn", "did you mean `sqm`?"),
        ("xyz", "there are codel, fq-pie"),
    ],
)
def test_an_unknown_gateway_gets_the_gateways_with_the_discipline_of_its_name(given, hint) -> None:
    with pytest.raises(aqmlab.ScenarioError) as caught:
        gateways_of(f"sqm,{given}")
    assert caught.value.where == "--gateways"
    assert f"`{given}`" in caught.value.problem
    assert (caught.value.hint or "").startswith(hint)


def test_the_other_gateways_of_a_scenario_with_cake_shape_otherwise() -> None:
    scenario = aqmlab.Scenario(
        path={"rate": "16/1 Mbit/s", "qdisc": "piece_of_cake"}, apps={"call": {"kind": "voip"}}
    )
    setup = Setup(scenario, None, gateways_of("sqm,layer-cake"))
    plan = planner.load(setup.whole(setup.cases([Tier.parse("24/2 Mbit/s")]), 1))
    today, sqm, layers = (one.spec.links[0] for one in plan.trials)
    assert [link.qdisc.kind for link in (today, sqm, layers)] == ["cake", "fq_codel", "cake"]
    assert [link.shaper for link in (today, sqm, layers)] == ["cake", "line", "cake"]
    assert {link.rate_bps for link in (today, sqm, layers)} == {2_000_000}


def test_the_family_of_four_concludes_as_boerlage_and_collom_do(tmp_path) -> None:
    """With FQ-CoDel, the tier 12/1 Mbit/s suffices if transfers may take longer (section VI).

    With FIFO, the tier 50/20 Mbit/s suffices by the median round-trip time. By the 95th percentile,
    only a faster tier suffices, and the advice says so.
    """
    asked = AdviceQuestion("boerlage2016-d6", gateways="sqm", seeds=3)
    advice = advise(asked, out=tmp_path / "d6")
    today, fq = advice.results[TODAY], advice.results["sqm"]
    assert str(fq.served) == "12/1 Mbit/s"
    assert str(today.served) == "100/40 Mbit/s"
    (of_today, _) = advice.facts.gateways
    assert ByMedian(apps=("game",), tier="50/20 Mbit/s") in of_today.by_median
    # The study reads the game's round-trip times at the home's end, as the paper probably did.
    flows = aqmlab.load(tmp_path / "d6").flows.filter(flow="game", direction="up")
    medians = flows.group_by("case").agg(pl.col("rtt_p50_ms").median())
    shorter = medians.filter(pl.col("case").str.ends_with("sqm"))["rtt_p50_ms"]
    assert len(shorter) == 5 and shorter.max() <= 26
    assert {str(tier) for tier in fq.outcomes} == {str(tier) for tier in advice.tiers}
    for tier, outcome in today.outcomes.items():
        fast = str(tier) in ("50/20 Mbit/s", "100/40 Mbit/s")
        assert (outcome.apps["game"].medians.rtt_p50_ms < 200) is fast, tier


def test_the_command_prints_tiers_sentences_and_settings(asked, capsys) -> None:
    words = ["advise", str(asked.file), "--tiers", "10/1 Mbit/s", "--gateways", "sqm-up"]
    words += ["--seeds", "2", "--jobs", "1", "--out", str(asked.folder)]
    assert cli.status_of(words) == 0
    shown = capsys.readouterr()
    assert "10/1 Mbit/s" in shown.out and "tc qdisc replace dev eth0" in shown.out
    assert "slowest speed at which nobody is badly off" in shown.out
    assert "In detail:" in shown.out
    assert cli.status_of([*words, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["better"] == "sqm-up" and told["settings"]["tc"]
    assert told == json.loads(json.dumps(asked.advice.as_json()))


def test_a_built_in_scenario_can_be_asked_about(tmp_path) -> None:
    question = AdviceQuestion("voip-under-load", tiers="20/2 Mbit/s", gateways="sqm", seeds=1)
    results = advise(question, out=tmp_path / "x").results
    tier = Tier.parse("20/2 Mbit/s")
    words = [results[name].outcomes[tier].apps["call"].word for name in (TODAY, "sqm")]
    assert words == ["bad", "good"]
    assert results["sqm"].served == tier


def test_many_tiers_are_bisected_and_none_is_claimed_that_was_not_run(tmp_path, capsys) -> None:
    path = tmp_path / "home.toml"
    path.write_text(HOME.model_copy(update={"duration": aqmlab.Duration.parse("6 s")}).to_toml())
    tiers = "2/0.5,3/0.5,4/0.5,6/1,8/1,10/1,15/1.5,20/2,30/3 Mbit/s"
    words = ["advise", str(path), "--tiers", tiers, "--gateways", "sqm-up", "--seeds", "1"]
    words += ["--out", str(tmp_path / "out"), "--jobs", "1"]
    assert cli.status_of([*words, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    ran = told["gateways"]["sqm-up"]["tiers"]
    assert len(told["tiers"]) == 9 and len(ran) < 9
    assert told["gateways"]["sqm-up"]["served"] in ran
    at = told["conclusion"]["compared_at"]
    assert at == "20/2 Mbit/s" and all(at in one["tiers"] for one in told["gateways"].values())
    assert cli.status_of(words) == 0
    assert "not run" in capsys.readouterr().out


def test_advice_is_asked_from_python_and_shown_briefly(asked: Asked) -> None:
    """The same request with lists of texts gives the same advice without another run."""
    again = aqmlab.advice(
        asked.file, tiers=["10/1 Mbit/s"], gateways=["sqm-up"], seeds=[1, 2], out=asked.folder
    )
    assert again.headline == asked.advice.headline
    assert repr(again).startswith("Advice(A call beside a backup: ") and len(repr(again)) < 200
    assert again.headline in str(again)
    assert "<pre>" in again._repr_html_()
    with pytest.raises(aqmlab.ScenarioError, match=r"^tiers: unknown list"):
        aqmlab.advice(HOME, tiers="nbm")


FAIR = """
duration = "5 s"
path = { rate = "20/4 Mbit/s", rtt = "20 ms", qdisc = "fq_codel limit=10240" }
[apps]
call = { kind = "voip" }
"""


@pytest.mark.parametrize("qdisc", ["fq_codel limit=10240", "fq_codel", "fq_codel flows=1024"])
def test_a_gateway_that_is_equal_to_todays_is_left_out_with_a_sentence(
    tmp_path, capsys, qdisc
) -> None:
    path = tmp_path / "fair.toml"
    path.write_text(FAIR.replace("fq_codel limit=10240", qdisc))
    words = ["advise", str(path), "--tiers", "20/4", "--gateways", "sqm,codel,provider"]
    assert cli.status_of([*words, "--seeds", "1", "--out", str(tmp_path / "out")]) == 0
    shown = capsys.readouterr()
    assert "trials: 2 (1 seed)" in shown.err
    sentences = ("sqm is the same as today.", "provider is the same as today.")
    assert all(f"On this path, {one}" in shown.out for one in sentences)
    assert "codel is the same" not in shown.out


def test_a_program_of_the_gateway_is_refused(tmp_path) -> None:
    text = (
        FAIR.replace("fq_codel limit=10240", "layer_cake") + 'rates = { kind = "cake_autorate" }\n'
    )
    path = tmp_path / "auto.toml"
    path.write_text(text)
    with pytest.raises(aqmlab.ScenarioError, match=r"apps\.rates: `cake_autorate` is a program of"):
        advise(AdviceQuestion(path, "20/4", "sqm", None, 1), out=tmp_path / "out")
