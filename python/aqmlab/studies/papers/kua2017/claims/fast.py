"""Claims of section IV-A.1: 25/5 Mbit/s."""

from __future__ import annotations

from aqmlab.studies.claims import Check, Claims, about, above, more, not_less, part
from aqmlab.studies.numbers import Numbers
from aqmlab.studies.papers.kua2017.claims.common import (
    AQMS,
    CALL_MBIT,
    FAR,
    FLOWS,
    FQ,
    HIGH,
    IOT_HIGH_MBIT,
    IOT_LOW_MBIT,
    LIGHT,
    SHOWN,
    TOP_MBIT,
    against,
    home,
    induced,
    over_fifo,
    places,
    rate_of,
    spread_of,
    where,
)

CLAIMS = Claims()


@CLAIMS("0-06", "IV-A.1, Fig. 2a", "At 25/5 every application gets all it can use, whatever the "
        "AQM.", home(HIGH), rule="of the applications that have a rate to reach")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    checks = []
    for words, at in places(HIGH, queues=AQMS):
        for name, flow, way in LIGHT:
            target = {"iot_low": IOT_LOW_MBIT, "iot_high": IOT_HIGH_MBIT}.get(flow, CALL_MBIT)
            own = rate_of(n, flow, at, way=way)
            checks.append(above(f"{name}, {words}", own, target, "Mbit/s", slack=0.05))
        shown = n.chunks("dash", "rr_mbit", at)
        checks.append(about(f"RR, {words}", shown, TOP_MBIT, "Mbit/s", within=0.01))
    return checks


@CLAIMS("0-07", "IV-A.1, Fig. 2a", "At 25/5 BulkDownload gets slightly less under FIFO than under "
        "each AQM.", home(HIGH), given="windows",
        rule="slightly: by a quarter at most")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    checks = over_fifo(n, HIGH, AQMS)
    for words, at in places(HIGH, queues=AQMS):
        what, fifo = against(words, at, "FIFO")
        own, other = rate_of(n, "bulk_download", at), rate_of(n, "bulk_download", fifo)
        checks.append(not_less(f"BulkDownload, FIFO's share of {what}", other, own, slack=0.25))
    return checks


@CLAIMS("0-08", "IV-A.1, Fig. 3a", "At 25/5 FIFO adds far more delay to every flow than each AQM.",
        home(HIGH), rule="far: twice at least")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return [
        more(f"{flow[0]}, {rtt}: FIFO over {aqm}", induced(n, flow, where(HIGH, "FIFO", rtt)),
             induced(n, flow, where(HIGH, aqm, rtt)), times=FAR)
        for flow in FLOWS for aqm in AQMS for rtt in SHOWN
    ]  # fmt: skip


@CLAIMS("0-09", "IV-A.1, Fig. 3a", "At 25/5 induced RTT is longer and varies more under PIE than "
        "under FQ-CoDel and FQ-PIE.", home(HIGH))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    medians, spreads = [], []
    for words, at in places(HIGH, queues=("PIE",)):
        for queue in FQ:
            what, other = against(words, at, queue)
            for flow in FLOWS:
                own, theirs = induced(n, flow, at), induced(n, flow, other)
                medians.append(more(f"{flow[0]} median, {what}", own, theirs))
                own, theirs = spread_of(n, flow, at), spread_of(n, flow, other)
                spreads.append(more(f"{flow[0]} spread, {what}", own, theirs))
    return [*part("longer", medians), *part("varies more", spreads)]


@CLAIMS("0-10", "IV-A.4, Fig. 3a", "At 25/5 DASH waits noticeably longer under FQ-PIE than under "
        "FQ-CoDel.", home(HIGH), rule="noticeably: by a quarter")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    checks = []
    for words, at in places(HIGH, queues=("FQ-PIE",)):
        what, other = against(words, at, "FQ-CoDel")
        own, theirs = induced(n, FLOWS[6], at), induced(n, FLOWS[6], other)
        checks.append(more(f"DASH, {what}", own, theirs, times=1.25))
    return checks
