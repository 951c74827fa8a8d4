"""The median of each number over seeds, for each condition, application and direction.

The range, from the minimum to the maximum over seeds, accompanies the median. With few seeds a
range is more informative than quartiles.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aqmlab.results.labels import Label

if TYPE_CHECKING:
    from aqmlab.results.results import CampaignResults

_NUMBERS = {
    "throughput_mbit": "throughput_mean_mbit",
    "throughput_p5_mbit": "throughput_p5_mbit",
    "throughput_p95_mbit": "throughput_p95_mbit",
    "rtt_p50_ms": "rtt_p50_ms",
    "rtt_p95_ms": "rtt_p95_ms",
    "loss_percent": "loss_percent",
}


_FEW = 10
"""The minimum number of packets for percentiles and windowed rates; a choice of this project."""

_MOST_NAMED = 12


Range = tuple[float, float]
"""The minimum and the maximum over the seeds."""


@dataclass(frozen=True, slots=True)
class FlowSummary:
    """The medians over seeds of one flow that carries data, in one condition.

    `None` stands for a number that was not measured.
    """

    label: Label
    app: str
    direction: str
    seeds: int
    throughput_mbit: float | None
    throughput_p5_mbit: float | None
    throughput_p95_mbit: float | None
    rtt_p50_ms: float | None
    rtt_p95_ms: float | None
    loss_percent: float | None
    ranges: dict[str, Range] = field(default_factory=dict)
    """The range of each measured number over the seeds; empty with only one seed."""


def lines(results: CampaignResults) -> Iterator[FlowSummary]:
    """Yields the summary of each flow with data in each condition, in the campaign's order."""
    import polars as pl

    if "flows" not in results.tables:
        return
    keys = ["queue_label", "rate_label", "rtt_label", "flow", "direction"]
    frame = (
        results.labelled("flows")
        .filter(pl.col("primary"))
        .group_by(keys, maintain_order=True)
        .agg(
            pl.len().alias("seeds"),
            *(pl.col(column).median().alias(name) for name, column in _NUMBERS.items()),
            *(pl.col(column).min().alias(f"least {name}") for name, column in _NUMBERS.items()),
            *(pl.col(column).max().alias(f"most {name}") for name, column in _NUMBERS.items()),
        )
    )
    for row in frame.iter_rows(named=True):
        label = Label(row["queue_label"], row["rate_label"], row["rtt_label"])
        numbers = {name: _known(row[name]) for name in _NUMBERS}
        ranges = dict(_ranges(row)) if row["seeds"] > 1 else {}
        yield FlowSummary(
            label, row["flow"], row["direction"], row["seeds"], **numbers, ranges=ranges
        )


def sparse(results: CampaignResults) -> str:
    """Names the flows that sent fewer than `_FEW` packets in a trial; empty if there are none."""
    import polars as pl

    if "flows" not in results.tables:
        return ""
    few = (
        results.table("flows")
        .filter(pl.col("primary"))
        .group_by(["flow", "direction"], maintain_order=True)
        .agg(pl.col("packets_sent").min())
        .filter(pl.col("packets_sent") < _FEW)
    )
    named = [f"{flow} {direction} ({sent})" for flow, direction, sent in few.iter_rows()]
    if not named:
        return ""
    more = f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
    return f"fewer than {_FEW} packets in a trial: {', '.join(named[:_MOST_NAMED])}{more}"


def _ranges(row: Mapping[str, float | None]) -> Iterator[tuple[str, Range]]:
    for name in _NUMBERS:
        least, most = _known(row[f"least {name}"]), _known(row[f"most {name}"])
        if least is not None and most is not None:
            yield name, (least, most)


def _known(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
