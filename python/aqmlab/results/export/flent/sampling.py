"""Series on Flent's common time grid, and Flent's summaries of them.

Source: Flent 2.1.1, `aggregators.py` (`TimeseriesAggregator`) and `runners.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from aqmlab.results.export.flent.form import Values

STEP_S = 0.2
"""Flent's time step, in seconds."""

_REACH = 5
"""The longest time until the next sample, in steps, for which Flent interpolates."""


def grid(duration_s: float, own_step_s: float) -> tuple[float, list[float]]:
    """The step and the times of the grid of a trial.

    The trial's own series have steps of `own_step_s`. The grid has Flent's step, or `own_step_s` if
    that is longer than five of Flent's steps. A finer grid would have gaps between the samples.
    """
    step_s = STEP_S if own_step_s <= _REACH * STEP_S else own_step_s
    steps = math.ceil(duration_s / step_s - 1e-9)
    return step_s, [round(index * step_s, 6) for index in range(steps)]


def on_grid(samples: Sequence[tuple[float, float]], times_s: list[float], step_s: float) -> Values:
    """A value for each time, interpolated between the samples before and after it.

    Between two samples, a time has a value only if the next sample is at most five steps later. A
    time before the first sample has a value only if the sample is at most half a step later. A time
    after the last sample has a value only if the sample is less than one step earlier.
    """
    import numpy as np

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
    """The average (`kind` "avg") or sum ("sum") at each time, over the series with a value then."""
    found: Values = []
    for values in zip(*series, strict=True):
        present = [value for value in values if value is not None]
        total = math.fsum(present)
        share = len(present) if kind == "avg" else 1
        found.append(round(total / share, 6) if present else None)
    return found
