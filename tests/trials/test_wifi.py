"""A home network of 802.11n, from the scenario to the trial."""

import aqmlab
import pytest
from aqmlab import Scenario
from aqmlab.base.errors import ScenarioError
from aqmlab.planning.lowering import resolve
from aqmlab.planning.planner import load
from msgspec import UNSET

HOME = Scenario(
    duration="2 s",
    path={"rate": "100/20 Mbit/s", "qdisc": "fq_codel", "wifi": {"mcs": "15/7", "qdisc": "codel"}},
    apps={"file": {"kind": "bulk", "direction": "up"}},
)


def test_wifi_is_a_link_of_its_own_before_the_queue_and_after_it():
    spec = resolve(HOME).spec
    links = spec.links
    app = spec.apps[0]
    assert [links[at].name for at in app.up.links] == ["wifi-up", "up"]
    assert [links[at].name for at in app.down.links] == ["down", "wifi-down"]
    assert [link.own for link in links] == [UNSET, UNSET, True, False]
    assert [link.rate_bps for link in links[2:]] == [65_000_000, 130_000_000]
    assert [link.qdisc.kind for link in links[2:]] == ["codel", "codel"]


def test_a_whole_home_reads_back_as_it_was_written():
    assert Scenario.from_toml(HOME.to_toml()) == HOME
    wide = HOME.set("path.wifi", {"mcs": 9, "width": "40MHz", "short_guard": "on"})
    assert Scenario.from_toml(wide.to_toml()) == wide
    assert [link.rate_bps for link in resolve(wide).spec.links[2:]] == [60_000_000] * 2


def test_what_waits_above_the_radio_is_varied_like_any_other(tmp_path):
    results = aqmlab.run(HOME, path__wifi__qdisc=["pfifo", "fq_codel limit=100"], out=tmp_path)
    assert results.flows["wifi.qdisc"].unique().sort().to_list() == ["fq_codel", "pfifo"]
    assert "driver_packets" in results.table("queue_gauges")["gauge"].unique().to_list()


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("mcs", 77, "path.wifi.mcs: `77` is not an index of modulation and coding"),
        ("mcs", "7/x", "path.wifi.mcs: `7/x` is not an index of modulation and coding"),
        ("width", "80 MHz", "path.wifi.width: `80 MHz` is not a width of 802.11n"),
        ("qdisc", "fq_code", "path.wifi.qdisc: unknown discipline `fq_code`"),
        ("rate", "54 Mbit/s", "path.wifi.rate: unknown key `rate`"),
    ],
)
def test_slips_are_named_where_they_are(key, value, said):
    with pytest.raises(ScenarioError) as caught:
        HOME.set(f"path.wifi.{key}", value)
    assert said in str(caught.value)


def test_a_home_has_a_network_by_wire_or_without():
    with pytest.raises(ScenarioError, match=r"path\.lan: given together with `wifi`"):
        HOME.set("path.lan", "100 Mbit/s")
    with pytest.raises(ScenarioError, match=r"path\.wifi: `fast` is not a table"):
        HOME.set("path.wifi", "fast")


def test_what_only_the_core_can_know_is_named_where_it_was_written(tmp_path):
    file = tmp_path / "home.toml"
    file.write_text(HOME.set("path.wifi.aggregate", 64).to_toml())
    with pytest.raises(ScenarioError, match=r"aggregate: `64 frames` is not between 1 and 32"):
        load(file)
