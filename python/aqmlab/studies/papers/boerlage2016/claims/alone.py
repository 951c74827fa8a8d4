"""Claims of section V-A: each generator alone on its line."""

from __future__ import annotations

import math
import statistics

from aqmlab.studies.claims import Check, Claims, about, above, below, more, spread
from aqmlab.studies.numbers import BySeed, Numbers, Points
from aqmlab.studies.papers.boerlage2016.claims.measures import (
    BASE_MS,
    Series,
    each,
    first_fall,
    rate_of,
)
from aqmlab.studies.trials import Trials

CLAIMS = Claims()

DOWN_MBIT, UP_MBIT = 12.0, 1.0
FULL = 0.05
"""The largest unused share of a link's rate at which the link still counts as full."""

DOWNLOAD, UPLOAD = {"traffic": "download"}, {"traffic": "upload"}
DASH, GAME, VOIP = {"traffic": "DASH"}, {"traffic": "game"}, {"traffic": "VoIP"}


@CLAIMS("4-01", "V-A, Fig. 5", "A single download meets congestion after about 12 s, and its "
        "window and round-trip time halve.", Trials("alone", DOWNLOAD),
        given="windows")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    delays = n.points("rtt", "movie", "rtt_mean_ms", DOWNLOAD)
    windows = n.points("tcp_series", "movie", "cwnd_bytes", DOWNLOAD, "wan")
    return [
        about("first congestion", each(delays, _first_congestion_s), 12.0, "s"),
        about("RTT after over before", each(delays, _halved), 0.5, "×"),
        about("window after over before", _windows_halved(delays, windows), 0.5, "×"),
    ]


def _first_congestion_s(points: Series) -> float:
    when = first_fall(points)
    return math.nan if when is None else when


def _halved(points: Series) -> float:
    """The median 2 to 4 s after the first congestion, relative to the maximum in the 2 s before."""
    when = _first_congestion_s(points)
    return _after_over_before(points, when)


def _after_over_before(points: Series, when_s: float) -> float:
    before = [value for t_s, value in points if when_s - 2 <= t_s < when_s]
    after = [value for t_s, value in points if when_s + 2 <= t_s <= when_s + 4]
    return statistics.median(after) / max(before) if before and after else math.nan


def _windows_halved(delays: Points, windows: Points) -> BySeed:
    return {
        seed: _after_over_before(points, _first_congestion_s(delays[seed]))
        for seed, points in windows.items()
    }


@CLAIMS("4-02", "V-A, Fig. 6", "A single download fills 12 Mbit/s.", Trials("alone", DOWNLOAD))
def _(n: Numbers) -> Check:
    own = n.flow("movie", "throughput_p50_mbit", DOWNLOAD)
    return above("median", own, DOWN_MBIT, "Mbit/s", slack=FULL)


@CLAIMS("4-03", "V-A, Fig. 7", "A single upload's round-trip time grows past a second and goes on "
        "growing, and it never leaves slow start.", Trials("alone", UPLOAD),
        given="windows")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    delays = n.points("rtt", "cloud", "rtt_mean_ms", UPLOAD)
    early, middle, late = (
        n.rtt("cloud", UPLOAD, (end_s - 10, end_s)) for end_s in (10.0, 30.0, 60.0)
    )
    losses = n.flow("cloud", "lost", UPLOAD)
    # "Quickly" means within 25 % of the trial's duration.
    return [
        below("RTT exceeds 1 s after", each(delays, _above_a_second_s), 15.0, "s"),
        more("RTT: 20 to 30 s over 0 to 10 s", middle, early),
        more("RTT: 50 to 60 s over 20 to 30 s", late, middle),
        below("losses, which end slow start", losses, 0, "packets"),
    ]


def _above_a_second_s(points: Series) -> float:
    return next((t_s for t_s, value in points if value > 1000), math.inf)


@CLAIMS("4-04", "V-A, Fig. 8", "A single upload fills 1 Mbit/s.", Trials("alone", UPLOAD))
def _(n: Numbers) -> Check:
    own = n.flow("cloud", "throughput_p50_mbit", UPLOAD)
    return above("median", own, UP_MBIT, "Mbit/s", slack=FULL)


@CLAIMS("4-05", "V-A, Figs. 9, 10", "A DASH stream looks much like a download, in chunks of two "
        "seconds, and its throughput is spread wider.",
        Trials("alone", {"traffic": ("download", "DASH")}))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    rates = {
        name: spread(*(n.flow(flow, f"throughput_p{part}_mbit", where) for part in (5, 95)))
        for name, flow, where in (("DASH", "netflix", DASH), ("download", "movie", DOWNLOAD))
    }
    full = rate_of(n, "netflix", DASH, (0, 60), 0.95)
    return [
        about("throughput of DASH, p95", full, DOWN_MBIT, "Mbit/s"),
        above("RTT of DASH, p95", n.flow("netflix", "rtt_p95_ms", DASH), 5 * BASE_MS, "ms"),
        more("spread of throughput: DASH over a download", rates["DASH"], rates["download"]),
        about("time between chunks", _chunks_apart_s(n), 2.0, "s"),
    ]


def _chunks_apart_s(n: Numbers) -> BySeed:
    """The mean time between chunks after 30 s, when the player's buffer is full."""
    found: BySeed = {}
    for seed, points in n.noted("netflix", "rr_mbit", DASH).items():
        times = [t_s for t_s, _ in points if t_s > 30]
        found[seed] = (times[-1] - times[0]) / (len(times) - 1) if len(times) > 1 else math.nan
    return found


def _calm(n: Numbers, flow: str, where: dict[str, str]) -> list[Check]:
    """Checks that at least 90 % of a flow's round-trip times are 20 to 22 ms."""
    checks = []
    for way in ("down", "up"):
        low, high = (n.flow(flow, f"rtt_p{part}_ms", where, way) for part in (5, 95))
        checks.append(above(f"{flow} {way}, p5", low, BASE_MS, "ms"))
        checks.append(below(f"{flow} {way}, p95", high, 22.0, "ms"))
    return checks


@CLAIMS("4-06", "V-A, Fig. 11", "A game alone has round-trip times of 20 to 22 ms.",
        Trials("alone", GAME))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return _calm(n, "game", GAME)


@CLAIMS("4-07", "V-A, Fig. 12", "A game needs 17 kbit/s.", Trials("alone", GAME))
def _(n: Numbers) -> Check:
    rate = {seed: 1e3 * own for seed, own in
            n.flow("game", "throughput_mean_mbit", GAME, "down").items()}  # fmt: skip
    return about("server to player", rate, 17.0, "kbit/s", within=0.1)


@CLAIMS("4-08", "V-A, Fig. 13", "A call alone has round-trip times of 20 to 22 ms.",
        Trials("alone", VOIP))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return _calm(n, "voip", VOIP)


@CLAIMS("4-09", "V-A, Fig. 14", "A call needs 100 kbit/s.", Trials("alone", VOIP), given="voip")
def _(n: Numbers) -> list[Check]:
    return [
        about(way, {seed: 1e3 * own for seed, own in
                    n.flow("voip", "throughput_mean_mbit", VOIP, way).items()},
              100.0, "kbit/s", within=0.1)
        for way in ("down", "up")
    ]  # fmt: skip


@CLAIMS("4-45", "VII", "A game by itself waits in the realm of 2 ms beyond RTT_base.",
        Trials("alone", GAME))  # fmt: skip
def _(n: Numbers) -> Check:
    # "In the realm of" means within 50 %.
    return about("induced RTT, median", n.flow("game", "induced_p50_ms", GAME, "up"), 2.0, "ms",
                 within=0.5)  # fmt: skip
