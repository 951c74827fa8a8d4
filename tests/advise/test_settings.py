"""`tc` accepts each option in the settings of gateways."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from aqmlab.advise.cases import GatewayCase, Setup
from aqmlab.advise.choices import GatewayChoice, Managed, Tier, gateways
from aqmlab.advise.settings import settings
from aqmlab.households.line import lines
from aqmlab.scenario.fields import Qdisc
from aqmlab.scenario.model import Scenario

pytestmark = pytest.mark.skipif(
    shutil.which("tc") is None, reason="tc is not installed: apt-get install iproute2"
)

BARE = Scenario.from_dict(
    {"duration": "5 s", "path": {"rate": "10/1 Mbit/s"}, "apps": {"x": {"kind": "bulk"}}}
)

EVERY_KIND_OF_VALUE = (
    "pfifo limit=300",
    "bfifo limit=60kB",
    "codel target=7.5ms interval=80ms ecn=true ce_threshold=off",
    "fq_codel limit=600 quantum=300B memory_limit=4MB flows=64 ecn=false",
    "pie target=20ms alpha=4 ecn=true bytemode=true dq_rate_estimator=false",
    "fq_pie target=20ms ecn=false bytemode=false dq_rate_estimator=true ecn_prob=20",
    "cake diffserv=diffserv4 isolation=dual-srchost rtt=30ms ack_filter=on wash=true memlimit=1MB",
    "cake network=metro ingress=true autorate_ingress=true ack_filter=aggressive",
)


def _settings(choice: GatewayChoice) -> dict[str, str]:
    setup = Setup(BARE, lines()["docsis"], {"mine": choice})
    return settings(setup, GatewayCase(Tier.parse("20/2 Mbit/s"), "mine", 95))


def _refusal(line: str) -> str:
    """The refusal of `tc`, which reads all options before it looks for the device."""
    words = line.replace("eth0", "nowhere").replace("ifb4wan", "nowhere").split()
    return subprocess.run(words, capture_output=True, text=True, check=False).stderr.strip()


@pytest.mark.parametrize("qdisc", EVERY_KIND_OF_VALUE)
def test_tc_reads_each_parameter(qdisc: str) -> None:
    managed = Managed(qdisc=Qdisc.model_validate(qdisc))
    text = _settings(GatewayChoice(title="mine", up=managed, down=managed))["tc"]
    _are_read(text)


@pytest.mark.parametrize("name", [name for name, one in gateways().items() if one.shapes])
def test_tc_reads_the_settings_of_each_gateway(name: str) -> None:
    _are_read(_settings(gateways()[name])["tc"])


def _are_read(text: str) -> None:
    read = [line for line in text.splitlines() if line.startswith("tc ") and " del " not in line]
    assert any("handle 10:" in line for line in read)
    for line in read:
        assert _refusal(line) == 'Cannot find device "nowhere"', line


def test_tc_refuses_what_it_does_not_know() -> None:
    line = "tc qdisc add dev eth0 root codel ecn False"
    assert 'What is "False"?' in _refusal(line)
