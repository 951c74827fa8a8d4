"""The commands of `aqmlab advise` on a real kernel: applied, read back, and measured."""

from __future__ import annotations

import re
from collections.abc import Mapping

import aqmlab
import pytest
from aqmlab.advise.advice import Advice
from aqmlab.advise.bench import CaseOutcome
from aqmlab.advise.cases import GatewayCase, Setup
from aqmlab.advise.choices import TODAY, Tier, gateways_of
from aqmlab.advise.conclusion import AppWords, Conclusion, Runs, concluded
from aqmlab.advise.settings import settings
from aqmlab.engines.kernel.errors import MachineError
from aqmlab.engines.kernel.pasted import paste
from aqmlab.households import line
from aqmlab.households.tier import rates_of
from aqmlab.households.traffic import named_apps, scenario_of
from aqmlab.results.verdicts.judge import judge

pytestmark = pytest.mark.vm

HOME = aqmlab.Household(
    title="A game and a call beside a backup",
    people={
        "anna": {"devices": {"console": ["game"], "telephone": ["telephone-call"]}},
        "ben": {"devices": {"notebook": ["cloud-backup"]}},
    },
    line="docsis",
    tier="10/1 Mbit/s",
    duration="25 s",
)
SEEDS = 3


@pytest.mark.parametrize(
    ("name", "overhead", "layer"),
    [("docsis", "overhead 4 mpu 64", "ethernet"), ("adsl", "overhead 40", "atm")],
)
@pytest.mark.parametrize("qdisc", ["sqm", "pie", "codel"])
def test_the_kernel_then_has_what_the_commands_say(name, overhead, layer, qdisc) -> None:
    setup = Setup(scenario_of(HOME), line.lines()[name], gateways_of(qdisc))
    case = GatewayCase(Tier.parse("20/2 Mbit/s"), qdisc, 95)
    device = line.lines()[name].device.linux
    shown = paste(settings(setup, case)["tc"] * 2, device)  # a second paste replaces the first
    assert shown.keys() == {device, "ifb4wan"}
    kind = {"sqm": "fq_codel"}.get(qdisc, qdisc)
    for own, rate in ((device, "1900Kbit"), ("ifb4wan", "19Mbit")):
        told = shown[own]
        assert "qdisc htb 1: root" in told["qdisc"]
        assert overhead in told["qdisc"] and f"linklayer {layer}" in told["qdisc"]
        assert f"qdisc {kind} 10: parent 1:1" in told["qdisc"]
        assert f"rate {rate} ceil {rate}" in told["class"]
    assert "qdisc ingress ffff:" in shown[device]["qdisc"]
    assert "Egress Redirect to device ifb4wan" in shown[device]["filter"]


def test_a_command_that_the_kernel_refuses_is_named() -> None:
    with pytest.raises(MachineError, match="no_such_discipline"):
        paste("tc qdisc replace dev eth0 root no_such_discipline\n", "eth0")


def test_the_improvement_that_an_advice_promises_is_there_on_the_kernel(tmp_path) -> None:
    """Runs today's gateway and the recommended one on both engines, and compares the conclusions.

    The recommended gateway has the rates and the discipline that the kernel showed after the
    commands. The kernel engine has one bottleneck in each direction, so the modem's queue behind
    the gateway's shaper is absent on both engines.
    """
    advice = aqmlab.advice(HOME, tiers=HOME.tier, gateways="sqm", seeds=SEEDS, out=tmp_path / "a")
    assert advice.better is not None and advice.case is not None
    device = line.find(HOME.line).device.linux
    pasted = paste(advice.settings["tc"], device)
    today = {f"path.{way}.qdisc": qdisc for way, qdisc in fifos(HOME).items()}
    better = {"label": advice.better.name, "path.shaper": "htb"}
    for way, own in (("up", device), ("down", "ifb4wan")):
        better |= as_pasted(way, pasted[own])
    steps = [{"label": TODAY, "path.rate": HOME.tier} | today, better]
    scenario = scenario_of(HOME).but(vary={"gateway": steps}, seeds=SEEDS)
    results = aqmlab.run(scenario, engine="sim,kernel", jobs=1, out=tmp_path / "b")
    print(results.flows.select("engine", "gateway", "seed", "flow", "direction", "rtt_p95_ms"))
    found = {engine: concluded_on(results, engine, advice) for engine in ("sim", "kernel")}
    for name, one in found.items():
        print(name, one.headline, *(said.text for said in one.sentences), sep="\n")
    compare(advice, found["sim"], found["kernel"])


def compare(advice: Advice, simulated: Conclusion, real: Conclusion) -> None:
    """Checks that verdicts are equal, and that times and rates agree within the grid's bounds.

    The bounds are 10 % for round-trip times and 5 % for throughput
    (`docs/explanation/validation.md`).
    """
    for one in (simulated, real):
        assert one.facts.better == advice.facts.better
        assert one.facts.compared_at == advice.facts.compared_at
    for name, kernel in real.results.items():
        words = [
            {app: verdict.word for app, verdict in own.outcomes[real.at].apps.items()}
            for own in (advice.results[name], simulated.results[name], kernel)
        ]
        assert words[0] == words[1] == words[2], name
    gains = [{gain.app: gain for gain in one.facts.gains} for one in (simulated, real)]
    assert gains[0].keys() == gains[1].keys() != set()
    for app, gain in gains[1].items():
        assert gains[0][app].today_ms == pytest.approx(gain.today_ms, rel=0.1, abs=0.1), app
        assert gains[0][app].better_ms == pytest.approx(gain.better_ms, rel=0.1, abs=0.1), app
    costs = [{cost.app: cost for cost in one.facts.costs} for one in (simulated, real)]
    assert costs[0].keys() == costs[1].keys()
    for app, cost in costs[1].items():
        assert costs[0][app].today_mbit == pytest.approx(cost.today_mbit, rel=0.05), app
        assert costs[0][app].better_mbit == pytest.approx(cost.better_mbit, rel=0.05), app


def fifos(home: aqmlab.Household) -> dict[str, str]:
    """Today's queue of the household's line, by direction."""
    rates = zip(("down", "up"), rates_of(home.tier), strict=True)
    return {way: line.find(home.line).fifo(way, rate) for way, rate in rates}


def as_pasted(way: str, shown: Mapping[str, str]) -> dict[str, str]:
    """The rate and the discipline of a direction, as the kernel showed them after the commands."""
    rate = re.search(r"class htb 1:1 .* rate (\d+(?:\.\d+)?)([KMG])bit ", shown["class"])
    found = re.search(
        r"qdisc fq_codel 10: parent 1:1 limit (\d+)p flows (\d+) quantum (\d+) target (\d+)ms"
        r" interval (\d+)ms memory_limit (\d+)Mb ecn",
        shown["qdisc"],
    )
    assert rate is not None and found is not None, shown
    limit, flows, quantum, target, interval, memory = found.groups()
    return {
        f"path.{way}.rate": f"{rate[1]} {rate[2].replace('K', 'k')}bit/s",
        f"path.{way}.qdisc": f"fq_codel limit={limit} flows={flows} quantum={quantum}B"
        f" target={target}ms interval={interval}ms memory_limit={memory}MiB",
    }


def concluded_on(results: aqmlab.Results, engine: str, advice: Advice) -> Conclusion:
    """The conclusion of the advice from the trials of one engine."""
    tier = Tier.parse(HOME.tier)
    setup = Setup(scenario_of(HOME), line.find(HOME.line), gateways_of("sqm"))
    found = {}
    for gateway in setup.gateways:
        trials = [
            one.id
            for one in results.manifest.trials
            if one.engine == engine and one.conditions["gateway"] == gateway
        ]
        verdicts = {one.app: one for one in judge(results.narrowed(trials))}
        case = advice.results[gateway].outcomes[tier].case
        found[gateway] = {tier: CaseOutcome(case, verdicts)}
    apps = [AppWords(one.name, "", one.words) for one in named_apps(HOME)]
    return concluded(setup, Runs([tier], tier, apps, found))
