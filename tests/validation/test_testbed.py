"""The simulator takes the measured times of the kernel engine's testbed."""

from __future__ import annotations

from pathlib import Path

import pytest
from aqmlab.engines.engine import Tables
from aqmlab.engines.trial_spec import TrialSpec
from aqmlab.validation import engines, grid, testbed
from msgspec.structs import replace

from tools import testbed as measured
from tools.tap_packets import read

PLACES = [("htb", "fq_codel"), ("htb", "cake"), ("cake", "cake")]


@pytest.mark.parametrize(("shaper", "qdisc"), PLACES)
def test_a_packet_takes_half_of_the_hosts_time_and_a_round_trip_the_testbed_s(
    shaper: str, qdisc: str, tmp_path: Path
) -> None:
    probe = {"kind": "cbr", "direction": "both", "interval": "50 ms", "payload": "1 kB"}
    lone = measured.idle(shaper, qdisc, {"probe": probe})
    load = measured.idle(shaper, qdisc, {"probe": {"kind": "bulk"}})
    times = testbed.times_of(lone)

    ways = zip(_delays(testbed.as_built(lone), tmp_path), _delays(lone, tmp_path), strict=True)
    one_way_ns = times.forwarding_ns + times.hosts_ns // 2
    for ours, bare in ways:
        longer_ns = [1e6 * (one - other) for one, other in zip(ours, bare, strict=True)]
        assert longer_ns == pytest.approx([one_way_ns] * len(bare), abs=2)

    ours, bare = (
        measured.rounds_ms(spec, "sim", tmp_path) for spec in (testbed.as_built(load), load)
    )
    assert 1e6 * (ours - bare) == pytest.approx(measured.ROUNDS * times.round_trip_ns, abs=5)


def _delays(spec: TrialSpec, keep: Path) -> tuple[list[float], list[float]]:
    return measured.delays_ms(spec, "sim", keep)


def test_packets_that_leave_together_arrive_one_after_the_other(tmp_path: Path) -> None:
    # An idle HTB sends the first two segments at the same time.
    bare = measured.idle("htb", "pfifo limit=1000", {"probe": {"kind": "bulk"}})
    times = testbed.times_of(bare)
    for spec, apart_ns in ((bare, 0), (testbed.as_built(bare), times.forwarding_ns)):
        home, _ = measured.captures(spec, "sim", tmp_path)
        first, second = [packet.t_ms for _, packet in read(home) if packet.length][:2]
        assert 1e6 * (second - first) == pytest.approx(apart_ns, abs=2)


def test_every_cell_has_times() -> None:
    for cell in grid.load().cells:
        assert testbed.times_of(cell.spec).hosts_ns > 0, cell.name


def test_a_gateway_that_was_not_measured_has_no_times() -> None:
    spec = measured.idle("htb", "codel", {"probe": {"kind": "bulk"}})
    wire = TrialSpec.read(spec.text().replace('"shaper":"htb"', '"shaper":"dummynet"'))
    with pytest.raises(ValueError, match="not known for this shaper and discipline"):
        testbed.times_of(wire)
    both = measured.idle("htb", "cake", {"probe": {"kind": "bulk"}})
    mixed = replace(both, links=(both.links[0], spec.links[1]))
    with pytest.raises(ValueError, match="not known for this shaper and discipline"):
        testbed.times_of(mixed)


def test_a_link_with_the_processor_s_name_is_refused() -> None:
    spec = measured.idle("htb", "codel", {"probe": {"kind": "bulk"}})
    named = TrialSpec.read(spec.text().replace('"name":"down"', '"name":"gateway"'))
    with pytest.raises(ValueError, match="a link is called `gateway`"):
        testbed.as_built(named)


def shape(tables: Tables) -> dict[str, dict[str, tuple[type, object]]]:
    """The type of each column, and of its elements if it is an array."""
    return {
        name: {column: (type(one), getattr(one, "dtype", None)) for column, one in table.items()}
        for name, table in tables.items()
    }


def test_the_tables_are_those_of_the_trial() -> None:
    spec = measured.idle("htb", "codel", {"probe": {"kind": "bulk"}})
    run = engines.simulator()
    ours, bare = (one(spec.text())["tables"] for one in (testbed.on_testbed(run), run))
    assert shape(ours) == shape(bare)
    assert list(map(str, ours["queues"]["link"])) == list(map(str, bare["queues"]["link"]))
    assert {len(column) for column in ours["queues"].values()} == {2}
