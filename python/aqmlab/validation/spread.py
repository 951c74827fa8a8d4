"""The spread of the kernel's own results over seeds.

This module estimates how far the median could move if the kernel ran again with the same number of
other seeds. Of these repetitions, 95 % stay within the bound of `half_width`. A simulator that is
statistically equal to the kernel also stays within the bound in 95 % of cases. A simulator that
differs by more than chance exceeds the bound more often.

For a cell with at least `KNOWN_SEEDS` seeds, the bound uses the cell's own standard deviation.
Three seeds estimate the standard deviation poorly, and Student's factor for three seeds is large. A
second estimate therefore shrinks the standard deviation towards the typical value of the cell's
kin. A cell's kin are the cells with at least `KNOWN_SEEDS` seeds and the same `Cell.kin`. The
method follows Smyth, "Linear models and empirical Bayes methods for assessing differential
expression" (2004), with a fixed weight for the kin. The smaller bound applies, so neither an
accident of three seeds nor a noisy kin can excuse a difference.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

KNOWN_SEEDS = 8
"""The number of seeds from which a cell uses its own standard deviation.

The cell then also contributes to the standard deviation of its kin.
"""

LEAST_SEEDS = 3
"""The minimum number of seeds for a spread. Student's factor for two seeds would excuse any
difference.
"""

KIN_WEIGHT = 4
"""The weight of similar cells, in degrees of freedom. Three seeds have two degrees of freedom."""

LEVEL = 0.95

_MEDIAN_VARIANCE = (
    1.0, 0.5, 0.44867, 0.29824, 0.28683, 0.21474, 0.21045, 0.16818, 0.16610, 0.13833,
)  # fmt: skip
"""The variance of the median of 1, 2, … normal samples, relative to the variance of one sample.

Source: Teichroew, "Tables of expected values of order statistics" (1956).
"""


def median_variance(count: int) -> float:
    """The variance of the median of `count` normal samples, relative to one sample's variance."""
    if count <= len(_MEDIAN_VARIANCE):
        return _MEDIAN_VARIANCE[count - 1]
    return math.pi / (2 * count + math.pi - 2)


@dataclass(frozen=True, slots=True)
class Unit:
    """The unit of variance, in which the variances of similar cells are comparable.

    The standard deviation of a measurement is proportional to its value, so the unit is the square
    of the value. The standard deviation of a count of rare events is proportional to the square
    root of the count. The unit is therefore the count times the value of one event.
    """

    least: float
    """The metric's resolution; for a count, one event."""
    counts: bool = False

    def variance(self, values: Sequence[float]) -> float:
        """The unit of variance for numbers of the size of `values`."""
        size = max(abs(statistics.median(values)), self.least)
        return size * self.least if self.counts else size**2


def half_width(
    values: Sequence[float], *, unit: Unit, kin: float | None, others: int, tests: int
) -> float | None:
    """The bound on the difference of two medians by chance.

    It is `None` with fewer than `LEAST_SEEDS` values.

    `kin` is the typical variance of the cell's kin, in `unit`. `others` is the number of seeds of
    the other median. `tests` is the number of such bounds that must hold together.
    """
    if len(values) < LEAST_SEEDS:
        return None
    medians = median_variance(len(values)) + median_variance(others)
    own, freedom = statistics.variance(values), len(values) - 1

    def bound(variance: float, freedom: int) -> float:
        return student((1 - LEVEL) / 2 / tests, freedom) * math.sqrt(variance * medians)

    if len(values) >= KNOWN_SEEDS or kin is None:
        return bound(own, freedom)
    likely = kin * unit.variance(values)
    shrunk = (freedom * own + KIN_WEIGHT * likely) / (freedom + KIN_WEIGHT)
    return min(bound(own, freedom), bound(shrunk, freedom + KIN_WEIGHT))


def student(tail: float, freedom: int) -> float:
    """The value that Student's t exceeds with probability `tail`.

    `freedom` is the number of degrees of freedom.

    >>> round(student(0.025, 2), 3), round(student(0.025, 9), 3), round(student(0.005, 6), 3)
    (4.303, 2.262, 3.707)
    """
    low, high = 0.0, 1.0
    while _upper_tail(high, freedom) > tail:
        low, high = high, high * 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _upper_tail(middle, freedom) > tail else (low, middle)
    return high


def _upper_tail(t: float, freedom: int) -> float:
    """P(T > t), for t ≥ 0: Abramowitz and Stegun, 26.7.3 and 26.7.4."""
    angle = math.atan(t / math.sqrt(freedom))
    square = math.cos(angle) ** 2
    if freedom % 2:
        term, total = math.cos(angle), 0.0
        for k in range(1, (freedom - 1) // 2 + 1):
            total += term
            term *= square * 2 * k / (2 * k + 1)
        within = 2 / math.pi * (angle + math.sin(angle) * total)
    else:
        term, total = 1.0, 0.0
        for k in range(1, freedom // 2 + 1):
            total += term
            term *= square * (2 * k - 1) / (2 * k)
        within = math.sin(angle) * total
    return (1 - within) / 2
