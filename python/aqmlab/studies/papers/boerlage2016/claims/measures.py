"""Common measurements of claims, and our readings of the paper's words."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

from aqmlab.studies.claims import Check, above, more
from aqmlab.studies.numbers import At, BySeed, Numbers, Points
from aqmlab.studies.papers.boerlage2016.conditions import FIFO
from aqmlab.studies.statistic import Take

LITTLE = 0.2
"""The largest relative difference in throughput that counts as little."""

CORRELATED = 0.8
"""The least rank correlation that counts as "the same shape", or as steady growth or decline."""

TOLERATED_MS = 200.0
"""Table I: the round-trip time that a game tolerates."""

BASE_MS = 20.0

Series = Sequence[tuple[float, float]]
"""A time series: times in seconds with values."""

APPS: dict[str, str] = {
    "movie": "down",
    "updates": "down",
    "cloud": "up",
    "web": "down",
    "email": "up",
    "game": "up",
    "netflix": "down",
}
"""The applications of demographic 1, and the data direction whose round trips count."""


def at(rate: str, demographic: str = "1", qdisc: str = FIFO) -> At:
    """The condition of home.toml with a rate, a demographic and a queue."""
    return {"rate": rate, "demographic": demographic, "qdisc": qdisc}


def game(n: Numbers, where: At, column: str = "rtt_p50_ms") -> BySeed:
    """The game's median round-trip time, or another column of `flows`."""
    return n.flow("game", column, where, APPS["game"])


def short(rate: str) -> str:
    """A rate without its unit."""
    return rate.removesuffix(" Mbit/s")


def mean_of(columns: Iterable[BySeed]) -> BySeed:
    """The mean of `columns`, for each seed."""
    rows = list(columns)
    return {seed: statistics.fmean(row[seed] for row in rows) for seed in rows[0]}


def greatest(columns: Iterable[BySeed]) -> BySeed:
    """The maximum of `columns`, for each seed."""
    rows = list(columns)
    return {seed: max(row[seed] for row in rows) for seed in rows[0]}


def least(columns: Iterable[BySeed]) -> BySeed:
    """The minimum of `columns`, for each seed."""
    rows = list(columns)
    return {seed: min(row[seed] for row in rows) for seed in rows[0]}


def less(these: BySeed, those: BySeed) -> BySeed:
    """The difference `these` minus `those`, for each seed."""
    return {seed: value - those[seed] for seed, value in these.items()}


def falling(what: str, steps: Mapping[str, BySeed]) -> list[Check]:
    """Checks that each step is below the previous step."""
    names = list(steps)
    return [
        more(f"{what}: {short(before)} over {short(after)}", steps[before], steps[after])
        for before, after in itertools.pairwise(names)
    ]


def rising(what: str, steps: Mapping[str, BySeed]) -> list[Check]:
    """Checks that each step is above the previous step."""
    return falling(what, dict(reversed(list(steps.items()))))


def trend(what: str, steps: Mapping[str, BySeed], sign: Literal[-1, 1]) -> Check:
    """A check that a quantity falls (-1) or rises (1) along the steps, by rank correlation."""
    seeds = next(iter(steps.values()))
    found = {
        seed: sign * rank_correlation([own[seed] for own in steps.values()], range(len(steps)))
        for seed in seeds
    }
    return above(f"{what}: correlation of ranks", found, CORRELATED)


def rank_correlation(these: Sequence[float], those: Sequence[float]) -> float:
    """Spearman's rank correlation. Equal values have the mean of their ranks.

    Raises `statistics.StatisticsError` if all values of a sequence are equal.

    >>> rank_correlation([1, 5, 9], [2, 3, 4]), rank_correlation([1, 5, 9], [4, 3, 2])
    (1.0, -1.0)
    >>> round(rank_correlation([1, 1, 2, 3], [0, 1, 2, 3]), 5)
    0.94868
    """
    return statistics.correlation(_ranks(these), _ranks(those))


def _ranks(values: Sequence[float]) -> list[float]:
    order = sorted(values)
    return [order.index(value) + (order.count(value) - 1) / 2 for value in values]


# --- Over time ---------------------------------------------------------------------------------


def rate_of(
    n: Numbers, flow: str, where: At, span_s: tuple[float, float], take: Take = "mean"
) -> BySeed:
    """A statistic of a flow's throughput in Mbit/s, over the windows within a span."""
    return n.rate(flow, where, span_s, direction=APPS[flow], take=take)


def each(series: Points, measure: Callable[[Series], float]) -> BySeed:
    """The value of `measure` for each seed's series."""
    return {seed: measure(points) for seed, points in series.items()}


def first_fall(points: Series) -> float | None:
    """The first time at which the value is more than 25 % below its previous maximum.

    The maximum must exceed ten times the base RTT. `None` if there is no such time.
    """
    peak = 0.0
    for t_s, value in points:
        if peak > 10 * BASE_MS and value < 0.75 * peak:
            return t_s
        peak = max(peak, value)
    return None
