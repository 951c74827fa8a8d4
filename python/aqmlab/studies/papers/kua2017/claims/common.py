"""Conditions, flows and numbers that several claims use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from aqmlab.studies.claims import Check, above, below, more, spread, total
from aqmlab.studies.numbers import At, BySeed, Numbers
from aqmlab.studies.trials import Trials

HIGH, MIDDLE, FOUR, LOW = "25/5 Mbit/s", "12/1 Mbit/s", "4/1 Mbit/s", "1.5/0.5 Mbit/s"
RATES = (HIGH, MIDDLE, FOUR, LOW)
FQ = ("FQ-CoDel", "FQ-PIE")
AQMS = ("PIE", *FQ)
QUEUES = ("FIFO", *AQMS)
SHOWN = ("40 ms", "140 ms", "240 ms")

Flow = tuple[str, str, str]
"""The name of a flow, its application, and the direction of its data."""

FLOWS: tuple[Flow, ...] = (
    ("IoT_low", "iot_low", "up"),
    ("IoT_high", "iot_high", "up"),
    ("VideoCall up", "video_call", "up"),
    ("VideoCall down", "video_call", "down"),
    ("BulkUpload", "bulk_upload", "up"),
    ("BulkDownload", "bulk_download", "down"),
    ("DASH", "dash", "down"),
)
LIGHT = FLOWS[:4]
"""The flows that send at a fixed rate."""
IOT = FLOWS[:2]

IOT_LOW_MBIT, IOT_HIGH_MBIT, CALL_MBIT = 2.5 * 152 * 8e-6, 125 * 152 * 8e-6, 50 * 728 * 8e-6
"""The rates of Table I at the IP layer.

TCP packets with 100 B of payload have 52 B of headers (with timestamps), and UDP packets with
700 B have 28 B.
"""

TOP_MBIT, LOWEST_MBIT = 4.219897, 0.045652
"""The rates of the highest and the lowest representation with segments of 2 s."""

WINDOW_BYTES = 217_000
"""The bytes in flight of a bulk transfer that only its send buffer limits.

At 100 Mbit/s and an RTT of 1 s nothing else limits it. `iperf -w 300000` requests the buffer.
Linux charges the buffer by memory, not by payload.
"""
FAR = 2.0
"""Our reading of "far above": at least twice."""


def home(*rates: str, rtts: tuple[str, ...] = SHOWN) -> Trials:
    """The trials of the whole home at these `rates`, by default at all rates."""
    return Trials("home", {"rate": rates or RATES, "rtt": rtts})


def induced(n: Numbers, flow: Flow, at: At, part: int = 50) -> BySeed:
    """A percentile of a flow's induced RTT, in ms."""
    return n.flow(flow[1], f"induced_p{part}_ms", at, flow[2])


def spread_of(n: Numbers, flow: Flow, at: At) -> BySeed:
    """The distance from the 25th to the 75th percentile of a flow's induced RTT, in ms."""
    return spread(induced(n, flow, at, 25), induced(n, flow, at, 75))


def mean_induced(n: Numbers, flows: Sequence[Flow], at: At) -> BySeed:
    """The mean over flows of their median induced RTTs, in ms."""
    summed = total(*(induced(n, flow, at) for flow in flows))
    return {seed: value / len(flows) for seed, value in summed.items()}


def rate_of(n: Numbers, flow: str, at: At, part: int = 50, way: str | None = None) -> BySeed:
    """A percentile of a flow's throughput, in Mbit/s."""
    return n.flow(flow, f"throughput_p{part}_mbit", at, way)


def places(*rates: str, queues: tuple[str, ...] = QUEUES) -> Iterator[tuple[str, At]]:
    """Yields the conditions at `rates` under `queues`, in words and as keywords."""
    for rate in rates:
        for queue in queues:
            for rtt in SHOWN:
                short = rate.removesuffix(" Mbit/s")
                yield f"{short} {queue} {rtt}", where(rate, queue, rtt)


def where(rate: str, queue: str, rtt: str) -> At:
    """The condition with a rate, a queue and a round-trip time."""
    return {"rate": rate, "qdisc": queue, "rtt": rtt}


def against(words: str, at: At, other: str) -> tuple[str, At]:
    """The condition `at` under the queue `other`, in words and as keywords."""
    return f"{words} over {other}", {**at, "qdisc": other}


def over_fifo(n: Numbers, rate: str, queues: tuple[str, ...]) -> list[Check]:
    """Checks that BulkDownload gets more throughput under each of the queues than under FIFO."""
    checks = []
    for words, at in places(rate, queues=queues):
        what, fifo = against(words, at, "FIFO")
        own, other = rate_of(n, "bulk_download", at), rate_of(n, "bulk_download", fifo)
        checks.append(more(f"BulkDownload, {what}", own, other))
    return checks


def _iot_high(n: Numbers, rate: str, queues: tuple[str, ...]) -> list[tuple[str, BySeed]]:
    return [
        (f"IoT_high, {words}", rate_of(n, "iot_high", at))
        for words, at in places(rate, queues=queues)
    ]


def misses(n: Numbers, rate: str, queue: str) -> list[Check]:
    """Checks that IoT_high misses its rate by at least 5 %."""
    own = _iot_high(n, rate, (queue,))
    return [below(what, values, IOT_HIGH_MBIT, "Mbit/s", slack=-0.05) for what, values in own]


def attains(n: Numbers, rate: str, queues: tuple[str, ...]) -> list[Check]:
    """Checks that IoT_high gets its rate within 5 %."""
    own = _iot_high(n, rate, queues)
    return [above(what, values, IOT_HIGH_MBIT, "Mbit/s", slack=0.05) for what, values in own]
