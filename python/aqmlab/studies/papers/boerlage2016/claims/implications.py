"""Claims of section VI: the consequences for households and providers."""

from __future__ import annotations

from aqmlab.studies.claims import THRESHOLD, Check, Claims, Evidence, above, alike, below, more
from aqmlab.studies.numbers import BySeed, Numbers
from aqmlab.studies.papers.boerlage2016.claims.aqm import HIGHEST_MS
from aqmlab.studies.papers.boerlage2016.claims.arithmetic import DEMOGRAPHICS
from aqmlab.studies.papers.boerlage2016.claims.fifo import down_mbit
from aqmlab.studies.papers.boerlage2016.claims.measures import (
    TOLERATED_MS,
    at,
    game,
    greatest,
    mean_of,
    short,
)
from aqmlab.studies.papers.boerlage2016.conditions import (
    FIFO,
    FQ,
    HOUSEHOLDS,
    NARROW,
    NO_UPLOAD,
    OPTUS,
    TIERS,
    home,
)
from aqmlab.studies.trials import Trials

CLAIMS = Claims()

TOP_MBIT = 4.219897
"""The rate of a stream's highest representation with segments of 2 s."""

_SOLD = (*TIERS, OPTUS)
ENOUGH = {
    one: tuple(rate for rate in _SOLD if down_mbit(rate) >= DEMOGRAPHICS[one][1][0])
    for one in HOUSEHOLDS
}
"""By household: the sold rates whose download speed is at least the household's need (III-C)."""


@CLAIMS("4-48", "VI", "An AQM in the gateway alone is enough for a game, if the household does not "
        "need more than the line gives downwards.",
        Trials("uplink", {"demographic": HOUSEHOLDS, "rate": _SOLD}))  # fmt: skip
def _(n: Numbers) -> Evidence:
    checks = [
        below(f"{short(rate)}, {one}", game(n, {"demographic": one, "rate": rate}), TOLERATED_MS,
              "ms", slack=THRESHOLD)
        for one in HOUSEHOLDS
        for rate in ENOUGH[one]
    ]  # fmt: skip
    return Evidence(
        checks, note="on the tiers of the NBN and 100/2 that give as much as III-C says"
    )


STREAMS = ("netflix-1", "netflix-2")
LINES = ("8/1 Mbit/s", "12/1 Mbit/s", "16/1 Mbit/s")


@CLAIMS("4-49", "VI, VII", "An AQM does not lower the rate that streams need.", Trials("streams"))
def _(n: Numbers) -> list[Check]:
    # Two streams need 8.4 Mbit/s and headers.
    return [
        check
        for qdisc in (FIFO, FQ)
        for check in (
            below(f"RR, 8/1, {qdisc}", _mean_rr(n, LINES[0], qdisc), 0.95 * TOP_MBIT, "Mbit/s"),
            above(f"RR, 16/1, {qdisc}", _mean_rr(n, LINES[2], qdisc), 0.95 * TOP_MBIT, "Mbit/s"),
        )
    ]


@CLAIMS("4-54", "II-A", "Better queue management makes little difference to streams.",
        Trials("streams"))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    # "Little" means at most 10 %.
    return [
        alike(f"RR under FQ-CoDel over FIFO, {short(rate)}",
              *(_mean_rr(n, rate, qdisc) for qdisc in (FQ, FIFO)), within=0.1)
        for rate in LINES
    ]  # fmt: skip


def _mean_rr(n: Numbers, rate: str, qdisc: str) -> BySeed:
    """The mean of both streams' representation rates, in the second half of the trial."""
    where = {"rate": rate, "qdisc": qdisc}
    return mean_of(n.chunks(stream, "rr_mbit", where, "mean", (30, 60)) for stream in STREAMS)


SKEWED = tuple(rate for rate in NARROW if down_mbit(rate) >= 50)
"""V-B: rates at which acknowledgements fill an uplink of 1 Mbit/s."""


@CLAIMS("4-52", "VI", "On highly asymmetric lines a game is playable only with an AQM.",
        home((NO_UPLOAD, *HOUSEHOLDS), (FIFO, FQ), rate=(*SKEWED, OPTUS)),
        given="game_rtt")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    checks = []
    for rate in (*SKEWED, OPTUS):
        fq = greatest(game(n, at(rate, one, FQ)) for one in (NO_UPLOAD, *HOUSEHOLDS))
        what = f"worst under FQ-CoDel, {short(rate)}"
        checks.append(below(what, fq, HIGHEST_MS, "ms", slack=THRESHOLD))
        for one in HOUSEHOLDS:
            own = game(n, at(rate, one))
            checks.append(
                above(f"FIFO, {short(rate)}, {one}", own, TOLERATED_MS, "ms", slack=THRESHOLD)
            )
    return checks


LEAST_UP, MORE_UP = "100/1 Mbit/s", "100/5 Mbit/s"


@CLAIMS("4-53", "VI, Fig. 17", "On such lines acknowledgements cap the download, even without any "
        "upload.", home(NO_UPLOAD, rate=(LEAST_UP, MORE_UP)))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    capped, free = (
        n.queue("down", "throughput_mbit", at(rate, NO_UPLOAD)) for rate in (LEAST_UP, MORE_UP)
    )
    # "Capped" means that at least 20 % of the line's rate remains unused.
    return [
        below("throughput at 100/1", capped, 80, "Mbit/s"),
        more("throughput at 100/5 over 100/1", free, capped),
    ]
