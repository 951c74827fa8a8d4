"""The commands of `aqmlab advise` on a real kernel: applied, read back, and measured."""

from __future__ import annotations

import aqmlab
import polars as pl
import pytest
from aqmlab.advise.cases import GatewayCase, Setup
from aqmlab.advise.choices import Tier, gateways_of
from aqmlab.advise.settings import settings
from aqmlab.engines.kernel.errors import MachineError
from aqmlab.engines.kernel.pasted import paste
from aqmlab.households import line
from aqmlab.households.traffic import scenario_of

pytestmark = pytest.mark.vm

HOME = aqmlab.Household(
    title="A game and a call beside a backup",
    people={
        "anna": {"devices": {"console": ["game"], "telephone": ["telephone-call"]}},
        "ben": {"devices": {"notebook": ["cloud-backup"]}},
    },
    line="ip",
    tier="10/1 Mbit/s",
    duration="15 s",
)


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


def test_the_improvement_that_an_advice_promises_is_there_on_the_kernel() -> None:
    """Compares FQ-CoDel at 95 % of the line with today's FIFO, on both engines."""
    today, better = (
        {"label": "today", "path.qdisc": "pfifo limit=500", "path.rate": "10/1 Mbit/s"},
        {"label": "sqm", "path.qdisc": "fq_codel", "path.rate": "9.5/0.95 Mbit/s"},
    )
    scenario = scenario_of(HOME).but(vary={"gateway": [today, better]}, seeds=1)
    results = aqmlab.run(scenario, engine="sim,kernel", jobs=1)
    flows = results.flows.filter(direction="up").filter(pl.col("flow") != "ben-backup")
    late = {
        (engine, gateway, flow): p95
        for engine, gateway, flow, p95 in flows.select(
            "engine", "gateway", "flow", "rtt_p95_ms"
        ).iter_rows()
    }
    assert len(late) == 8
    for (engine, gateway, flow), p95_ms in late.items():
        limit_ms = 100 if gateway == "sqm" else 400
        assert (p95_ms < limit_ms) is (gateway == "sqm"), (engine, gateway, flow, p95_ms)
