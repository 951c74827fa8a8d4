"""Laws of the applications' own measurements."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterator

from ..trials import Run
from .flows import ROUNDING

QUANTILES = ("p50", "p95", "p99", "max")
NO_MORE = (
    ("completed_transfers", "begun_transfers"),
    ("delivered_messages", "sent_messages"),
    ("acknowledged_messages", "published_messages"),
    ("answered_count", "requests_count"),
    ("failed_count", "requests_count"),
    ("spurious_count", "retransmissions_count"),
    ("received_up_packets", "sent_up_packets"),
    ("received_down_packets", "sent_down_packets"),
    ("received_packets", "sent_packets"),
)
"""Pairs of metrics, of which the first is a part of the second."""
BELOW_ZERO = re.compile(r"qoe_linear|r_factor_.*")
DATAGRAMS = frozenset(("cbr", "video_call", "voip", "voip_g729", "game", "irtt"))


def _metrics(run: Run) -> dict[str, dict[str, float]]:
    metrics: dict[str, dict[str, float]] = defaultdict(dict)
    for row in run.tables["apps"]:
        metrics[row["flow"]][row["metric"]] = row["value"]
    return metrics


def numbers_are_possible(run: Run) -> Iterator[str]:
    """Values are within their scales, quantiles are in order, and no part exceeds its whole."""
    rows = [(row["flow"], row["metric"]) for row in run.tables["apps"]]
    if len(set(rows)) < len(rows):
        yield "a metric stands twice"
    for app, metrics in _metrics(run).items():
        for name, value in metrics.items():
            if value < 0 and not BELOW_ZERO.fullmatch(name):
                yield f"{app}: {name} is {value}"
            if name.endswith("_percent") and value > 100 * (1 + ROUNDING):
                yield f"{app}: {name} is {value}"
            if name.startswith("mos_") and not 1 <= value <= 4.5:
                yield f"{app}: {name} is {value}"
            if name.endswith("_s") and value > run.duration_s * (1 + ROUNDING):
                yield f"{app}: {name} is {value} in a trial of {run.duration_s} s"
            if name.endswith(("_count", "_packets", "_messages", "_transfers")) and value % 1:
                yield f"{app}: {name} is {value}"
        for name in metrics:
            if "_p50_" in name:
                chain = [metrics[name.replace("p50", quantile)] for quantile in QUANTILES]
                if any(low > high * (1 + ROUNDING) for low, high in itertools.pairwise(chain)):
                    yield f"{app}: {name} and above are {chain}"
        for part, whole in NO_MORE:
            if metrics.get(part, 0) > metrics.get(whole, float("inf")):
                yield f"{app}: {part} {metrics[part]} of {whole} {metrics[whole]}"


def datagrams_are_packets(run: Run) -> Iterator[str]:
    """An application that uses datagrams counts the packets that the taps count.

    The numbers of sent datagrams and sent packets are equal. The application receives at most the
    packets that arrive.
    """
    if not run.whole:
        return
    for app, metrics in _metrics(run).items():
        if run.apps[app]["app"]["kind"] not in DATAGRAMS:
            continue
        for way in ("up", "down"):
            flow = run.flow(app, way) or {"packets_sent": 0, "packets_received": 0}
            sent = metrics.get(f"sent_{way}_packets", 0)
            received = metrics.get(f"received_{way}_packets", 0)
            if sent != flow["packets_sent"]:
                yield f"{app}: {sent} datagrams sent {way}, {flow['packets_sent']} packets"
            # A closed socket receives no more packets.
            if received > flow["packets_received"]:
                yield f"{app}: {received} datagrams of {flow['packets_received']} packets {way}"
