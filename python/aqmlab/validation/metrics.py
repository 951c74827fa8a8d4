"""The metrics by which engines are compared, with their resolutions.

A metric has items: a flow and its direction, or a link. Its resolution is the smallest meaningful
difference in one trial. Examples are one packet, the last digit of a rounded score, and the jitter
of hosts. A difference within the resolution counts as zero. Each resolution follows from its cause,
and never from the results.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

PACKET_BYTES = 1_500
DELAY_MS = 0.1
"""The jitter of a scenario's two hosts, 50 µs each."""


@dataclass(frozen=True, slots=True)
class Scale:
    """The properties of a trial on which resolutions depend."""

    duration_s: float
    packets: float
    """The number of packets that corresponds to 100 % for the item."""
    rate_bps: float = math.nan

    @property
    def packet_mbit(self) -> float:
        """The rate of one full packet over the whole trial."""
        return PACKET_BYTES * 8 / self.duration_s / 1e6

    @property
    def packet_percent(self) -> float:
        """One packet as a percentage of `packets`."""
        return 100 / max(self.packets, 1)


@dataclass(frozen=True, slots=True)
class Metric:
    """A number of an item, by which engines are compared."""

    name: str
    unit: str
    of: str
    """The kind of item: `flow` or `link`."""
    what: str
    finest: str
    """The resolution in words."""
    resolution: Callable[[Scale], float]
    counts: bool = False
    """Whether the metric counts rare events, so that its variance is proportional to its mean."""


def _packet_share(scale: Scale) -> float:
    return scale.packet_percent


def _delay(_: Scale) -> float:
    return DELAY_MS


def _fixed(value: float) -> Callable[[Scale], float]:
    return lambda _: value


def _rtt(name: str, of: str) -> Metric:
    return Metric(name, "ms", "flow", f"round-trip times: {of}", "0.1 ms", _delay)


_ONE = "one packet in the trial"
_HOST = "0.1 ms"

METRICS = (
    Metric(
        "throughput", "Mbit/s", "flow", "throughput of a flow that carries data", _ONE,
        lambda scale: scale.packet_mbit,
    ),
    _rtt("rtt_p5", "5th percentile"),
    _rtt("rtt_p50", "median"),
    _rtt("rtt_p95", "95th percentile"),
    _rtt("rtt_p99", "99th percentile"),
    Metric("loss", "%", "flow", "packets lost, as a share of the packets received or lost", _ONE,
           _packet_share, True),
    Metric(
        "retransmissions", "%", "flow", "segments retransmitted, as a share of the packets sent",
        _ONE, _packet_share, True,
    ),
    Metric(
        "reverse", "Mbit/s", "flow",
        "rate in the opposite direction (acknowledgements, requests); not for transfers that end",
        _ONE, lambda scale: scale.packet_mbit,
    ),
    Metric("drops", "%", "link", "packets dropped by the queue, as a share of the packets offered",
           _ONE, _packet_share, True),
    Metric("marks", "%", "link", "packets marked by the queue, as a share of the packets offered",
           _ONE, _packet_share, True),
    Metric("utilisation", "share", "link", "share of the time in which the link was sending", _ONE,
           lambda scale: scale.packet_mbit * 1e6 / scale.rate_bps),
    Metric("sojourn_p50", "ms", "link", "time in the queue: median", _HOST, _delay),
    Metric("sojourn_p95", "ms", "link", "time in the queue: 95th percentile", _HOST, _delay),
    Metric("sojourn_p99", "ms", "link", "time in the queue: 99th percentile", _HOST, _delay),
    Metric("completion", "ms", "flow", "a transfer, page or message: median time", _HOST, _delay),
    Metric("completion_max", "ms", "flow", "a transfer, page or message: longest time", _HOST,
           _delay),
    Metric("video_rate", "Mbit/s", "flow", "mean representation rate of video", "none",
           _fixed(0.0)),
    Metric("opinion", "MOS", "flow", "opinion score of a call", "0.01", _fixed(0.01)),
    Metric("cwnd_mean", "segments", "flow", "congestion window: mean over time", "one segment",
           _fixed(1.0)),
    Metric("cwnd_peaks", "1/s", "flow", "congestion window: peaks per second",
           "one peak in the trial", lambda scale: 1 / scale.duration_s),
    Metric("cwnd_shape", "", "flow", "congestion window: distance between curves", "none",
           _fixed(0.0)),
)  # fmt: skip
"""Every metric.

`cwnd_shape` is computed from curves when trials are compared, not for a single trial.
"""

BY_NAME = {metric.name: metric for metric in METRICS}
