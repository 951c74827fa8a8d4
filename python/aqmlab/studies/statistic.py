"""Statistics over many values: mean, minimum, maximum, standard deviation, or a quantile."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import polars as pl

Take = Literal["mean", "min", "max", "deviation"] | float
"""A statistic: a name, or a quantile from 0 to 1."""

Span = tuple[float, float]
"""A start and an end, in seconds."""

_HALF_STEP = 1e-6
"""The tolerance for comparisons of times in seconds, which are not exact as floats."""


def of(values: pl.Series, take: Take) -> float:
    """A statistic of values; NaN if there are none. Quantiles are R's type 7.

    >>> import polars as pl
    >>> values = pl.Series([1.0, 2.0, 3.0, 6.0])
    >>> [of(values, take) for take in ("mean", "max", 0.5)]
    [3.0, 6.0, 2.5]
    """
    found: float | None
    if take == "mean":
        found = _number(values.mean())
    elif take == "min":
        found = _number(values.min())
    elif take == "max":
        found = _number(values.max())
    elif take == "deviation":
        found = _number(values.std(ddof=0))
    else:
        found = values.quantile(float(take), "linear")
    return math.nan if found is None else float(found)


def of_rtt(steps: pl.DataFrame, take: Take) -> float:
    """A statistic of round-trip times, from rows of the table `rtt`, one per step.

    Mean, minimum and maximum are exact. Other statistics use the medians of the steps, weighted by
    the number of pairs in each step.
    """
    if take == "mean":
        weighted = steps["rtt_mean_ms"] * steps["n"]
        return float(weighted.sum()) / float(steps["n"].sum())
    if take == "min":
        return of(steps["rtt_min_ms"], take)
    if take == "max":
        return of(steps["rtt_max_ms"], take)
    return of(steps["rtt_p50_ms"].repeat_by(steps["n"]).explode(), take)


def within(rows: pl.DataFrame, span: Span | None) -> pl.DataFrame:
    """The rows whose time lies in `span`; all rows without a span."""
    if span is None:
        return rows
    return rows.filter(rows["t_s"].is_between(span[0] - _HALF_STEP, span[1] + _HALF_STEP))


def windows_within(rows: pl.DataFrame, span: Span | None) -> pl.DataFrame:
    """The windows of throughput that lie wholly in `span`. Windows overlap.

    `t_s` is the middle of a window. The first window begins at zero, so its `t_s` is half
    the width.
    """
    if span is None or rows.is_empty():
        return rows
    half_s = float(_number(rows["t_s"].min()) or 0.0)
    return within(rows, (span[0] + half_s, span[1] - half_s))


def _number(value: object) -> float | None:
    return value if value is None else float(value)  # type: ignore[arg-type]
