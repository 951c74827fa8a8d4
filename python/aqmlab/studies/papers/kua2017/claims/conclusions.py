"""Claims of section V, and other statements of the text."""

from __future__ import annotations

import math

from aqmlab.studies.claims import THRESHOLD, Check, Claims, above, alike, below, more, mostly, part
from aqmlab.studies.numbers import Numbers
from aqmlab.studies.papers.kua2017.claims.common import (
    AQMS,
    FLOWS,
    HIGH,
    IOT,
    IOT_HIGH_MBIT,
    LOW,
    MIDDLE,
    QUEUES,
    RATES,
    SHOWN,
    home,
    induced,
    mean_induced,
    over_fifo,
    places,
    rate_of,
    where,
)

CLAIMS = Claims()

TOLERATED_MS = 250.0
"""II-A: the round-trip time that real-time telemonitoring tolerates."""


@CLAIMS("0-44", "V", "FIFO protects IoT flows worst, PIE better, FQ-CoDel and FQ-PIE best and "
        "alike.", home(HIGH, MIDDLE, LOW))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    checks = []
    for rate in (HIGH, MIDDLE, LOW):
        for rtt in SHOWN:
            at = {"rate": rate, "rtt": rtt}
            fifo, pie, codel, fq_pie = (
                mean_induced(n, IOT, {**at, "qdisc": queue}) for queue in QUEUES
            )
            words = f"induced RTT of IoT, {rate.removesuffix(' Mbit/s')} {rtt}"
            checks += part("FIFO worst", [more(f"{words}: FIFO over PIE", fifo, pie)])
            checks.append(more(f"{words}: PIE over FQ-CoDel", pie, codel))
            checks.append(more(f"{words}: PIE over FQ-PIE", pie, fq_pie))
            checks.append(alike(f"{words}: FQ-PIE over FQ-CoDel", fq_pie, codel, within=0.25))
    return checks


@CLAIMS("0-45", "II-A, V", "The 250 ms of telemonitoring in real time are kept under each AQM, and "
        "broken under FIFO at 12/1 and 1.5/0.5.", home(MIDDLE, LOW))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    checks = []
    for words, at in places(MIDDLE, LOW):
        for name, flow, way in IOT:
            if at["qdisc"] == "FIFO":
                own = n.flow(flow, "rtt_p50_ms", at, way)
                checks.append(
                    above(f"{name} median, {words}", own, TOLERATED_MS, "ms", slack=THRESHOLD)
                )
            else:
                own = n.flow(flow, "rtt_p95_ms", at, way)
                checks.append(
                    below(f"{name} p95, {words}", own, TOLERATED_MS, "ms", slack=THRESHOLD)
                )
    return checks


EVERY_RTT = tuple(f"{rtt_ms} ms" for rtt_ms in range(20, 241, 20))


@CLAIMS("0-46", "IV-A", "Of the twelve RTT_base, 40, 140 and 240 ms show what RTT_base does.",
        home(MIDDLE, rtts=EVERY_RTT),
        rule="what is not shown lies within a quarter of what is")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    checks = []
    for queue in QUEUES:
        for flow in FLOWS:
            shown = [induced(n, flow, where(MIDDLE, queue, rtt)) for rtt in SHOWN]
            for rtt in (one for one in EVERY_RTT if one not in SHOWN):
                own = induced(n, flow, where(MIDDLE, queue, rtt))
                beyond = {seed: _beyond([one[seed] for one in shown], own[seed]) for seed in own}
                what = f"{flow[0]}, {queue} {rtt}: beyond what is shown"
                checks.append(below(what, beyond, 1.25, "×"))
    return checks


def _beyond(shown: list[float], value: float) -> float:
    """The factor by which `value` lies outside the range of `shown`; 1 within this range."""
    if math.isnan(value) or any(map(math.isnan, shown)):
        return math.nan
    return max(value / max(shown), min(shown) / value, 1.0)


@CLAIMS("0-47", "Fig. 4", "At 12/1 each AQM lets BulkDownload get more than FIFO.", home(MIDDLE),
        given="windows")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return over_fifo(n, MIDDLE, AQMS)


@CLAIMS("0-48", "V", "With an AQM IoT flows mostly reach their rates with little delay.", home(),
        rule="little: 100 ms")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    checks = []
    for words, at in places(*RATES, queues=AQMS):
        own = rate_of(n, "iot_high", at)
        checks.append(above(f"IoT_high, {words}", own, IOT_HIGH_MBIT, "Mbit/s", slack=0.05))
        for flow in IOT:
            checks.append(below(f"{flow[0]} induced, {words}", induced(n, flow, at), 100, "ms"))
    return mostly("in most cases", checks)
