"""The kernel's testbed takes the times that a validation adds to the simulator's trials."""

from __future__ import annotations

from pathlib import Path

import pytest
from aqmlab.validation import testbed

from tools import testbed as measured

pytestmark = pytest.mark.vm

BOUND_US = {"forwarding": 0.5, "round trip": 1.0}
"""The largest accepted difference from the recorded time, in microseconds.

The recorded times are means over disciplines.
"""


@pytest.mark.parametrize(("shaper", "qdisc"), measured.GATEWAYS)
def test_the_testbed_takes_the_recorded_times(shaper: str, qdisc: str, tmp_path: Path) -> None:
    times = testbed.TIMES[shaper, qdisc == "cake"]
    forwarding_us = measured.forwarding_us(shaper, qdisc, measured.PAYLOADS[0], tmp_path)
    assert forwarding_us == pytest.approx(times.forwarding_ns / 1e3, abs=BOUND_US["forwarding"])
    trip_us = measured.round_trip_us(shaper, qdisc, tmp_path)
    assert trip_us == pytest.approx(times.round_trip_ns / 1e3, abs=BOUND_US["round trip"])
