"""Measures of time series: the unevenness, the difference, and the number of swings."""

from __future__ import annotations

import math
from collections.abc import Sequence

from aqmlab.studies.statistic import Span

Course = Sequence[tuple[float, float]]
"""A time series: times in seconds with values, in order."""


def uneven(flows: Sequence[Course], span: Span) -> list[float]:
    """The ratio of the largest to the smallest value of the flows, at each time within a span.

    Times at which a flow has no value are omitted. The ratio is infinite if the value of a flow is
    zero.

    >>> uneven([[(1.0, 2.0), (2.0, 3.0), (9.0, 1.0)], [(1.0, 4.0), (2.0, 0.0)]], (0.0, 5.0))
    [2.0, inf]
    """
    first, *others = [dict(flow) for flow in flows]
    found = []
    for t_s in first:
        if span[0] <= t_s <= span[1] and all(t_s in other for other in others):
            values = [first[t_s], *(other[t_s] for other in others)]
            found.append(max(values) / min(values) if min(values) else math.inf)
    return found


def apart(one: Course, other: Course, span: Span) -> float:
    """The mean absolute difference of two time series, relative to `other`.

    The mean is over the common times within `span`, except those at which `other` is zero. It is
    NaN if there are no such times.

    >>> apart([(1.0, 11.0), (2.0, 10.0), (3.0, 5.0)], [(1.0, 10.0), (2.0, 10.0)], (0.0, 5.0))
    0.05
    """
    known = dict(other)
    common = [
        abs(value - known[t_s]) / known[t_s]
        for t_s, value in one
        if span[0] <= t_s <= span[1] and known.get(t_s)
    ]
    return sum(common) / len(common) if common else math.nan


def swings(course: Course, low: float, high: float) -> int:
    """The number of falls from the upper third to the lower third of the range `low` to `high`.

    >>> swings([(0.0, 1.0), (1.0, 3.0), (2.0, 2.0), (3.0, 1.0), (4.0, 3.0), (5.0, 1.0)], 1.0, 3.0)
    2
    """
    upper, lower = low + (high - low) * 2 / 3, low + (high - low) / 3
    count, was_up = 0, False
    for _, value in course:
        if value > upper:
            was_up = True
        elif value < lower and was_up:
            was_up = False
            count += 1
    return count
