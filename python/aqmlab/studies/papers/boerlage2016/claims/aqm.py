"""Claims of V-D and Appendix A: PIE, CoDel and FQ-CoDel for demographic 1."""

from __future__ import annotations

import statistics

from aqmlab.studies.claims import (
    ABOUT,
    THRESHOLD,
    Check,
    Claims,
    about,
    above,
    alike,
    below,
    more,
    not_less,
    part,
    spread,
)
from aqmlab.studies.numbers import At, BySeed, Numbers
from aqmlab.studies.papers.boerlage2016.claims.measures import (
    APPS,
    BASE_MS,
    at,
    falling,
    game,
    greatest,
    least,
    less,
    mean_of,
    short,
)
from aqmlab.studies.papers.boerlage2016.conditions import (
    AQMS,
    CODEL,
    FIFO,
    FQ,
    LOWEST_TIER,
    NARROW,
    OTHER_TIERS,
    PIE,
    SHORT,
    UPLOADS,
    home,
    over_time,
)
from aqmlab.studies.trials import Trials

CLAIMS = Claims()

LOW_MS = 100.0
"""V-D: the bound on the game's round-trip time under every AQM."""

HIGHEST_MS, RANGE_MS = 26.0, 5.0
"""V-D and V-E: our reading of "slightly higher" than RTT_base, from Figs. 29, 30 and 32.

These are the largest median RTT, and the largest difference between medians.
"""


def _at(qdisc: str) -> At:
    return {"demographic": "1", "qdisc": qdisc, "rtt": SHORT}


def _flow(n: Numbers, flow: str, qdisc: str, column: str) -> BySeed:
    return n.flow(flow, f"rtt_{column}_ms", _at(qdisc), APPS[flow])


def _all_traffic(n: Numbers, qdisc: str) -> BySeed:
    """The mean over applications of their mean round-trip times."""
    return mean_of(_flow(n, flow, qdisc, "mean") for flow in APPS)


def _averages(n: Numbers, qdisc: str, everything_ms: float, game_ms: float) -> list[Check]:
    own = _flow(n, "game", qdisc, "mean")
    return [
        about("all traffic", _all_traffic(n, qdisc), everything_ms, "ms"),
        about("the game", own, game_ms, "ms"),
    ]


@CLAIMS("4-20", "V-D, Fig. 24", "Under PIE at 12/1 all traffic takes about 90 ms and the game "
        "about 60.", over_time("1", PIE),
        given="disciplines")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return _averages(n, PIE, 90, 60)


@CLAIMS("4-21", "V-D, Fig. 25", "Under CoDel at 12/1 all traffic takes about 80 ms and the game "
        "about 60.", over_time("1", CODEL),
        given="disciplines")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return _averages(n, CODEL, 80, 60)


@CLAIMS("4-22", "V-D, Fig. 26", "Under FQ-CoDel at 12/1 most traffic takes about 40 ms and the "
        "game 20 to 30; only the upload waits as under the others, and most spreads are least.",
        over_time("1", AQMS), given="disciplines")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    means = {flow: _flow(n, flow, FQ, "mean") for flow in APPS}
    middle = {seed: statistics.median(own[seed] for own in means.values()) for seed in n.seeds}
    others = [own for flow, own in means.items() if APPS[flow] == "down"]
    like = least(_flow(n, "cloud", qdisc, "mean") for qdisc in (PIE, CODEL))
    return [
        about("median of the applications' means", middle, 40, "ms"),
        above("game, p25", _flow(n, "game", FQ, "p25"), BASE_MS, "ms"),
        below("game, p75", _flow(n, "game", FQ, "p75"), 30, "ms", slack=ABOUT),
        not_less("upload: FQ-CoDel over the least of PIE and CoDel", means["cloud"], like,
                 slack=0.25),
        more("upload over the greatest of the downloads", means["cloud"], greatest(others)),
        above("applications whose spread is the least of the three", _narrowest(n), 4),
    ]  # fmt: skip


def _narrowest(n: Numbers) -> BySeed:
    """The number of applications, of seven, whose spread of RTT is least under FQ-CoDel."""
    found = dict.fromkeys(n.seeds, 0.0)
    for flow in APPS:
        spreads = {q: spread(*(_flow(n, flow, q, part) for part in ("p25", "p75"))) for q in AQMS}
        for seed in n.seeds:
            found[seed] += spreads[FQ][seed] == min(own[seed] for own in spreads.values())
    return found


@CLAIMS("4-23", "V-D, Figs. 24 to 26", "At 12/1 the game takes less than 100 ms on average under "
        "each AQM; all traffic takes longest under PIE, then CoDel, then FQ-CoDel.",
        over_time("1", (FIFO, *AQMS)), given="disciplines")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    games = {qdisc: _flow(n, "game", qdisc, "mean") for qdisc in (FIFO, *AQMS)}
    pie, codel, fq = (_all_traffic(n, qdisc) for qdisc in AQMS)
    # CoDel is "a close second", so its times may exceed PIE's by up to 5 %.
    return [
        *(below(f"game, {qdisc}", games[qdisc], LOW_MS, "ms", slack=THRESHOLD) for qdisc in AQMS),
        above(f"game, {FIFO}", games[FIFO], 1000, "ms", slack=THRESHOLD),
        not_less("PIE over CoDel", pie, codel, slack=0.05),
        more("CoDel over FQ-CoDel", codel, fq),
    ]


def _game_under(home_: Numbers, sweep: Numbers, qdisc: str, rate: str) -> BySeed:
    if qdisc in (FIFO, FQ):
        return game(home_, at(rate, qdisc=qdisc))
    return game(sweep, {"qdisc": qdisc, "rate": rate})


@CLAIMS("4-24", "V-D, Fig. 27", "At 12/1 the game's median is about 1000 ms under FIFO and below "
        "100 under each AQM.", home("1", (FIFO, FQ), rate=LOWEST_TIER),
        Trials("sweep", {"rate": LOWEST_TIER}))  # fmt: skip
def _(home_: Numbers, sweep: Numbers) -> list[Check]:
    fifo, *aqms = ((q, _game_under(home_, sweep, q, LOWEST_TIER)) for q in (FIFO, *AQMS))
    return [
        about(FIFO, fifo[1], 1000, "ms"),
        *(below(qdisc, own, LOW_MS, "ms", slack=THRESHOLD) for qdisc, own in aqms),
    ]


@CLAIMS("4-25", "V-D, Fig. 28", "On the other tiers FQ-CoDel stays at 25 ms, CoDel and PIE are "
        "alike and fall with speed, and FIFO is far above.",
        home("1", (FIFO, FQ), rate=tuple(OTHER_TIERS)),
        Trials("sweep", {"rate": tuple(OTHER_TIERS)}), given="disciplines")  # fmt: skip
def _(home_: Numbers, sweep: Numbers) -> list[Check]:
    medians = {
        qdisc: {rate: _game_under(home_, sweep, qdisc, rate) for rate in OTHER_TIERS}
        for qdisc in (FIFO, *AQMS)
    }
    checks: list[Check] = []
    for rate in OTHER_TIERS:
        fifo, pie, codel, fq = (medians[qdisc][rate] for qdisc in (FIFO, *AQMS))
        tier = short(rate)
        checks += [
            about(f"FQ-CoDel, {tier}", fq, 25, "ms"),
            alike(f"CoDel over PIE, {tier}", codel, pie, within=0.25),
            *part("FIFO", [more(f"FIFO over PIE and CoDel, {tier}", fifo, greatest([pie, codel]))]),
            not_less(f"PIE and CoDel over FQ-CoDel, {tier}", least([pie, codel]), fq, slack=0.0),
        ]
    falls = (*falling("PIE", medians[PIE]), *falling("CoDel", medians[CODEL]))
    return [*checks, *part("fall with speed", falls)]


def _constant(n: Numbers, rates: tuple[str, ...]) -> list[Check]:
    """Checks that the game's medians are nearly equal, and at most slightly above RTT_base."""
    medians = [game(n, at(rate, qdisc=FQ)) for rate in rates]
    most, low = greatest(medians), least(medians)
    return [
        below("greatest median", most, HIGHEST_MS, "ms", slack=THRESHOLD),
        below("greatest less least", less(most, low), RANGE_MS, "ms", slack=THRESHOLD),
    ]


@CLAIMS("4-26", "V-D, Fig. 29", "Under FQ-CoDel with 1 Mbit/s up the game's RTT is slightly above "
        "20 ms, whatever the download speed.", home("1", FQ, rate=NARROW),
        given="game_rtt")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return _constant(n, NARROW)


@CLAIMS("4-27", "V-D, Fig. 30", "Under FQ-CoDel at 25 Mbit/s down the game's RTT is slightly above "
        "20 ms, whatever the upload speed.", home("1", FQ, rate=UPLOADS),
        given="game_rtt")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return _constant(n, UPLOADS)


@CLAIMS("4-43", "App. A, Figs. 37 to 39", "At 25 Mbit/s down every AQM keeps the game's RTT low at "
        "every upload speed, and FQ-CoDel lowest and flat.", home("1", FQ, rate=UPLOADS),
        Trials("sweep", {"rate": UPLOADS}), given="game_rtt")  # fmt: skip
def _(home_: Numbers, sweep: Numbers) -> list[Check]:
    checks = _constant(home_, UPLOADS)
    for rate in UPLOADS:
        pie, codel, fq = (_game_under(home_, sweep, qdisc, rate) for qdisc in AQMS)
        checks.append(below(f"PIE and CoDel, {short(rate)}", greatest([pie, codel]), LOW_MS, "ms"))
        other = least([pie, codel])
        checks.append(more(f"PIE and CoDel over FQ-CoDel, {short(rate)}", other, fq))
    return checks
