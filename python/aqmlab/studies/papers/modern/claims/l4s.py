"""Claims of RFC 9330 and RFC 9332 about the delay of L4S and of classic AQMs."""

from __future__ import annotations

from aqmlab.studies.claims import ABOUT, THRESHOLD, Check, Claims, above, below, part
from aqmlab.studies.numbers import At, BySeed, Numbers
from aqmlab.studies.papers.modern.claims.conditions import (
    copies,
    mean_of,
    packet_ms,
    queueing,
)
from aqmlab.studies.trials import Trials

CLAIMS = Claims()

DUAL, CLASSIC = "DualPI2", ("PIE", "FQ-CoDel")
LOADS = {"mixed": 1, "heavy": 5}
"""The number of scalable flows at each load, which is also the number of long classic flows."""
RATES = ("4 Mbit/s", "12 Mbit/s", "40 Mbit/s", "120 Mbit/s", "200 Mbit/s")
RTTS = ("10 ms", "25 ms", "100 ms")
TYPICAL_RTT = "25 ms"
MIDDLE_RATES = RATES[1:4]
"""The rates in the middle of the range in section 1.4 of RFC 9332."""

GRID = Trials("l4s", {"queue": DUAL, "load": "mixed"})
TYPICAL = Trials("l4s", {"rtt": TYPICAL_RTT, "down.rate": MIDDLE_RATES})


def _at(queue: str, load: str, rate: str, rtt: str = TYPICAL_RTT) -> At:
    return {"queue": queue, "load": load, "down.rate": rate, "rtt": rtt}


def _scalable(n: Numbers, column: str, load: str, rate: str, rtt: str = TYPICAL_RTT) -> BySeed:
    """A statistic of L4S packets' delay in the queue, as the mean over the scalable flows."""
    at = _at(DUAL, load, rate, rtt)
    flows = copies("scalable", LOADS[load])
    return mean_of(queueing(n, flow, column, at, rate) for flow in flows)


@CLAIMS("M-01", "RFC 9332, 1.1", "In a mix of long and short flows PIE and FQ-CoDel have a mean"
        " delay of 5 to 15 ms and a 99th percentile of 20 to 30 ms.", TYPICAL, given="mix",
        rule="At 12, 40 and 120 Mbit/s.")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    found = []
    for queue in CLASSIC:
        for rate in MIDDLE_RATES:
            at, words = _at(queue, "mixed", rate), f"{queue}, {rate}"
            mean, high = (n.queue("down", f"sojourn_{name}_ms", at) for name in ("mean", "p99"))
            found += [
                above(f"{words}, mean", mean, 5, "ms", slack=THRESHOLD),
                below(f"{words}, mean", mean, 15, "ms", slack=THRESHOLD),
                above(f"{words}, p99", high, 20, "ms", slack=THRESHOLD),
                below(f"{words}, p99", high, 30, "ms", slack=THRESHOLD),
            ]
    return found


@CLAIMS("M-02", "RFC 9332, 1.1", "In the same mix L4S packets have a mean delay of about 0.5 ms.",
        TYPICAL, given=("mix", "start"),
        rule="At 12, 40 and 120 Mbit/s; less is no contradiction.")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return [
        below(f"{rate}, mean", _scalable(n, "rtt_mean_ms", "mixed", rate), 0.5, "ms", slack=ABOUT)
        for rate in MIDDLE_RATES
    ]


@CLAIMS("M-03", "RFC 9332, 1.4", "At round-trip times of up to 100 ms and rates of 4 to 200 Mbit/s"
        " L4S packets have a mean delay below 1 ms, or below two packets where one takes longer"
        " than 1 ms, and a 99th percentile of at most 2 ms.", GRID, given=("mix", "start"),
        rule="The percentile from 12 Mbit/s on, where a packet takes at most 1 ms.")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    found = []
    for rate in RATES:
        for rtt in RTTS:
            words, sending_ms = f"{rate}, {rtt}", packet_ms(rate)
            limit_ms = 1.0 if sending_ms <= 1 else 2 * sending_ms
            mean = _scalable(n, "rtt_mean_ms", "mixed", rate, rtt)
            found += part("mean", [below(f"{words}, mean", mean, limit_ms, "ms")])
            if sending_ms <= 1:
                high = _scalable(n, "rtt_p99_ms", "mixed", rate, rtt)
                found += part("p99", [below(f"{words}, p99", high, 2, "ms", slack=THRESHOLD)])
    return found


@CLAIMS("M-04", "RFC 9332, 1.4 and 2.5.1", "The AQM of the L4S queue loses no packet.", GRID,
        given=("mix", "start"))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return [
        below(f"{rate}, {rtt}", n.drops("down", "scalable", _at(DUAL, "mixed", rate, rtt)), 0,
              "packets")
        for rate in RATES
        for rtt in RTTS
    ]  # fmt: skip


@CLAIMS("M-05", "RFC 9330, 1", "Under heavy load the 99th percentile of L4S packets' delay is 1 to"
        " 2 ms; classic AQMs have 5 to 20 ms in the mean.", TYPICAL, given=("mix", "start"),
        rule="Five scalable and five long classic flows, at 12, 40 and 120 Mbit/s; less than 1 ms"
        " is no contradiction.")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    found = []
    for rate in MIDDLE_RATES:
        high = _scalable(n, "rtt_p99_ms", "heavy", rate)
        found += part("L4S", [below(f"L4S, {rate}, p99", high, 2, "ms", slack=THRESHOLD)])
        for queue in CLASSIC:
            mean = n.queue("down", "sojourn_mean_ms", _at(queue, "heavy", rate))
            found += part("classic", [
                above(f"{queue}, {rate}, mean", mean, 5, "ms", slack=THRESHOLD),
                below(f"{queue}, {rate}, mean", mean, 20, "ms", slack=THRESHOLD),
            ])  # fmt: skip
    return found
