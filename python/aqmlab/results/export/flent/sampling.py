"""Series on Flent's common grid, and the summaries that it makes of them.

Source: Flent 2.1.1, `aggregators.py` (`TimeseriesAggregator`) and `runners.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

STEP_S = 0.2
"""Flent's step."""

_REACH = 5
"""Steps over which it draws a line between two samples."""

Values = list[float | None]


def grid(duration_s: float, own_step_s: float) -> tuple[float, list[float]]:
    """The step and the times of a trial whose own series have steps of `own_step_s`.

    The step is Flent's, unless the trial's own is so long that lines would break.
    """
    step_s = STEP_S if own_step_s <= _REACH * STEP_S else own_step_s
    steps = math.ceil(duration_s / step_s - 1e-9)
    return step_s, [round(index * step_s, 6) for index in range(steps)]


def on_grid(samples: Sequence[tuple[float, float]], times_s: list[float], step_s: float) -> Values:
    """A value for each time: on the line between the samples before and after it.

    There is none where the next sample is more than five steps away, nor before the first or
    after the last, except within half a step of the first and one step of the last.
    """
    if not samples or not times_s:
        return [None] * len(times_s)
    at, value = np.array(samples, dtype=float).T
    grid_s = np.array(times_s)
    following = np.searchsorted(at, grid_s, side="right")
    found = np.interp(grid_s, at, value)
    until_next = at[np.minimum(following, len(at) - 1)] - grid_s
    known = np.where(
        following == 0,
        until_next <= step_s / 2,
        np.where(following == len(at), -until_next < step_s, until_next <= _REACH * step_s),
    )
    return [round(float(one), 6) if yes else None for one, yes in zip(found, known, strict=True)]


def summary(kind: str, series: Sequence[Values]) -> Values:
    """At each time the `avg` or `sum` of the series that have a value."""
    found: Values = []
    for values in zip(*series, strict=True):
        present = [value for value in values if value is not None]
        total = math.fsum(present)
        share = len(present) if kind == "avg" else 1
        found.append(round(total / share, 6) if present else None)
    return found
