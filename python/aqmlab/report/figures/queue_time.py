"""The backlog and the sojourn times at the gateway over time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from aqmlab.report.figures import data
from aqmlab.report.figures.drawing import (
    Drawing,
    FigureDefinition,
    canvas,
    colour,
    legend_below,
    line_style,
    log_axis_from_zero,
    plain_text,
)
from aqmlab.report.figures.overlap import calmest_above, rim_covered
from aqmlab.report.figures.series import MOST_PLACES

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

    from aqmlab.results.results import CampaignResults

_COLUMNS = (("backlog_packets", "backlog (packets)"), ("sojourn_max_ms", "longest sojourn (ms)"))
_MOST_POINTS = 200


def _draw(results: CampaignResults) -> Iterator[Drawing]:
    import polars as pl
    from matplotlib.lines import Line2D

    shown, places, notes = data.examples(results, MOST_PLACES)
    frame = shown.labelled("queue_series")
    queues, more = data.chosen(frame, "queue_label", data.MOST_QUEUES, "queues")
    links = data.ordered(frame, "link")[:4]
    for place in places:
        here = frame.filter(pl.col("place_label") == place)
        made = canvas(2.1 * len(links) + 0.8)
        panels = made.subplots(len(links), 2, sharex=True, squeeze=False)
        for row, link in zip(panels, links, strict=True):
            for axes, (column, text) in zip(row, _COLUMNS, strict=True):
                _panel(axes, here.filter(pl.col("link") == link), column, queues)
                axes.set_title(plain_text(link))
                axes.set_ylabel(text)
        for axes in panels[-1]:
            axes.set_xlabel("time (s)")
        rims = rim_covered(panels.ravel().tolist())
        handles = [
            Line2D([], [], color=colour(n), linestyle=line_style(n)) for n in range(len(queues))
        ]
        legend_below(made, handles, [plain_text(queue) for queue in queues])
        caption = (
            f"Mean backlog and longest sojourn of each 200th of the trial at the bottleneck"
            f"{' at ' + place if place else ''}, {data.seeds_of(here, queues)}; linear below 1."
        )
        yield Drawing(f"queue_time-{data.slug(place)}", made, caption, [*notes, *more, *rims])


def _panel(axes: Axes, frame: pl.DataFrame, column: str, queues: list[str]) -> None:
    import polars as pl

    for number, queue in enumerate(queues):
        line = frame.filter(pl.col("queue_label") == queue)
        line = _coarse(line.filter(line["trial"] == line["trial"][0])) if line.height else line
        axes.plot(
            line["t_s"].to_numpy(),
            line[column].to_numpy(),
            line_style(number),
            color=colour(number),
            linewidth=0.8,
        )
    log_axis_from_zero(axes, 1, decades=1)
    calmest_above(axes)


def _coarse(line: pl.DataFrame) -> pl.DataFrame:
    """Mean backlog and longest sojourn over intervals long enough to be visible."""
    import polars as pl

    span_s = max(float(line["t_s"].to_numpy().max()) / _MOST_POINTS, 1e-9)
    return (
        line.group_by((pl.col("t_s") / span_s).ceil().alias("span"), maintain_order=True)
        .agg(pl.col("t_s").mean(), pl.col("backlog_packets").mean(), pl.col("sojourn_max_ms").max())
        .sort("t_s")
    )


FIGURE = FigureDefinition("Queues over time", ("queue_series",), _draw)
