"""Trials over lines whose rate varies: the throughput follows the rate of the time."""

from __future__ import annotations

import pytest
from aqmlab import _core
from aqmlab.base.errors import ScenarioError
from aqmlab.planning import planner
from support import laws
from support.trials import Run

PAUSE = '[["0 s", "5 Mbit/s"], ["1 s", "0 bit/s"], ["2 s", "5 Mbit/s"]]'
TEXT = """
duration = "{duration}"
[path]
rtt = "20 ms"
start_jitter = "0 s"
qdisc = "fq_codel"
up.rate = "10 Mbit/s"
down.rate = {rate}
[apps.flood]
kind = "cbr"
direction = "down"
rate = "30 Mbit/s"
payload = "1472 B"
[measure]
window = "100 ms"
step = "100 ms"
"""


def run(tmp_path, rate, duration="6 s"):
    path = tmp_path / "home.toml"
    path.write_text(TEXT.format(rate=rate, duration=duration))
    (trial,) = planner.load(path).trials
    return Run(trial.spec.members(), _core.run(trial.spec.text()))


def windows(found):
    return {row["t_s"]: row["throughput_mbit"] for row in found.tables["windows"]
            if row["direction"] == "down"}  # fmt: skip


@pytest.mark.parametrize("shaper", ["line", "htb"])
def test_throughput_is_the_rate_of_the_time(tmp_path, shaper):
    rate = '[["0 s", "12 Mbit/s"], ["2 s", "3 Mbit/s"], ["4 s", "24 Mbit/s"]]'
    found = run(tmp_path, f'{rate}\ndown.shaper = "{shaper}"')
    assert laws.violations(found) == []
    for at_s, mbit in windows(found).items():
        for (from_s, to_s), want in {(0.5, 2): 12, (2.2, 4): 3, (4.2, 6): 24}.items():
            if from_s < at_s < to_s:
                # A window holds a whole number of packets of 1500 bytes.
                assert abs(mbit - want) <= 2 * 0.12, (at_s, mbit)


def test_nothing_arrives_in_a_pause(tmp_path):
    found = run(tmp_path, '[["0 s", "12 Mbit/s"], ["2 s", "0 bit/s"], ["4 s", "12 Mbit/s"]]')
    assert laws.violations(found) == []
    paused = [mbit for at_s, mbit in windows(found).items() if 2.2 < at_s < 3.9]
    assert paused
    assert set(paused) == {0}
    assert found.flow("flood", "down")["packets_received"] > 3_500


def test_a_trace_sends_at_its_opportunities(tmp_path):
    times_ms = [*range(1, 1_000), *range(1_000, 3_000, 10)]
    (tmp_path / "lte.down").write_text("".join(f"{time}\n" for time in times_ms))
    found = run(tmp_path, '{ trace = "lte.down" }')
    row = next(row for row in found.tables["queues"] if row["link"] == "down")
    # A full packet fills an opportunity. Two passes of 2990 ms have 1199 opportunities each, and
    # the third pass has 19 before the end.
    assert row["packets_out"] == 2 * 1199 + 19
    assert row["utilisation"] == pytest.approx(1.0, abs=1e-6)
    fast = [mbit for at_s, mbit in windows(found).items() if 0.3 < at_s < 0.9]
    slow = [mbit for at_s, mbit in windows(found).items() if 1.3 < at_s < 2.8]
    assert all(abs(mbit - 12) <= 0.25 for mbit in fast)
    assert all(abs(mbit - 1.2) <= 0.25 for mbit in slow)


def test_a_line_of_equal_steps_is_a_line_of_constant_rate(tmp_path):
    same = '[["0 s", "12 Mbit/s"], ["1 s", "12 Mbit/s"], ["3 s", "12 Mbit/s"]]'
    constant, steps = run(tmp_path, '"12 Mbit/s"'), run(tmp_path, same)
    assert constant.digest == steps.digest
    assert constant.tables["windows"] == steps.tables["windows"]
    one, other = ({row["link"]: row for row in each.tables["queues"]} for each in (constant, steps))
    assert one["down"] == other["down"]


@pytest.mark.parametrize(
    ("rate", "message"),
    [
        ('{ trace = "lte.down" }\ndown.shaper = "htb"', "a delivery trace is a line; use `line`"),
        (f'{PAUSE}\ndown.shaper = "htb"', "`htb` has no rate of zero"),
        (f'{PAUSE}\ndown.shaper = "dummynet"', "is not modelled; use `line` or `htb`"),
        (f'{PAUSE}\ndown.shaper = "cake"\ndown.qdisc = "cake"', "give the varying rate to the mod"),
    ],
)
def test_only_a_line_and_htb_vary(tmp_path, rate, message):
    (tmp_path / "lte.down").write_text("1\n")
    with pytest.raises(ScenarioError) as caught:
        run(tmp_path, rate)
    assert message in str(caught.value)
    assert str(caught.value).startswith("home.toml:")
