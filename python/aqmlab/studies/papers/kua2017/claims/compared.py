"""Claims of section IV-A.4: comparison of rates and disciplines."""

from __future__ import annotations

from aqmlab.studies.claims import Check, Claims, above, alike, always, more, not_less, part, total
from aqmlab.studies.numbers import Numbers
from aqmlab.studies.papers.kua2017.claims.common import (
    FLOWS,
    FOUR,
    FQ,
    HIGH,
    IOT_HIGH_MBIT,
    IOT_LOW_MBIT,
    LOW,
    MIDDLE,
    RATES,
    SHOWN,
    against,
    home,
    mean_induced,
    places,
    rate_of,
    spread_of,
    where,
)

CLAIMS = Claims()


@CLAIMS("0-27", "IV-A.4, Fig. 3", "Under FIFO induced RTT grows as the line gets slower.",
        home(HIGH, MIDDLE, LOW))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    checks = []
    for fast, slow in ((HIGH, MIDDLE), (MIDDLE, LOW)):
        for rtt in SHOWN:
            own, other = (mean_induced(n, FLOWS, where(rate, "FIFO", rtt)) for rate in (slow, fast))
            checks.append(more(f"mean of all, {rtt}: {slow} over {fast}", own, other))
    return checks


@CLAIMS("0-28", "IV-A, IV-A.4", "Delays at 4/1 are nearly those at 12/1: the uplink rules.",
        home(MIDDLE, FOUR), rule="nearly: within a quarter")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    checks = []
    for words, at in places(FOUR):
        own, other = mean_induced(n, FLOWS, at), mean_induced(n, FLOWS, {**at, "rate": MIDDLE})
        checks.append(alike(f"mean of all, {words} over 12/1", own, other, within=0.25))
    return checks


@CLAIMS("0-29", "IV-A.4", "Under FIFO the queue of the uplink rules the round trips of downstream "
        "flows too.", home())  # fmt: skip
def _(n: Numbers) -> list[Check]:
    checks = []
    for words, at in places(*RATES, queues=("FIFO",)):
        uplink, downlink = (n.queue(link, "sojourn_mean_ms", at) for link in ("up", "down"))
        checks.append(more(f"wait at the uplink over downlink, {words}", uplink, downlink))
        down, up = (
            mean_induced(n, [one for one in FLOWS if one[2] == way], at) for way in ("down", "up")
        )
        checks.append(alike(f"downstream flows over upstream, {words}", down, up, within=0.35))
    return checks


@CLAIMS("0-30", "IV-A.4", "FQ-PIE can delay longer and less evenly than FQ-CoDel.", home())
def _(n: Numbers) -> list[Check]:
    delays, spreads = [], []
    for words, at in places(*RATES, queues=("FQ-PIE",)):
        what, other = against(words, at, "FQ-CoDel")
        own, theirs = mean_induced(n, FLOWS, at), mean_induced(n, FLOWS, other)
        delays.append(not_less(f"mean of all, {what}", own, theirs, slack=0.05))
        own, theirs = (total(*(spread_of(n, flow, one) for flow in FLOWS)) for one in (at, other))
        spreads.append(not_less(f"mean spread, {what}", own, theirs, slack=0.05))
    return [*part("longer", delays), *part("less even", spreads)]


@CLAIMS("0-31", "IV-A.4", "Under FQ-CoDel and FQ-PIE no IoT flow is ever starved.", home(),
        rule="starved: less than half of its rate in one of twenty windows")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    checks = []
    for words, at in places(*RATES, queues=FQ):
        low, high = rate_of(n, "iot_low", at, 5), rate_of(n, "iot_high", at, 5)
        checks.append(above(f"IoT_low p5, {words}", low, 0.5 * IOT_LOW_MBIT, "Mbit/s"))
        checks.append(above(f"IoT_high p5, {words}", high, 0.5 * IOT_HIGH_MBIT, "Mbit/s"))
    return always("regardless of how many bulk TCP flows are competing", checks)
