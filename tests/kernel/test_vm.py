"""One home on the real kernel. Each machine takes some ten seconds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from aqmlab import kernel
from aqmlab.kernel import agent, image, machine

from .trials import app, text, trial

pytestmark = pytest.mark.vm


def _missing() -> str | None:
    try:
        machine.find_qemu()
        image.find_kernel()
        for tool in image.TOOLS:
            image._program(tool)
        agent.find()
    except kernel.MissingError as error:
        return f"the kernel engine cannot run here: {error.problem} ({error.hint})"
    return None


@pytest.fixture(scope="module", autouse=True)
def possible() -> None:
    """Leaves these tests out where a machine cannot be started, and says what to install."""
    problem = _missing()
    if problem is not None:
        pytest.skip(problem)


def row(table: dict[str, Any], flow: str, direction: str) -> dict[str, Any]:
    """The row of a flow and direction."""
    wanted = [*zip(table["flow"], table["direction"], strict=True)].index((flow, direction))
    return {name: values[wanted] for name, values in table.items()}


def test_a_home_fills_its_line_and_the_same_seed_gives_the_same_run() -> None:
    apps = app("bulk", "bulk"), app("ping", "ping", delay_ms=5, interval=200_000_000)
    spec = text(trial(*apps, kind="fq_codel", seconds=4))
    one, two = kernel.run(spec), kernel.run(spec)
    assert one["digest"] == two["digest"]
    flows = one["tables"]["flows"]
    bulk, ping = row(flows, "bulk", "down"), row(flows, "ping", "up")
    assert bulk["throughput_p95_mbit"] == pytest.approx(12, rel=0.02)
    assert bulk["packets_received"] > 2_000
    assert 40 <= bulk["rtt_min_ms"] < 43
    assert 10 <= ping["rtt_min_ms"] < 13  # it has a delay of its own
    queues = one["tables"]["queues"]
    assert queues["link"] == ["up", "down"]
    assert np.all(queues["utilisation"] <= 1.01)


def test_a_fifo_that_is_full_drops() -> None:
    tables = kernel.run(text(trial(app("bulk", "bulk"), limit=20, seconds=4)))["tables"]
    drops = tables["queues"]["drops_overlimit"][1]
    bulk = row(tables["flows"], "bulk", "down")
    assert 0 < drops == bulk["lost"]
    assert bulk["retransmissions"] >= drops
    assert max(tables["queue_series"]["backlog_packets"]) <= 20


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"profile": "freebsd"}, r"apps\[0\]\.home\.profile: `freebsd`"),
        ({"cc": {"kind": "compound", "params": {}}}, r"apps\[0\]\.home\.cc: `compound`"),
    ],
)
def test_hosts_that_are_not_linux_are_refused(change: dict[str, Any], said: str) -> None:
    wrong = app("bulk", "bulk")
    wrong["home"] |= change
    with pytest.raises(kernel.RefusedError, match=said):
        kernel.run(text(trial(wrong)))
