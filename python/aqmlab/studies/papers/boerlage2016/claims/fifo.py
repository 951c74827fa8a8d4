"""Claims of sections V-B and V-C: a whole household behind a FIFO."""

from __future__ import annotations

import math

from aqmlab.studies.claims import (
    ABOUT,
    THRESHOLD,
    Check,
    Claims,
    about,
    above,
    always,
    below,
    total,
)
from aqmlab.studies.numbers import At, BySeed, Numbers
from aqmlab.studies.papers.boerlage2016.claims.measures import (
    APPS,
    TOLERATED_MS,
    at,
    falling,
    game,
    greatest,
    mean_of,
    rate_of,
    rising,
    short,
    trend,
)
from aqmlab.studies.papers.boerlage2016.conditions import (
    FIFO,
    NARROW,
    NO_UPLOAD,
    SHORT,
    UPLOADS,
    home,
    mbit,
    over_time,
)
from aqmlab.studies.trials import Trials

CLAIMS = Claims()

DOWN_MBIT = 12.0
TURN = 50
"""V-B: the download speed in Mbit/s from which acknowledgements fill an uplink of 1 Mbit/s."""

CLOUD_ENDS_S = 40.0


def _over_time(demographic: str) -> At:
    return {"demographic": demographic, "qdisc": FIFO, "rtt": SHORT}


# --- Downloads only (V-B) ----------------------------------------------------------------------


@CLAIMS("4-10", "V-B, V-C, Fig. 15", "With downloads alone at 12/1 the game waits 250 to 300 ms on "
        "average and 500 ms at most.", over_time(NO_UPLOAD, FIFO),
        given="mail")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    where = _over_time(NO_UPLOAD)
    average, most = (game(n, where, f"rtt_{name}_ms") for name in ("mean", "max"))
    # The paper says "around 300" and "about 250".
    return [
        above("mean", average, 250, "ms", slack=ABOUT),
        below("mean", average, 300, "ms", slack=ABOUT),
        about("greatest", most, 500, "ms"),
    ]


@CLAIMS("4-11", "V-B, Fig. 15", "That is more than a game tolerates.", over_time(NO_UPLOAD, FIFO),
        given="mail")  # fmt: skip
def _(n: Numbers) -> Check:
    own = game(n, _over_time(NO_UPLOAD), "rtt_mean_ms")
    return above("mean", own, TOLERATED_MS, "ms", slack=THRESHOLD)


@CLAIMS("4-12", "V-B, Fig. 16", "With downloads alone neither the movie nor DASH fills 12 Mbit/s.",
        over_time(NO_UPLOAD, FIFO), given="mail")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    # Both flows run from 10 s on. 95 % of the windows must meet the bound.
    return [
        below(f"{flow}, p95", rate_of(n, flow, _over_time(NO_UPLOAD), (10, 60), 0.95),
              0.95 * DOWN_MBIT, "Mbit/s")
        for flow in ("movie", "netflix")
    ]  # fmt: skip


def _averages(n: Numbers, rates: tuple[str, ...]) -> dict[str, BySeed]:
    return {rate: game(n, at(rate, NO_UPLOAD), "rtt_mean_ms") for rate in rates}


def down_mbit(rate: str) -> int:
    """The downstream part of `rate`, such as "12/1 Mbit/s", in Mbit/s."""
    return int(rate.partition("/")[0])


@CLAIMS("4-13", "V-B, Fig. 17", "With downloads alone and 1 Mbit/s up the game's average RTT "
        "falls with the download speed until 50 Mbit/s, and then rises.",
        home(NO_UPLOAD, rate=NARROW), given="mail")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    averages = _averages(n, NARROW)
    slow = {rate: own for rate, own in averages.items() if down_mbit(rate) <= TURN}
    fast = {rate: own for rate, own in averages.items() if down_mbit(rate) >= TURN}
    least = {seed: min(NARROW, key=lambda rate: averages[rate][seed]) for seed in n.seeds}
    where = {seed: float(down_mbit(rate)) for seed, rate in least.items()}
    turn = about("download speed of the least mean", where, TURN, "Mbit/s")
    return [turn, trend("falls to 50", slow, -1), trend("rises from 50", fast, 1)]


@CLAIMS("4-14", "V-B, Fig. 18", "From 65 to 75 Mbit/s down it rises with 1 Mbit/s up and falls "
        "with 4.", home(NO_UPLOAD, rate=mbit("65/1", "75/1", "65/4", "75/4")),
        given="mail")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    narrow, wide = (mbit(f"65/{up}", f"75/{up}") for up in (1, 4))
    return [*rising("mean", _averages(n, narrow)), *falling("mean", _averages(n, wide))]


# --- With uploads (V-C) ------------------------------------------------------------------------


@CLAIMS("4-15", "V-C, Fig. 19", "With uploads too at 12/1 round trips take about 1000 ms on "
        "average and 2500 ms at most.", over_time("1", FIFO))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    where = _over_time("1")
    means, most = (
        {flow: n.flow(flow, f"rtt_{name}_ms", where, way) for flow, way in APPS.items()}
        for name in ("mean", "max")
    )
    return [
        about("all traffic", mean_of(means.values()), 1000, "ms"),
        about("the game", means["game"], 1000, "ms"),
        about("greatest of all traffic", greatest(most.values()), 2500, "ms"),
    ]


DOWNWARDS = tuple(flow for flow, way in APPS.items() if way == "down")


@CLAIMS("4-16", "V-C, Fig. 20", "With uploads too much of the 12 Mbit/s is unused until the "
        "cloud upload ends at 40 s, and shortly after it no longer is.",
        over_time("1", FIFO))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    where = _over_time("1")
    before, after = (
        total(*(rate_of(n, flow, where, span_s) for flow in DOWNWARDS))
        for span_s in ((5, CLOUD_ENDS_S), (CLOUD_ENDS_S + 5, 60))
    )
    # "Much" means at least 1/3. For a household with pauses, 80 % of the line counts as full use.
    return [
        below("all downwards, 5 to 40 s", before, 2 / 3 * DOWN_MBIT, "Mbit/s"),
        above("all downwards, 45 to 60 s", after, 0.8 * DOWN_MBIT, "Mbit/s"),
    ]


@CLAIMS("4-17", "V-C, Fig. 21", "With uploads too and 1 Mbit/s up the game's median RTT is not far "
        "from 1000 ms, whatever the download speed.", home("1", rate=NARROW))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return always("at each speed shown", (
        about(short(rate), game(n, at(rate)), 1000, "ms") for rate in NARROW
    ))  # fmt: skip


@CLAIMS("4-18", "V-C, Fig. 22", "From 45 to 60 s, after the upload, a higher download speed "
        "consistently gives the game shorter round trips.", Trials("late"))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    medians = {rate: game(n, {"rate": rate}) for rate in NARROW}
    return falling("median, 45 to 60 s", medians)


@CLAIMS("4-19", "V-C, Fig. 23", "At 25 Mbit/s down the game's RTT falls with the upload speed, and "
        "is below 200 ms from 7 Mbit/s.", home("1", rate=UPLOADS))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    medians = {rate: game(n, at(rate)) for rate in UPLOADS}
    enough = {seed: _enough_mbit({rate: own[seed] for rate, own in medians.items()})
              for seed in n.seeds}  # fmt: skip
    speed = about("upload speed from which it is", enough, 7, "Mbit/s")
    return [speed, trend("median falls", medians, -1)]


def _enough_mbit(medians: dict[str, float]) -> float:
    """The least upload speed at and above which all medians are tolerable, or infinity."""
    found = math.inf
    for rate, own in reversed(medians.items()):
        if own >= TOLERATED_MS:
            break
        found = float(short(rate).partition("/")[2])
    return found
