"""Congestion windows of the senders over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aqmlab.report.figures import data
from aqmlab.report.figures.drawing import FigureDefinition
from aqmlab.report.figures.series import MOST_PLACES, SeriesFigure

if TYPE_CHECKING:
    import polars as pl

    from aqmlab.results.results import CampaignResults

_MOST_CONNS = 4
"""The maximum number of connections of an application whose windows are shown."""


def _senders(results: CampaignResults) -> pl.DataFrame:
    import polars as pl

    primary = results.table("flows").filter(pl.col("primary"))
    sender = pl.col("direction").replace({"up": "home", "down": "wan"}).alias("side")
    keys = ["trial", "flow", "side"]
    sides = primary.with_columns(sender).select(keys)
    frame = data.labelled(results, "tcp_series").join(
        sides, on=keys, how="inner", maintain_order="left"
    )
    few = frame.group_by("trial", "flow").agg(pl.col("conn").n_unique().alias("conns"))
    groups = results.manifest.app_groups
    return (
        frame.join(few, on=["trial", "flow"], maintain_order="left")
        .filter(pl.col("conns") <= _MOST_CONNS)
        .with_columns(
            pl.col("flow").replace(groups).alias("app"),
            pl.col("flow").alias("copy"),
            (pl.col("cwnd_bytes") / 1e3).alias("cwnd_kb"),
        )
    )


def _applies(results: CampaignResults) -> bool:
    shown, _, _ = data.examples(results, MOST_PLACES)
    return _senders(shown).height > 0


_SERIES = SeriesFigure(
    name="cwnd_time",
    column="cwnd_kb",
    axis="congestion window (kB)",
    caption="Congestion window of each sender over time",
    frame=_senders,
    title="Congestion windows over time",
    zeros=True,
    least=1.0,
)

FIGURE = FigureDefinition(_SERIES.title, ("flows", "tcp_series"), _SERIES.draw, _applies)
