"""Claims of RFC 9330 to RFC 9332 about the rates of scalable and classic flows."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from aqmlab.studies.claims import Check, Claims, about, alike, below, more, part, total
from aqmlab.studies.numbers import At, BySeed, Numbers
from aqmlab.studies.papers.modern.claims.conditions import (
    FULL_BITS,
    MUCH,
    copies,
    goodput,
    mean_of,
    percent,
    queueing,
    ratio,
)
from aqmlab.studies.trials import Trials

CLAIMS = Claims()

DUAL, DUAL_RFC = DUALS = ("DualPI2", "DualPI2, RFC")
SHARED = ("CoDel with ECN", "PIE with ECN")
FQ, FQ_L4S = ("FQ-CoDel", "FQ-CoDel, L4S")
RATES = ("12 Mbit/s", "40 Mbit/s", "120 Mbit/s")
RENO, CUBIC, CUBIC_ECN = ("Reno", "CUBIC", "CUBIC with ECN")
FROM_S = 20.0
"""The beginning of the measured interval of a sawtooth."""
NEAR_OVER_FAR = 1.6
"""Our bound on the ratio of rates at round-trip times of 5 and 25 ms."""


def _over(n: Numbers, queue: str, sender: str, rate: str) -> BySeed:
    """The goodput of the scalable flow over the goodput of the classic flow."""
    at = {"queue": queue, "sender": sender, "down.rate": rate}
    return ratio(goodput(n, "scalable", at), goodput(n, "classic", at))


@CLAIMS("M-06", "RFC 9332, appendix C", "With a coupling factor of 2 a scalable flow and a flow of"
        " Reno or CUBIC have about the same rate at a round-trip time of 25 ms.",
        Trials("coexist", {"queue": DUALS, "sender": (RENO, CUBIC)}), given="start",
        rule="At 12, 40 and 120 Mbit/s.")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return [
        about(f"{queue}, scalable over {sender}, {rate}", _over(n, queue, sender, rate), 1.0, "×")
        for queue in DUALS
        for sender in (RENO, CUBIC)
        for rate in RATES
    ]


@CLAIMS("M-07", "RFC 9332, 4.2.2", "Beside a classic flow whose queue has a weight of 1/16 each of"
        " nineteen L4S flows gets 4.9 % of the line.", Trials("nineteen"), given="start",
        rule="Of the goodput, in the mean over the flows, within 5 %.")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    flows = [goodput(n, flow, {}) for flow in copies("scalable", 19)]
    every = total(*flows, goodput(n, "classic", {}))
    return [
        about("by arithmetic", 100 * 15 / 16 / 19, 4.9, "%", within=0.01),
        about("an L4S flow", percent(mean_of(flows), every), 4.9, "%", within=0.05),
    ]


@CLAIMS("M-08", "RFC 9331, 4.3, requirement 4", "The rates of scalable flows depend as little as"
        " possible on their round-trip times.",
        Trials("rtts"), given=("rtts", "start"),
        rule="At 5 and 25 ms the ratio of rates is at most 1.6, and at most half of the ratio of"
        " Prague without its target of 25 ms.")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    found = []
    for queue in DUALS:
        own, without = (_near(n, queue, f"Prague{rest}") for rest in ("", " without target"))
        found += [
            below(f"{queue}, near over far", own, NEAR_OVER_FAR, "×"),
            more(f"{queue}, without the target over with it", without, own, times=MUCH),
        ]
    return found


def _near(n: Numbers, queue: str, sender: str) -> BySeed:
    at = {"queue": queue, "sender": sender}
    return ratio(goodput(n, "near", at), goodput(n, "far", at))


@CLAIMS("M-09", "RFC 9330, 5.1", "At 15 Mbit/s and a round-trip time of 30 ms at the peak of its"
        " sawtooth Reno recovers in 422 ms, and this time is proportional to the rate.",
        Trials("sawtooth"),
        rule="The time in which the window grows from its minimum to the next reduction, within"
        " 10 %; at four times the rate four times as long.")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    slow, fast = (_recovery_s(n, {"rate": rate}) for rate in ("15 Mbit/s", "60 Mbit/s"))
    # The window falls to half at a round-trip time of 15 ms and grows by a packet per round trip.
    packets = 15e6 * 0.030 / FULL_BITS
    computed_ms = packets / 2 * (15 + 30) / 2
    return [
        about("by arithmetic", computed_ms, 422, "ms", within=0.01),
        about("recovery", {s: 1e3 * one for s, one in slow.items()}, 422, "ms",
              within=0.1),
        about("60 over 15 Mbit/s", ratio(fast, slow), 4.0, "×"),
    ]  # fmt: skip


def _recovery_s(n: Numbers, at: At) -> BySeed:
    """The median time in which the window grows from its minimum to the next reduction."""
    windows = n.points("tcp_series", "flow", "cwnd_bytes", at, "wan")
    return {seed: statistics.median(_rises(points)) for seed, points in windows.items()}


def _rises(points: Sequence[tuple[float, float]]) -> list[float]:
    """The durations of the rises between falls by over a quarter, in the measured interval.

    >>> _rises([(20.0, 8.0), (20.1, 4.0), (20.4, 7.0), (20.6, 8.0), (20.7, 4.0)])
    [0.5]
    """
    found = []
    low, high = points[0], points[0]
    for point in points:
        if point[0] < FROM_S:
            low = high = point
        elif point[1] >= high[1]:
            high = max(high, point, key=lambda one: one[1])
        elif point[1] < 0.75 * high[1]:
            if low[1] < 0.75 * high[1]:
                found.append(round(high[0] - low[0], 6))
            low = high = point
    return found


@CLAIMS("M-10", "RFC 9331, 4.3.1", "In a queue that they share, and whose AQM is classic with ECN,"
        " a scalable flow gets much more than a classic flow.",
        Trials("coexist", {"queue": SHARED, "sender": (CUBIC, CUBIC_ECN)}),
        rule='"much" is twice.')  # fmt: skip
def _(n: Numbers) -> list[Check]:
    found = []
    for queue in SHARED:
        for sender in (CUBIC, CUBIC_ECN):
            for rate in RATES:
                at = {"queue": queue, "sender": sender, "down.rate": rate}
                flows = (goodput(n, flow, at) for flow in ("scalable", "classic"))
                words = f"{queue}, scalable over {sender}, {rate}"
                found.append(more(words, *flows, times=MUCH))
    return found


@CLAIMS("M-11", "RFC 9331, 5.4.2; RFC 9332, 1", "Flow queues isolate scalable flows from classic"
        " flows, and with a shallow threshold for ECT(1) their delay is low.",
        Trials("coexist", {"queue": (FQ, FQ_L4S), "sender": CUBIC}),
        rule="The rates differ by at most a tenth. The scalable flow's mean delay is at most half"
        " of the delay without the threshold, and at most 2 ms.")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    found = []
    for rate in RATES:
        plain, own = (
            {"queue": queue, "sender": CUBIC, "down.rate": rate} for queue in (FQ, FQ_L4S)
        )
        waits, less = (queueing(n, "scalable", "rtt_mean_ms", at, rate) for at in (plain, own))
        flows = (goodput(n, flow, own) for flow in ("scalable", "classic"))
        found += [
            alike(f"scalable over CUBIC, {rate}", *flows, within=0.1),
            more(f"delay without over with the threshold, {rate}", waits, less, times=MUCH),
            *part("delay", [below(f"delay, {rate}", less, 2.0, "ms")]),
        ]
    return found
