"""Claims of V-E, parts of VI, and Appendix B: six households on all 55 pairs of speeds."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from aqmlab.studies.claims import (
    ABOUT,
    THRESHOLD,
    Check,
    Claims,
    Evidence,
    about,
    above,
    always,
    below,
    more,
    part,
    spread,
)
from aqmlab.studies.numbers import BySeed, Numbers
from aqmlab.studies.papers.boerlage2016.claims.aqm import HIGHEST_MS, RANGE_MS
from aqmlab.studies.papers.boerlage2016.claims.measures import (
    BASE_MS,
    CORRELATED,
    TOLERATED_MS,
    at,
    falling,
    game,
    greatest,
    least,
    less,
    rank_correlation,
    short,
)
from aqmlab.studies.papers.boerlage2016.conditions import (
    FIFO,
    FQ,
    HOUSEHOLDS,
    LOWEST_TIER,
    OPTUS,
    TIERS,
    home,
    mbit,
)

CLAIMS = Claims()

LEAST_UP_MBIT = 5
"""V-E: the upload speed in Mbit/s that all households but the first need."""


def rates_of(n: Numbers) -> list[str]:
    """The rates of the trials, in the order of Appendix C."""
    return list(dict.fromkeys(str(one.conditions["rate"]) for one in n.results.manifest.trials))


def up_mbit(rate: str) -> int:
    """The upload speed of a rate in Mbit/s."""
    return int(short(rate).partition("/")[2])


def medians(n: Numbers, rates: Sequence[str], qdisc: str) -> dict[tuple[str, str], BySeed]:
    """The game's median RTT by rate and demographic."""
    return {
        (rate, one): game(n, at(rate, one, qdisc)) for rate in rates for one in HOUSEHOLDS
    }  # fmt: skip


# --- FIFO --------------------------------------------------------------------------------------


@CLAIMS("4-28", "V-E, Fig. 31", "Under FIFO the game waits too long somewhere in each demographic; "
        "all have the same shape, and fall as both speeds grow.", home())  # fmt: skip
def _(n: Numbers) -> list[Check]:
    rates = rates_of(n)
    found = medians(n, rates, FIFO)
    checks = []
    for one in HOUSEHOLDS:
        own = {rate: found[rate, one] for rate in rates}
        most = greatest(own.values())
        checks.append(above(f"greatest median, {one}", most, TOLERATED_MS, "ms", slack=THRESHOLD))
        like = _correlation(n, own, {rate: found[rate, "1"] for rate in rates})
        if one != "1":
            checks.append(
                above(f"correlation of ranks with demographic 1, {one}", like, CORRELATED)
            )
        tiers = {rate: own[rate] for rate in (TIERS[0], TIERS[1], TIERS[3], TIERS[4])}
        checks += falling(f"median, {one}", tiers)
    return checks


def _correlation(n: Numbers, these: dict[str, BySeed], those: dict[str, BySeed]) -> BySeed:
    """Spearman's rank correlation of two quantities over rates, for each seed."""
    return {
        seed: rank_correlation(
            [own[seed] for own in these.values()], [own[seed] for own in those.values()]
        )
        for seed in n.seeds
    }


SLOW_UP, FAST_UP = mbit("12/1", "12/10")
SLOW_DOWN, FAST_DOWN = mbit("8/1", "80/1")


@CLAIMS("4-29", "V-E, Fig. 31", "Under FIFO more upload speed shortens the game's round trips more "
        "than more download speed.",
        home(rate=(SLOW_UP, FAST_UP, SLOW_DOWN, FAST_DOWN)))  # fmt: skip
def _(n: Numbers) -> Evidence:
    checks = []
    for one in HOUSEHOLDS:
        up, down = (
            {seed: slow / fast[seed] for seed, slow in game(n, at(before, one)).items()}
            for before, after in ((SLOW_UP, FAST_UP), (SLOW_DOWN, FAST_DOWN))
            for fast in (game(n, at(after, one)),)
        )
        checks.append(more(f"what ten times the upload gains over the download, {one}", up, down))
    return Evidence(checks, note="12/1 to 12/10 against 8/1 to 80/1 Mbit/s")


@CLAIMS("4-30", "V-E, Fig. 31", "Under FIFO every demographic but the first needs at least "
        "5 Mbit/s up for a median below 200 ms.", home())  # fmt: skip
def _(n: Numbers) -> list[Check]:
    narrow = [rate for rate in rates_of(n) if up_mbit(rate) < LEAST_UP_MBIT]
    found = medians(n, narrow, FIFO)
    first = below("least with less than 5 up, 1", least(found[rate, "1"] for rate in narrow),
                  TOLERATED_MS, "ms", slack=THRESHOLD)  # fmt: skip
    others = (
        above(f"{short(rate)}, {one}", found[rate, one], TOLERATED_MS, "ms", slack=THRESHOLD)
        for rate in narrow
        for one in HOUSEHOLDS[1:]
    )
    return [first, *always("each demographic except for demographic 1", others)]


@CLAIMS("4-31", "VI, Fig. 31", "Under FIFO only 50/20 and 100/40 of the tiers give all six "
        "demographics a median below 200 ms.", home(rate=TIERS))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    found = medians(n, TIERS, FIFO)
    worst = {rate: greatest(found[rate, one] for one in HOUSEHOLDS) for rate in TIERS}
    return [
        make(f"worst at {short(rate)}", worst[rate], TOLERATED_MS, "ms", slack=THRESHOLD)
        for make, rates in ((above, TIERS[:3]), (below, TIERS[3:]))
        for rate in rates
    ]


@CLAIMS("4-32", "VI, Fig. 31", "Under FIFO 12/1 and 25/5 are too slow for every demographic, but "
        "for the first at 25/5.", home(rate=TIERS[:2]))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    checks = []
    for (rate, one), own in medians(n, TIERS[:2], FIFO).items():
        make = below if (rate, one) == (TIERS[1], "1") else above
        checks.append(make(f"{short(rate)}, {one}", own, TOLERATED_MS, "ms", slack=THRESHOLD))
    return always("for all demographics", checks)


@CLAIMS("4-33", "VI, Fig. 31", "Under FIFO at 100/2 every demographic has a median above 400 ms.",
        home(rate=OPTUS))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return [above(one, game(n, at(OPTUS, one)), 400, "ms", slack=THRESHOLD) for one in HOUSEHOLDS]


# --- FQ-CoDel ----------------------------------------------------------------------------------


def _greatest_and_least(n: Numbers, rates: Sequence[str]) -> tuple[BySeed, BySeed]:
    found = medians(n, rates, FQ).values()
    return greatest(found), least(found)


@CLAIMS("4-34", "V-E, Fig. 32", "Under FQ-CoDel the game's medians lie within 21 and 26 ms at "
        "every rate in every demographic.", home(qdisc=FQ),
        given="game_rtt")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    most, low = _greatest_and_least(n, rates_of(n))
    return [
        below("greatest median", most, HIGHEST_MS, "ms", slack=THRESHOLD),
        above("least median", low, 21, "ms", slack=THRESHOLD),
        about("greatest less least", less(most, low), RANGE_MS, "ms"),
    ]


@CLAIMS("4-35", "VI, Fig. 32", "Under FQ-CoDel they do not exceed 26 ms even at 8/1.",
        home(qdisc=FQ, rate="8/1 Mbit/s"), given="game_rtt")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return [
        below(one, game(n, at("8/1 Mbit/s", one, FQ)), HIGHEST_MS, "ms", slack=THRESHOLD)
        for one in HOUSEHOLDS
    ]


@CLAIMS("4-36", "VI", "FQ-CoDel on the lowest tier gives the game shorter round trips than FIFO on "
        "the third.", home("1", (FIFO, FQ), rate=(LOWEST_TIER, TIERS[2])))  # fmt: skip
def _(n: Numbers) -> Check:
    fifo, fq = (game(n, at(rate, qdisc=q)) for rate, q in ((TIERS[2], FIFO), (LOWEST_TIER, FQ)))
    return more("FIFO at 25/10 over FQ-CoDel at 12/1", fifo, fq)


@CLAIMS("4-37", "VII", "Under FQ-CoDel the game waits 1 to 5 ms beyond RTT_base, in every "
        "demographic at every rate.", home(qdisc=FQ),
        given="game_rtt")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    most, low = _greatest_and_least(n, rates_of(n))
    base = dict.fromkeys(n.seeds, BASE_MS)
    return [
        below("greatest induced median", less(most, base), 5, "ms", slack=ABOUT),
        above("least induced median", less(low, base), 1, "ms", slack=ABOUT),
    ]


# --- Both --------------------------------------------------------------------------------------


@CLAIMS("4-44", "App. B, Figs. 40 to 51", "In every demographic FIFO's boxes are tall and fall "
        "with speed, FQ-CoDel's small and near 20 to 26 ms.", home(qdisc=(FIFO, FQ)),
        given="game_rtt")  # fmt: skip
def _(n: Numbers) -> Evidence:
    checks: list[Check] = []
    rates = rates_of(n)
    for one in HOUSEHOLDS:
        ends = {rate: game(n, at(rate, one)) for rate in (rates[0], rates[-1])}
        checks += part("falls", falling(f"FIFO, {one}", ends))
        for rate in rates:
            tall, small = (_height(n, rate, one, qdisc) for qdisc in (FIFO, FQ))
            checks.append(more(f"FIFO's box over FQ-CoDel's, {short(rate)}, {one}", tall, small))
            top = game(n, at(rate, one, FQ), "rtt_p75_ms")
            checks.append(below(f"FQ-CoDel's p75, {short(rate)}, {one}", top, 30, "ms"))
    return Evidence(checks, note="near: up to 30 ms")


def _height(n: Numbers, rate: str, demographic: str, qdisc: str) -> BySeed:
    where = at(rate, demographic, qdisc)
    return spread(*(game(n, where, f"rtt_p{part}_ms") for part in (25, 75)))


@CLAIMS("4-50", "V-E, Fig. 31", "Under FIFO what a household runs matters little to the game's "
        "median RTT.", home())  # fmt: skip
def _(n: Numbers) -> Evidence:
    checks = []
    for rate in rates_of(n):
        found = {one: game(n, at(rate, one)) for one in HOUSEHOLDS}
        middle = {seed: statistics.median(own[seed] for own in found.values()) for seed in n.seeds}
        for one, own in found.items():
            off = {seed: abs(own[seed] / middle[seed] - 1) for seed in n.seeds}
            checks.append(below(f"off the median of six, {short(rate)}, {one}", off, 0.25))
    return Evidence(checks, note="little: a quarter of the median of the six")
