"""The dumbbell of the benchmark: bulk CUBIC flows over one link in each direction."""

from __future__ import annotations

from typing import Any

FIFO_LIMIT = 200
FQ_LIMIT = 10240


def limit_of(qdisc: str) -> int:
    """The limit in packets of a discipline in the dumbbell."""
    return FIFO_LIMIT if qdisc == "pfifo" else FQ_LIMIT


def dumbbell(
    *, mbit: float, flows: int, qdisc: str, span_s: float, measure: bool, rtt_ms: float = 40
) -> dict[str, Any]:
    """The trial of a dumbbell. Both links have the same rate and discipline.

    CAKE limits the rate itself.
    """
    rate_bps = round(mbit * 1e6)
    link = {"rate_bps": rate_bps, "qdisc": {"kind": qdisc, "params": {"limit": limit_of(qdisc)}}}
    if qdisc == "cake":
        kind = {"kind": qdisc, "params": {"bandwidth": rate_bps}}
        link = {"rate_bps": rate_bps, "qdisc": kind, "shaper": "cake"}
    route = {"delay_ns": round(rtt_ms * 5e5)}
    tcp = {"profile": "linux", "cc": {"kind": "cubic"}}
    app = {
        "app": {"kind": "bulk", "params": {"direction": "down"}},
        "up": route | {"links": [0]},
        "down": route | {"links": [1]},
        "home": tcp,
        "wan": tcp,
    }
    return {
        "seed": 1,
        "duration_ns": round(span_s * 1e9),
        "links": [link | {"name": "up"}, link | {"name": "down"}],
        "apps": [app | {"name": f"bulk{i}", "start_ns": 10_000_000 * i} for i in range(flows)],
        "measure": {"enabled": measure},
    }


def data_packets(result: dict[str, Any]) -> int:
    """The number of packets that a dumbbell's bottleneck sent towards the home."""
    tables = result["tables"]
    table = tables.get("links") or tables["queues"]
    return int(table["packets_out"][1])


def all_packets(result: dict[str, Any]) -> int:
    """The number of packets that hosts sent: data, acknowledgements and dropped packets."""
    return int(result["packets"])
