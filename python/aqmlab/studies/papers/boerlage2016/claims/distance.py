"""Claims of section V-F: the cost of FQ-CoDel for transfers over long paths."""

from __future__ import annotations

import statistics

from aqmlab.studies.claims import THRESHOLD, Check, Claims, about, above, alike, below, more
from aqmlab.studies.numbers import BySeed, Numbers
from aqmlab.studies.papers.boerlage2016.claims.measures import LITTLE, falling, rate_of
from aqmlab.studies.papers.boerlage2016.conditions import (
    FIFO,
    FQ,
    LONG,
    MIDDLE,
    NO_UPLOAD,
    RTTS,
    SHORT,
    over_time,
)
from aqmlab.studies.statistic import Take

CLAIMS = Claims()

WHOLE_S = (1.0, 60.0)
"""The interval of the movie's whole transfer."""

UPLOADING_S = (1.0, 40.0)
"""The interval in which the cloud upload also runs."""


def _movie(
    n: Numbers,
    demographic: str,
    qdisc: str,
    rtt: str,
    span_s: tuple[float, float] = WHOLE_S,
    take: Take = "mean",
) -> BySeed:
    where = {"demographic": demographic, "qdisc": qdisc, "rtt": rtt}
    return rate_of(n, "movie", where, span_s, take)


@CLAIMS("4-38", "V-F, Fig. 33", "Under FIFO, with downloads alone at 12/1, the movie gets about "
        "8 Mbit/s, and RTT_base matters little.", over_time(NO_UPLOAD, FIFO, RTTS),
        given=("mail", "windows"))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    means = {rtt: _movie(n, NO_UPLOAD, FIFO, rtt) for rtt in RTTS}
    return [
        *(about(f"mean, {rtt}", own, 8, "Mbit/s") for rtt, own in means.items()),
        *(alike(f"{rtt} over {SHORT}", means[rtt], means[SHORT], within=LITTLE)
          for rtt in (MIDDLE, LONG)),
    ]  # fmt: skip


@CLAIMS("4-39", "V-F, Fig. 34", "Under FQ-CoDel it gets less over longer paths: over 250 ms about "
        "4 Mbit/s, and as little as 2.", over_time(NO_UPLOAD, FQ, RTTS),
        given=("mail", "windows"))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    means = {rtt: _movie(n, NO_UPLOAD, FQ, rtt) for rtt in RTTS}
    # The windows begin after slow start, which takes seconds over a path of 250 ms.
    low = _movie(n, NO_UPLOAD, FQ, LONG, (10, 60), "min")
    return [
        *falling("mean", means),
        about(f"mean, {LONG}", means[LONG], 4, "Mbit/s"),
        about(f"least, {LONG}", low, 2, "Mbit/s"),
    ]


@CLAIMS("4-40", "V-F, VII", "From Europe at 12/1 a download takes twice as long under FQ-CoDel as "
        "under FIFO.", over_time(NO_UPLOAD, (FIFO, FQ), LONG),
        given=("mail", "windows"))  # fmt: skip
def _(n: Numbers) -> Check:
    fifo, fq = (_movie(n, NO_UPLOAD, qdisc, LONG) for qdisc in (FIFO, FQ))
    twice = {seed: fifo[seed] / fq[seed] for seed in n.seeds}
    return about("mean under FIFO over FQ-CoDel", twice, 2, "×")


@CLAIMS("4-41", "V-F, Fig. 35", "Under FIFO, with uploads too at 12/1, the movie stays below "
        "4 Mbit/s until the upload ends, over every path.", over_time("1", FIFO, RTTS))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    # "Staying below" means in 95 % of the windows.
    return [
        below(f"p95 until 40 s, {rtt}", _movie(n, "1", FIFO, rtt, UPLOADING_S, 0.95), 4, "Mbit/s",
              slack=THRESHOLD)
        for rtt in RTTS
    ]  # fmt: skip


@CLAIMS("4-42", "V-F, Fig. 36", "Under FQ-CoDel it then gets consistently more than under FIFO, "
        "over every path.", over_time("1", (FIFO, FQ), RTTS))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    checks = []
    for rtt in RTTS:
        fifo, fq = (_movie(n, "1", qdisc, rtt, UPLOADING_S) for qdisc in (FIFO, FQ))
        checks.append(more(f"mean until 40 s, {rtt}", fq, fifo))
        # "Consistently" means in 80 % of the windows.
        checks.append(above(f"share of windows until 40 s, {rtt}", _share_above(n, rtt), 0.8))
    return checks


def _share_above(n: Numbers, rtt: str) -> BySeed:
    """The share of windows in which the movie gets more throughput under FQ-CoDel than under FIFO.

    Windows after the end of the upload do not count.
    """
    series = [
        n.points("windows", "movie", "throughput_mbit",
                 {"demographic": "1", "qdisc": qdisc, "rtt": rtt})
        for qdisc in (FIFO, FQ)
    ]  # fmt: skip
    first_s, last_s = UPLOADING_S
    found: BySeed = {}
    for seed in n.seeds:
        fifo, fq = (
            [value for t_s, value in points[seed] if first_s + 0.5 <= t_s <= last_s - 0.5]
            for points in series
        )
        pairs = zip(fifo, fq, strict=True)
        found[seed] = statistics.fmean(float(own > other) for other, own in pairs)
    return found
