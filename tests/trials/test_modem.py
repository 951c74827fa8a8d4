"""A modem beyond the gateway, from the scenario to the effect of shaping below its rate."""

import aqmlab
import pytest
from aqmlab import Scenario
from aqmlab.base.errors import ScenarioError
from aqmlab.engines.trial_spec import KindSpec
from aqmlab.planning.lowering import resolve
from aqmlab.planning.planner import load

HOME = Scenario(
    duration="20 s",
    path={
        "rate": "18/1.8 Mbit/s",
        "rtt": "20 ms",
        "qdisc": "fq_codel",
        "modem": {"rate": "20/2 Mbit/s", "up": {"qdisc": "pfifo limit=100"}},
    },
    apps={"game": {"kind": "game"}, "backup": {"kind": "bulk", "direction": "up"}},
)


@pytest.mark.parametrize(
    ("inner", "up", "down"),
    [
        ({}, ["up", "modem-up"], ["modem-down", "down"]),
        (
            {"lan": "1 Gbit/s"},
            ["lan-up", "up", "modem-up"],
            ["modem-down", "down", "lan-down"],
        ),
        (
            {"wifi": {"mcs": 15}},
            ["wifi-up", "up", "modem-up"],
            ["modem-down", "down", "wifi-down"],
        ),
    ],
    ids=["alone", "lan", "wifi"],
)
def test_a_modem_is_the_last_link_up_and_the_first_down(inner, up, down):
    spec = resolve(HOME.but(path=inner)).spec
    names = [link.name for link in spec.links]
    for app in spec.apps:
        assert [names[at] for at in app.up.links] == up
        assert [names[at] for at in app.down.links] == down


def test_both_ways_of_a_modem_are_written_at_once_or_apart():
    links = {link.name: link for link in resolve(HOME).spec.links}
    assert links["modem-up"].rate_bps == 2_000_000
    assert links["modem-up"].qdisc == KindSpec(kind="pfifo", params={"limit": 100})
    assert links["modem-down"].rate_bps == 20_000_000
    assert links["modem-down"].qdisc == KindSpec(kind="pfifo", params={})
    both = HOME.set("path.modem.queue", "bfifo").set("path.modem.overhead", "docsis")
    for link in resolve(both).spec.links[2:]:
        assert (link.qdisc.kind, link.overhead.bytes) == ("bfifo", 18)
    assert Scenario.from_toml(both.to_toml()) == both


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("rate", "fast", "path.modem.rate: `fast` is not a rate"),
        ("qdisc", "fifo", "path.modem.qdisc: unknown discipline `fifo`"),
        ("loss", "1 %", "path.modem.loss: unknown key `loss`"),
        ("down.jitter", "1 ms", "path.modem.down.jitter: unknown key `jitter`"),
    ],
)
def test_slips_are_named_as_they_were_written(tmp_path, key, value, said):
    file = tmp_path / "home.toml"
    file.write_text(f'{HOME.to_toml()}\n[vary]\npath.modem.{key} = ["{value}"]\n')
    with pytest.raises(ScenarioError) as caught:
        load(file)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("said", "bps"),
    [
        ("95 %", [1_900_000, 19_000_000]),
        ("90/100%", [2_000_000, 18_000_000]),
        ("30/3 Mbit/s", [3_000_000, 30_000_000]),
    ],
)
def test_the_gateways_rates_may_be_shares_of_the_modems(said, bps):
    home = HOME.set("path.rate", said)
    assert [link.rate_bps for link in resolve(home).spec.links[:2]] == bps
    assert Scenario.from_toml(home.to_toml()) == home


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ("0 %", "path.rate: `0 %` is a rate of zero"),
        ("120 %", "path.rate: `120 %` is not between 0 and 1"),
        ("1/2/3 %", "path.rate: `1/2/3 %` are more than two shares, down before up"),
        ("95", "path.rate: `95` is not a rate"),
    ],
)
def test_what_is_no_share_is_named(said, problem):
    with pytest.raises(ScenarioError) as caught:
        HOME.set("path.rate", said)
    assert problem in str(caught.value)


def test_a_share_without_a_modem_is_of_nothing():
    text = 'path = { rate = "95 %" }\n[apps.a]\nkind = "bulk"\n'
    with pytest.raises(ScenarioError, match=r"`95 %` is a share of the modem's rate, and there is"):
        Scenario.from_toml(text)


def test_a_modem_without_a_rate_is_asked_for_it():
    with pytest.raises(ScenarioError, match="rate"):
        Scenario.from_toml('path = { rate = "9/1 Mbit/s", modem = { qdisc = "pfifo" } }')


def test_a_gateway_manages_only_what_waits_at_it(tmp_path):
    rates = ["18/1.8 Mbit/s", "100/100 Mbit/s"]
    results = aqmlab.run(HOME, path__rate=rates, path__qdisc=["pfifo", "fq_codel"], out=tmp_path)
    rows = results.flows.filter(results.flows["flow"] == "game").sort("direction")
    waits = {
        (row["rate"], row["qdisc"]): row["rtt_p50_ms"]
        for row in rows.iter_rows(named=True)
        if row["direction"] == "up"
    }
    assert waits["18/1.8 Mbit/s", "fq_codel"] < 60
    assert waits["100/100 Mbit/s", "fq_codel"] > 300  # the whole queue is in the modem
    assert waits["18/1.8 Mbit/s", "pfifo"] > 300
    queues = {label.brief for label in results.labels.values()}
    assert queues == {
        f"{queue} {rate}" for queue in ("pfifo", "fq_codel") for rate in ("18/1.8", "100/100")
    }
