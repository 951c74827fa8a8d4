"""Claims of section IV-B: the DASH stream."""

from __future__ import annotations

from aqmlab.studies.claims import (
    ABOUT,
    THRESHOLD,
    Check,
    Claims,
    about,
    above,
    always,
    below,
    more,
    mostly,
    not_less,
)
from aqmlab.studies.numbers import At, BySeed, Numbers
from aqmlab.studies.papers.kua2017.claims.common import (
    AQMS,
    FOUR,
    FQ,
    HIGH,
    LOW,
    LOWEST_MBIT,
    MIDDLE,
    RATES,
    SHOWN,
    TOP_MBIT,
    against,
    home,
    places,
)

CLAIMS = Claims()


def _dash(n: Numbers, column: str, at: At) -> BySeed:
    return n.chunks("dash", column, at)


def _better(n: Numbers, queue: str, other: str, rates: tuple[str, ...]) -> list[Check]:
    """Checks that the stream's achieved rate (AR) is higher under `queue` than under `other`.

    The checks also require that the representation rate (RR) is not lower.
    """
    checks = []
    for words, at in places(*rates, queues=(queue,)):
        what, less = against(words, at, other)
        own, theirs = (_dash(n, "ar_mbit", one) for one in (at, less))
        checks.append(more(f"AR, {what}", own, theirs))
        own, theirs = (_dash(n, "rr_mbit", one) for one in (at, less))
        checks.append(not_less(f"RR, {what}", own, theirs, slack=0.001))
    return checks


@CLAIMS("0-32", "IV-B, Fig. 5", "At every rate FIFO gives the lowest AR and RR.", home(),
        given="rate")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return [check for queue in AQMS for check in _better(n, queue, "FIFO", RATES)]


@CLAIMS("0-33", "IV-B, Fig. 5d", "At 1.5/0.5 under FIFO AR is below the lowest RR, and the video "
        "stalls often.", home(LOW), given="rate")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    checks = []
    for words, at in places(LOW, queues=("FIFO",)):
        ar = _dash(n, "ar_mbit", at)
        checks.append(below(f"AR, {words}", ar, LOWEST_MBIT, "Mbit/s", slack=THRESHOLD))
        checks.append(above(f"stalls, {words}", n.app("dash", "stalls_count", at), 5))
    return checks


@CLAIMS("0-34", "IV-B, Fig. 5", "At every rate AR and RR are higher under FQ-CoDel and FQ-PIE than "
        "under PIE, in all cases.", home(), given="rate", rule="RR: or as high")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return always("in all cases", (
        check for queue in FQ for check in _better(n, queue, "PIE", RATES)
    ))  # fmt: skip


def _rr(
    n: Numbers, rate: str, queues: tuple[str, ...], expected: float, within: float
) -> list[Check]:
    return [
        about(f"RR, {words}", _dash(n, "rr_mbit", at), expected, "Mbit/s", within=within)
        for words, at in places(rate, queues=queues)
    ]


@CLAIMS("0-35", "IV-B, Fig. 5a", "At 25/5 every AQM lets DASH choose the highest rate.", home(HIGH))
def _(n: Numbers) -> list[Check]:
    return _rr(n, HIGH, AQMS, TOP_MBIT, 0.01)


@CLAIMS("0-36", "IV-B, Fig. 5a", "At 25/5 AR is highest under FQ-PIE, then FQ-CoDel, then PIE, and "
        "enough for the highest rate even so.", home(HIGH), given="rate")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    checks = []
    for rtt in SHOWN:
        at = {"rate": HIGH, "rtt": rtt}
        pie, codel, fq_pie = (_dash(n, "ar_mbit", {**at, "qdisc": one}) for one in AQMS)
        checks.append(more(f"AR, {rtt}: FQ-PIE over FQ-CoDel", fq_pie, codel))
        checks.append(more(f"AR, {rtt}: FQ-CoDel over PIE", codel, pie))
        checks.append(above(f"AR, {rtt}: PIE", pie, TOP_MBIT, "Mbit/s", slack=THRESHOLD))
    return checks


@CLAIMS("0-37", "IV-B, Fig. 5b", "At 12/1 under FQ-CoDel and FQ-PIE AR is mostly above 4 Mbit/s "
        "and RR the highest.", home(MIDDLE), given="rate", rule="mostly: the median")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    rates = [
        above(f"AR, {words}", _dash(n, "ar_mbit", at), 4, "Mbit/s", slack=THRESHOLD)
        for words, at in places(MIDDLE, queues=FQ)
    ]
    return [*rates, *_rr(n, MIDDLE, FQ, TOP_MBIT, 0.01)]


@CLAIMS("0-38", "IV-B, Fig. 5b", "At 12/1 AR is slightly higher under FQ-PIE than under FQ-CoDel.",
        home(MIDDLE), given="rate", rule="slightly: by a quarter at most")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    checks = []
    for words, at in places(MIDDLE, queues=("FQ-PIE",)):
        what, other = against(words, at, "FQ-CoDel")
        own, theirs = (_dash(n, "ar_mbit", one) for one in (at, other))
        checks.append(more(f"AR, {what}", own, theirs))
        checks.append(not_less(f"AR, FQ-CoDel's share of {what}", theirs, own, slack=0.25))
    return checks


def _over_fifo_rr(n: Numbers, rate: str) -> list[Check]:
    checks = []
    for words, at in places(rate, queues=("PIE",)):
        what, fifo = against(words, at, "FIFO")
        own, theirs = (_dash(n, "rr_mbit", one) for one in (at, fifo))
        checks.append(more(f"RR, {what}", own, theirs))
    return checks


@CLAIMS("0-39", "IV-B, Fig. 5b", "At 12/1 under PIE RR is mostly below 1 Mbit/s, and higher than "
        "under FIFO.", home(MIDDLE), rule="mostly: the median")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    low = [
        below(f"RR, {words}", _dash(n, "rr_mbit", at), 1, "Mbit/s", slack=THRESHOLD)
        for words, at in places(MIDDLE, queues=("PIE",))
    ]
    return [*low, *_over_fifo_rr(n, MIDDLE)]


@CLAIMS("0-40", "IV-B, Fig. 5c", "At 4/1 under FQ-CoDel and FQ-PIE AR is about 1.5 Mbit/s and RR "
        "1.24 Mbit/s at every RTT_base.", home(FOUR), given="rate",
        rule="RR: that representation")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    rates = [
        about(f"AR, {words}", _dash(n, "ar_mbit", at), 1.5, "Mbit/s")
        for words, at in places(FOUR, queues=FQ)
    ]
    return [*rates, *_rr(n, FOUR, FQ, 1.244778, 0.01)]


@CLAIMS("0-41", "IV-B, Fig. 5c", "At 4/1 under PIE RR is 0.5 Mbit/s in most cases, and higher than "
        "under FIFO.", home(FOUR),
        rule="in most: at two of the three RTTs")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    half = mostly("in most cases", _rr(n, FOUR, ("PIE",), 0.5, ABOUT), share=2 / 3)
    return [*half, *_over_fifo_rr(n, FOUR)]


@CLAIMS("0-42", "IV-B, Fig. 5d", "At 1.5/0.5 under FQ-CoDel and FQ-PIE RR is about 400 kbit/s.",
        home(LOW), rule="that is the representation of 396 kbit/s")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return _rr(n, LOW, FQ, 0.396126, 0.01)


@CLAIMS("0-43", "IV-B, Fig. 5d", "At 1.5/0.5 AR and RR are lowest under FIFO, then PIE, then "
        "FQ-CoDel and FQ-PIE.", home(LOW), given="rate")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    fq = [check for queue in FQ for check in _better(n, queue, "PIE", (LOW,))]
    return [*_better(n, "PIE", "FIFO", (LOW,)), *fq]


@CLAIMS("0-49", "IV-B", "AR is steadier under FQ-CoDel and FQ-PIE than under PIE.",
        home(), given="rate",
        rule="the spread between quartiles over the median is smaller")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    checks = []
    for words, at in places(*RATES, queues=FQ):
        _, pie = against(words, at, "PIE")
        own, theirs = (_unevenness(n, one) for one in (at, pie))
        checks.append(more(f"spread of AR over its median, PIE over {words}", theirs, own))
    return checks


def _unevenness(n: Numbers, at: At) -> BySeed:
    low, middle, high = (n.chunks("dash", "ar_mbit", at, part) for part in (0.25, 0.5, 0.75))
    return {seed: (high[seed] - low[seed]) / middle[seed] for seed in n.seeds}
