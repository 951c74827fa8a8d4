"""Section V-F: what FQ-CoDel costs transfers over long paths."""

from __future__ import annotations

import statistics

from aqmlab.studies.boerlage2016.claims.measures import (
    ABOUT,
    Points,
    Series,
    between,
    each,
    falling,
    mean_between,
    quantile_between,
    throughput,
)
from aqmlab.studies.boerlage2016.conditions import (
    FIFO,
    FQ,
    LONG,
    MIDDLE,
    NO_UPLOAD,
    RTTS,
    SHORT,
    over_time,
)
from aqmlab.studies.claims import Check, Claims, about, above, alike, below, more
from aqmlab.studies.numbers import BySeed, Numbers

CLAIMS = Claims()

STARTS_S, ENDS_S = 1.5, 59.5
"""The first and the last window of a second that lie within the movie's transfer."""

CLOUD_ENDS_S = 39.5
"""The last window before the cloud upload ends."""


def _movie(n: Numbers, demographic: str, qdisc: str, rtt: str) -> Series:
    return throughput(n, "movie", {"demographic": demographic, "qdisc": qdisc, "rtt": rtt})


def _mean(n: Numbers, demographic: str, qdisc: str, rtt: str) -> BySeed:
    return each(_movie(n, demographic, qdisc, rtt), mean_between(STARTS_S, ENDS_S))


@CLAIMS("4-38", "V-F, Fig. 33", "Under FIFO, with downloads alone at 12/1, the movie gets about "
        "8 Mbit/s, and RTT_base matters little.", over_time(NO_UPLOAD, FIFO, RTTS),
        given=("mail", "windows"))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    means = {rtt: _mean(n, NO_UPLOAD, FIFO, rtt) for rtt in RTTS}
    return [
        *(about(f"mean, {rtt}", own, 8, "Mbit/s", within=ABOUT) for rtt, own in means.items()),
        *(alike(f"{rtt} over {SHORT}", means[rtt], means[SHORT], within=ABOUT)
          for rtt in (MIDDLE, LONG)),
    ]  # fmt: skip


@CLAIMS("4-39", "V-F, Fig. 34", "Under FQ-CoDel it gets less over longer paths: over 250 ms about "
        "4 Mbit/s, and as little as 2.", over_time(NO_UPLOAD, FQ, RTTS),
        given=("mail", "windows"))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    means = {rtt: _mean(n, NO_UPLOAD, FQ, rtt) for rtt in RTTS}
    # After slow start, which needs seconds over a path of 250 ms.
    low = each(_movie(n, NO_UPLOAD, FQ, LONG), quantile_between(0.0, 10, ENDS_S))
    return [
        *falling("mean", means),
        about(f"mean, {LONG}", means[LONG], 4, "Mbit/s", within=ABOUT),
        about(f"least, {LONG}", low, 2, "Mbit/s", within=0.25),
    ]


@CLAIMS("4-40", "V-F, VII", "From Europe at 12/1 a download takes twice as long under FQ-CoDel as "
        "under FIFO.", over_time(NO_UPLOAD, (FIFO, FQ), LONG),
        given=("mail", "windows"))  # fmt: skip
def _(n: Numbers) -> Check:
    fifo, fq = (_mean(n, NO_UPLOAD, qdisc, LONG) for qdisc in (FIFO, FQ))
    twice = {seed: fifo[seed] / fq[seed] for seed in n.seeds}
    return about("mean under FIFO over FQ-CoDel", twice, 2, "×", within=ABOUT)


@CLAIMS("4-41", "V-F, Fig. 35", "Under FIFO, with uploads too at 12/1, the movie stays below "
        "4 Mbit/s until the upload ends, over every path.", over_time("1", FIFO, RTTS))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    # "Staying below": nineteen windows of twenty.
    most = quantile_between(0.95, STARTS_S, CLOUD_ENDS_S)
    return [
        below(f"p95 until 40 s, {rtt}", each(_movie(n, "1", FIFO, rtt), most), 4, "Mbit/s")
        for rtt in RTTS
    ]


@CLAIMS("4-42", "V-F, Fig. 36", "Under FQ-CoDel it then gets consistently more than under FIFO, "
        "over every path.", over_time("1", (FIFO, FQ), RTTS))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    checks = []
    for rtt in RTTS:
        fifo, fq = (_movie(n, "1", qdisc, rtt) for qdisc in (FIFO, FQ))
        until = mean_between(STARTS_S, CLOUD_ENDS_S)
        checks.append(more(f"mean until 40 s, {rtt}", each(fq, until), each(fifo, until)))
        higher = {seed: _share_above(fq[seed], fifo[seed]) for seed in n.seeds}
        # "Consistently": in four windows of five.
        checks.append(above(f"share of windows until 40 s, {rtt}", higher, 0.8))
    return checks


def _share_above(these: Points, those: Points) -> float:
    """The share of windows until the upload ends in which these are above those."""
    pairs = zip(*(between(points, STARTS_S, CLOUD_ENDS_S) for points in (these, those)),
                strict=True)  # fmt: skip
    return statistics.fmean(float(one > other) for one, other in pairs)
